"""What a number format costs in quality, by published readings; nothing is estimated where there is none."""

from collections.abc import Iterable, Mapping
from functools import cache
from math import log
from typing import Any

from planner.formats import CHECKPOINT
from planner.preset_files import PRESETS, build, load_toml
from planner.records import dataclass

LIMITS = (
    "Perplexity (percent above 16 bit), points of a score and KL divergence (nats) are three measures: only figures of "
    "one measure, model and text compare. Perplexity holds for one tokenizer and one text. "
    "Small models lose more than large ones, and newer ones more than older: a figure is of the model it names, "
    "and stands beside models of up to three times its size or a third of it."
)
NEAR = 3
"""How many times larger or smaller a model may be for a reading of another to say something of it."""
WEIGHTS, CACHE = "weights", "cache"
_UNQUANTISED = ("fp32", "bf16", "fp16")


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityReading:
    """One format's reading. *calibrated*: quantised with an importance matrix, by *method* where it has a name.

    *kl_divergence*: mean over tokens, in nats, from the 16-bit model; *same_top_percent*: how often both put the same
    token first; *score*: of the task that the series names, in percent.
    """

    format: str
    method: str = ""
    calibrated: bool = False
    perplexity: float | None = None
    kl_divergence: float | None = None
    same_top_percent: float | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QualitySeries:
    """Readings of one model on one text from one source. *perplexity* and *score* are those of the 16-bit model.

    *use* is what was quantised, ``weights`` or ``cache``.
    """

    name: str
    model: str
    parameters: int
    use: str
    text: str
    source: str
    retrieved: Any
    readings: tuple[QualityReading, ...]
    perplexity: float | None = None
    score: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityCost:
    """One reading beside its 16-bit model. *perplexity_percent*: how much higher; *score_points*: how much is lost."""

    series: QualitySeries
    reading: QualityReading

    @property
    def perplexity_percent(self) -> float | None:
        if self.reading.perplexity is None or self.series.perplexity is None:
            return None
        return 100 * (self.reading.perplexity / self.series.perplexity - 1)

    @property
    def score_points(self) -> float | None:
        if self.reading.score is None or self.series.score is None:
            return None
        return self.series.score - self.reading.score


@cache
def quality_series() -> Mapping[str, QualitySeries]:
    """Every series by name, in the order of the file."""
    return {name: _series(name, table) for name, table in load_toml(PRESETS / "quality.toml").items()}


def quality_of(name: str, use: str = WEIGHTS, parameters: int | None = None) -> tuple[QualityCost, ...]:
    """Every published reading of the format *name*; those of models nearest to *parameters* in size first.

    At the same size the calibrated reading comes first: it is the file that most people download.
    """
    found = [
        QualityCost(series=series, reading=reading)
        for series in quality_series().values()
        if series.use == use
        for reading in series.readings
        if reading.format == name
    ]
    if parameters:
        size = parameters
        found.sort(key=lambda cost: (abs(log(cost.series.parameters / size)), not cost.reading.calibrated))
    return tuple(found)


def is_yardstick(name: str) -> bool:
    """Whether *name* is what the others are compared with: 16 bit or more."""
    return name in _UNQUANTISED


def short_words(cost: QualityCost) -> str:
    """The loss in a few words, with what was measured: ``perplexity +2.4%``, ``score −2.8 points``."""
    if cost.perplexity_percent is not None:
        return f"perplexity {_percent(cost.perplexity_percent)}"
    if cost.score_points is not None:
        return f"score {_signed(-cost.score_points, 1)} points"
    return f"KL divergence {cost.reading.kl_divergence:.3g} nats"


