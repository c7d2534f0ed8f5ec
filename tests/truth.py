"""Compare the reader with a folder of published configs: ``python -m tests.truth DIR``.

DIR holds ``models.csv`` (``file`` and ``params_exact`` columns) and ``raw/*.json``.
"""

import csv
import sys
from collections import Counter
from pathlib import Path

from planner.architecture import Architecture, Attention, distinct_layers
from planner.errors import PlannerError
from planner.readers.hf_config import read_config
from planner.readers.json_text import parse_json
from planner.weights import parameters
from tests.readers.knowledge import KNOWLEDGE


def router_buffers(architecture: Architecture) -> int:
    """Elements of the routers' correction biases and tables, which transformers keeps as buffers and does not count."""
    return sum(
        tensor.elements * count
        for layer, count in distinct_layers(architecture.layers)
        for tensor in layer.tensors
        if tensor.name.endswith(("e_score_correction_bias", "tid2eid"))
    )


def rotary_buffers(architecture: Architecture) -> int:
    """Elements of the rotary frequencies that old files store: half a head in every layer."""
    mixers = [mixer for layer in architecture.layers for mixer in layer.mixers]
    return sum(mixer.head_dim // 2 for mixer in mixers if isinstance(mixer, Attention))


def compare(architecture: Architecture, row: dict[str, str]) -> tuple[str, str]:
    """A verdict on one model, equal, explained, bounded, unknown or wrong, and the reason."""
    counted = parameters(architecture)
    if not row["params_exact"]:
        if row["params_published_hf"] == str(counted):
            return "equal", f"{counted:,}, as published"
        reason = row["params_note"] or row["params_exact_status"] or "no published total"
        if not row["params_published_hf"].isdecimal():
            return "unknown", f"{counted:,}; nothing to compare with ({reason})"
        published = int(row["params_published_hf"])
        return "unknown", f"{counted:,} is {counted - published:+,} from the published {published:,} ({reason})"
    difference = counted - int(row["params_exact"])
    if difference == 0:
        return "equal", f"{counted:,}"
    if difference == router_buffers(architecture):
        return "explained", f"{counted:,}: {difference:+,} router biases and tables, which the file stores"
    if -difference == rotary_buffers(architecture):
        return "explained", f"{counted:,}: {difference:+,} rotary frequencies, which the published file stores"
    if architecture.assumed and difference > 0:
        return "bounded", f"{counted:,}: {difference:+,}, an upper bound for an unknown model_type"
    warned = [warning for warning in architecture.warnings if "not counted" in warning and "part" in warning]
    if difference < 0 and warned:
        return "explained", f"{counted:,}: {difference:+,}. {warned[0]}"
    return "wrong", f"{counted:,} is {difference:+,} from {int(row['params_exact']):,}"


def main(folder: Path) -> int:
    with (folder / "models.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["file"]]
    verdicts: Counter[str] = Counter()
    for row in rows:
        path = folder / "raw" / row["file"]
        try:
            architecture = read_config(parse_json(path.read_bytes(), path.name), KNOWLEDGE, name=row["hf_id"])
            verdict, reason = compare(architecture, row)
        except PlannerError as error:
            verdict, reason = "refused", str(error)
        verdicts[verdict] += 1
        print(f"{verdict:10} {row['hf_id']:60} {reason}")
    print(f"{len(rows)} configs: " + ", ".join(f"{number} {verdict}" for verdict, number in verdicts.most_common()))
    return 1 if verdicts["wrong"] else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.truth DIR")
    sys.exit(main(Path(sys.argv[1])))
