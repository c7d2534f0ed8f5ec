"""The newest rows of one subject in a folder: one machine, model and number format, and what readers take from them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from measure.experiments import EXPERIMENTS
from measure.records import SUBJECT, Record, newest, read

Row = Mapping[str, Any]
NO_READING = (LookupError, ArithmeticError, TypeError, ValueError)
"""What looking for a figure raises where its rows are not there, or somebody has edited them."""
OF_MANY = ("cache-size", "tensor-parallel", "engine")
"""Experiments that choose models themselves: sizes of each, which any subject's rows may stand beside."""
TIMED = ("cache-exactness", "prefill-decode", "batching", "speculation", "distillation")
"""Experiments whose readings are times."""
BUSY_SHARE = 0.2
"""The part of the processors' time from which on times say more of other programs than of the model."""
PREFERRED = "SmolLM2-135M-Instruct"
"""The trained model that every machine can run: where it was measured, figures are its own."""


class Rows:
    """Rows of the preferred model where it was measured, else of the subject with the most experiments."""

    def __init__(self, folder: Path) -> None:
        read_ = {name: newest(read(folder / f"{name}.jsonl")) for name in EXPERIMENTS}
        single = [record for name, found in read_.items() if name not in OF_MANY for record in found if record.rows]
        of_many = [record for name in OF_MANY for record in read_[name] if record.rows]
        self._subject = _chosen(single or of_many)
        self._kept = {name: [one for one in found if self._is_of(one)] for name, found in read_.items()}
        self._model = _model([record for name, found in self._kept.items() if name not in OF_MANY for record in found])

    def _is_of(self, record: Record) -> bool:
        """Whether it is of the subject; of its device, for experiments of many models."""
        told = 1 if record.experiment in OF_MANY else len(SUBJECT)
        return record.subject[:told] == self._subject[:told]

    def of(self, experiment: str, **wanted: Any) -> list[dict[str, Any]]:
        """The rows of *experiment* that have these values."""
        rows = [row for record in self._kept[experiment] for row in record.rows]
        return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]

    def one(self, experiment: str, **wanted: Any) -> dict[str, Any]:
        """The last such row; raises LookupError where there is none."""
        return self.of(experiment, **wanted)[-1]

    def said(self) -> str:
        """Whose readings these are, and whether other programs ran beside the timed ones; empty without any."""
        stated = dict(zip(SUBJECT, self._subject, strict=True)) if self._subject else {}
        small = " (a small copy, random weights)" if stated.get("model_changes") else ""
        model = f"{self._model}{small}" if self._model else ""
        attention = "" if stated.get("attention") in (None, "", "auto") else f"{stated['attention']} attention"
        said = ", ".join(filter(None, (model, stated.get("dtype"), attention)))
        place = f" on {stated['device']}" if stated.get("device") else ""
        return f"Readings of {said or 'several models'}{place}{busy_words(self._timed())}." if self._subject else ""

    def _timed(self) -> list[Record]:
        return [record for name in TIMED for record in self._kept[name]]


def busy_words(records: Iterable[Record]) -> str:
    """That times are a busy machine's, with the share that other programs took; empty where they took little."""
    shares = [record.others_share for record in records if isinstance(record.others_share, int | float)]
    most = max(shares, default=0.0)
    if most < BUSY_SHARE:
        return ""
    return f"; other programs took up to {most:.0%} of the processors meanwhile, so that times are a busy machine's"


def _chosen(records: Sequence[Record]) -> tuple[str, ...]:
    """The subject whose figures are shown; empty without records."""
    subjects = {record.subject: [one for one in records if one.subject == record.subject] for record in records}

    def rank(subject: tuple[str, ...]) -> tuple[bool, int, str]:
        those = subjects[subject]
        is_whole = not subject[SUBJECT.index("model_changes")]
        experiments = {record.experiment for record in those}
        return is_whole and _model(those) == PREFERRED, len(experiments), max(record.date for record in those)

    return max(subjects, key=rank, default=())


def _model(records: Iterable[Record]) -> str:
    """The model that most rows name."""
    named = Counter(str(row["model"]) for record in records for row in record.rows if "model" in row)
    return next((name for name, _ in named.most_common(1)), "")


def by(key: str, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """*rows* in the order of *key*; raises LookupError where there are none."""
    found = sorted(rows, key=lambda row: row[key])
    if not found:
        raise LookupError(key)
    return found


def peak_ratios(rows: Sequence[Row], attention: str, logits: str) -> dict[int, float]:
    """Peak without over peak with a cache by the tokens generated, for one request and the shortest prompt."""
    peaks = {
        (row["prompt_tokens"], row["generated_tokens"], row["cached"]): row["measured_peak_bytes"]
        for row in rows
        if (row["attention"], row["logits"], row["batch"]) == (attention, logits, 1)
    }
    shortest = min((prompt for prompt, _, _ in peaks), default=0)
    return {
        count: peaks[prompt, count, False] / peak
        for (prompt, count, cached), peak in sorted(peaks.items())
        if prompt == shortest and cached and (prompt, count, False) in peaks
    }


def outlier(layers: Sequence[Row]) -> Row:
    """Of the dimension that is the largest in most *layers*, the layer where it is; LookupError without layers."""
    dimension, _ = Counter(row["top_dimension"] for row in layers).most_common(1)[0]
    return max((row for row in layers if row["top_dimension"] == dimension), key=lambda row: row["top_max"])