def quality_words(weights: str, parameters: int) -> tuple[str, str]:
    """What a format costs, and of which model and on which text that was read; the second is empty where nothing was.

    A reading counts for models within ``NEAR`` times its own in size. Of such the table of the most formats comes
    first, so that what is said of one model's formats can be compared as far as it goes.
    """
    if weights == CHECKPOINT or is_yardstick(weights):
        return "none", ""
    found = quality_of(weights, parameters=parameters)
    if not found:
        return "no published reading", ""
    near = [cost for cost in found if _is_near(cost.series, parameters)]
    if not near:
        return "no reading near its size", ""
    shown = max(near, key=lambda cost: len(cost.series.readings))
    return short_words(shown), f"{shown.series.model}, {shown.series.text}"


def unlike(said: Iterable[tuple[str, str]]) -> str:
    """What to say beneath figures of ``quality_words`` that are of more than one measure, model or text; else empty."""
    measures = dict.fromkeys((words.partition(" ")[0], where) for words, where in said if where)
    if len(measures) < 2:
        return ""
    return (
        f"Costs in quality: {len(measures)} kinds of readings stand in this column. Only figures of one measure, model "
        "and text can be compared with one another."
    )


def loses_more(weights: str, other: str, parameters: int) -> bool:
    """Whether *weights* lose more than *other* by the table with both that is nearest to *parameters* in size.

    False where no table of a model near enough has both.
    """
    theirs = {cost.series.name: cost for cost in reversed(quality_of(other, parameters=parameters))}
    for cost in quality_of(weights, parameters=parameters):
        against = theirs.get(cost.series.name)
        if against is not None and _is_near(cost.series, parameters):
            figures = zip(_losses(cost), _losses(against), strict=True)
            return next((mine > its for mine, its in figures if mine is not None and its is not None), False)
    return False


def _losses(cost: QualityCost) -> tuple[float | None, ...]:
    """What is lost, by each measure that a reading may have."""
    return cost.perplexity_percent, cost.score_points, cost.reading.kl_divergence


def _is_near(series: QualitySeries, parameters: int) -> bool:
    return parameters / NEAR <= series.parameters <= parameters * NEAR


def quality_sentence(cost: QualityCost) -> str:
    """All that one reading says; ``**`` marks what to stress."""
    reading, series = cost.reading, cost.series
    how = f" by {reading.method}" if reading.method not in ("", "rounded") else ", rounded" if reading.method else ""
    calibrated = " with an importance matrix" if reading.calibrated else ""
    parts = []
    if cost.perplexity_percent is not None:
        parts.append(
            f"**perplexity {_percent(cost.perplexity_percent)}** ({_figure(reading.perplexity)} instead of "
            f"{_figure(series.perplexity)})"
        )
    if cost.score_points is not None:
        parts.append(
            f"**score {_signed(-cost.score_points, 1)} points** ({reading.score:g}% instead of {series.score:g}%)"
        )
    if reading.kl_divergence is not None:
        parts.append(f"KL divergence {reading.kl_divergence:.3g} nats")
    if reading.same_top_percent is not None:
        parts.append(f"the same first choice for {reading.same_top_percent:.1f}% of tokens")
    what = "cache in " if series.use == CACHE else ""
    return f"{series.model}, {what}{reading.format}{how}{calibrated}: {', '.join(parts)}. Measured on {series.text}."


def _series(name: str, table: Any) -> QualitySeries:
    path = f"quality.toml: {name}"
    readings = table.get("readings", ()) if isinstance(table, dict) else ()
    built = [build(QualityReading, reading, f"{path}.readings") for reading in readings]
    return build(QualitySeries, table | {"readings": built} if readings else table, path, name=name)


def _percent(value: float) -> str:
    if abs(value) >= 1000:
        return "× " + f"{value / 100 + 1:,.0f}"
    return f"{_signed(value, 2 if abs(value) < 1 else 1 if abs(value) < 10 else 0)}%"


def _signed(value: float, digits: int) -> str:
    return f"{'−' if value < 0 else '+'}{abs(value):.{digits}f}"


def _figure(value: float | None) -> str:
    assert value is not None
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
