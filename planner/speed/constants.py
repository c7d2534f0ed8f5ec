"""Constants of an engine on a family of devices, and the time of a step by them."""

from dataclasses import fields, replace

from planner.errors import PlannerError
from planner.records import dataclass
from planner.speed.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedConstants:
    """How well an engine uses a family of devices, fitted to public measurements.

    *layer_s*: fixed time of a layer, launches and waits. *link_s*: more of it where devices exchange results.
    *exchange_s*: still more of it over a slower link than those of the fit, *exchange_bytes_per_s* that link's rate.
    *token_s*: of a token in a layer, whoever computes it. *read_efficiency*, *arithmetic_efficiency*: shares of peak
    rates. *median_error*, *p90_error*: relative errors of measurements that the fit had not seen; *calibrated_…*: with
    one point measured on the machine itself. *prefill_…*: where prompts are computed at another share than answers.
    *experts*: for models with a mixture of experts. *family* ``any``: for families without constants of their own.
    """

    engine: str
    family: str
    layer_s: float
    read_efficiency: float
    median_error: float
    p90_error: float
    source: str
    experts: bool = False
    link_s: float = 0.0
    token_s: float = 0.0
    exchange_s: float = 0.0
    exchange_bytes_per_s: float | None = None
    arithmetic_efficiency: float = 0.5
    prefill_efficiency: float | None = None
    prefill_p90_error: float | None = None
    calibrated_median_error: float | None = None
    calibrated_p90_error: float | None = None
    readings: int = 0
    note: str = ""

    def __post_init__(self) -> None:
        for share in (self.read_efficiency, self.arithmetic_efficiency, self.prefill_efficiency):
            if share is not None and not 0 < share <= 1:
                raise PlannerError(
                    f"Constants of {self.engine} on {self.family}: {share:g} is no share of a peak rate."
                )
        if (
            min(self.layer_s, self.link_s, self.token_s, self.exchange_s) < 0
            or not 0 <= self.median_error <= self.p90_error
        ):
            raise PlannerError(f"Constants of {self.engine} on {self.family} are negative or out of order.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """A time with its range: nine of ten measurements lay within. *ceiling_s*: less is impossible."""

    value_s: float
    low_s: float
    high_s: float
    ceiling_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a step's time goes to; the parts add up to it."""

    layers_s: float
    links_s: float
    tokens_s: float
    read_s: float
    arithmetic_s: float

    @property
    def total_s(self) -> float:
        return self.layers_s + self.links_s + self.tokens_s + self.read_s + self.arithmetic_s

    @property
    def bound(self) -> str:
        """The largest part: what would have to become faster first."""
        return max(fields(self), key=lambda part: float(getattr(self, part.name))).name.removesuffix("_s")


def parts(work: Work, constants: SpeedConstants) -> Parts:
    """t = c·L + k·L·[TP > 1] + s·L·tokens + bytes ÷ (bandwidth · e) + operations ÷ (rate · m).

    Over PCIe k is larger, and what is sent takes its time as well.
    """
    sending_s = 0.0 if constants.exchange_bytes_per_s is None else work.link_bytes / constants.exchange_bytes_per_s
    return Parts(
        layers_s=constants.layer_s * work.layers,
        links_s=(constants.link_s + constants.exchange_s) * work.linked_layers + sending_s,
        tokens_s=constants.token_s * work.token_layers,
        read_s=work.read_s / constants.read_efficiency,
        arithmetic_s=work.arithmetic_s / constants.arithmetic_efficiency,
    )


def for_prefill(constants: SpeedConstants) -> SpeedConstants:
    """The constants with which whole prompts are computed."""
    efficiency = constants.prefill_efficiency
    return constants if efficiency is None else replace(constants, arithmetic_efficiency=efficiency)


def with_range(seconds: float, ceiling_s: float, error: float) -> Seconds:
    """*seconds* with a relative *error* to both sides; never below the ceiling."""
    return Seconds(
        value_s=max(seconds, ceiling_s),
        low_s=max(seconds / (1 + error), ceiling_s),
        high_s=max(seconds * (1 + error), ceiling_s),
        ceiling_s=ceiling_s,
    )
