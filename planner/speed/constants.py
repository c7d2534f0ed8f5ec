"""Constants of an engine on a family of devices, and the time of a step by them."""

from collections.abc import Sequence
from dataclasses import fields, replace

from planner.errors import PlannerError
from planner.records import dataclass
from planner.speed.rates import Arithmetic
from planner.speed.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedConstants:
    """How well an engine uses a family of devices, fitted to public measurements.

    *layer_s*: fixed time of a layer, launches and waits. *read_efficiency*, *arithmetic_efficiency*,
    *link_efficiency*: shares of the peak rates of memory, arithmetic and what joins the devices. *median_error*,
    *p90_error*: relative errors of measurements on cards that the fit had not seen; *calibrated_…*: with one point
    measured on the machine itself. *prefill_…*: of whole prompts, where these were measured, by the numbers that are
    multiplied: ``int8`` or ``fp16``. *experts*:
    for models with a mixture of experts, each of which computes at least *expert_rows* rows. *hidden_rows*: so many
    rows are computed while their weights are read; 1 where constants were fitted to single users' answers, whose time
    has it in *read_efficiency*. *family* ``any``: for families without constants of their own. *calibrated_by*: how
    many points of the machine itself. *note*: what a user should know of the range. *host_layer_s*: what the host takes
    to start a layer's work where it does so itself, without graphs, 0 where it does not; *host_p90_error*: its range.
    """

    engine: str
    family: str
    layer_s: float
    read_efficiency: float
    median_error: float
    p90_error: float
    source: str
    experts: bool = False
    arithmetic_efficiency: float = 0.5
    link_efficiency: float = 1.0
    expert_rows: int = 1
    hidden_rows: int = 0
    prefill_int8_efficiency: float | None = None
    prefill_int8_p90_error: float | None = None
    prefill_fp16_efficiency: float | None = None
    prefill_fp16_p90_error: float | None = None
    calibrated_median_error: float | None = None
    calibrated_p90_error: float | None = None
    readings: int = 0
    calibrated_by: int = 0
    note: str = ""
    host_layer_s: float = 0.0
    host_p90_error: float = 0.0

    def __post_init__(self) -> None:
        shares = (self.read_efficiency, self.arithmetic_efficiency, self.link_efficiency)
        for share in (*shares, self.prefill_int8_efficiency, self.prefill_fp16_efficiency):
            if share is not None and not 0 < share <= 1:
                raise PlannerError(
                    f"Constants of {self.engine} on {self.family}: {share:g} is no share of a peak rate."
                )
        if self.layer_s < 0 or not 0 <= self.median_error <= self.p90_error:
            raise PlannerError(f"Constants of {self.engine} on {self.family} are negative or out of order.")

    def without_host(self) -> "SpeedConstants":
        """The card alone."""
        return replace(self, host_layer_s=0.0) if self.host_layer_s else self

    @property
    def widest_error(self) -> float:
        """The range of steps of which it is not known whether they wait for the host."""
        return max(self.p90_error, self.host_p90_error)


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
    read_s: float
    arithmetic_s: float

    @property
    def total_s(self) -> float:
        return self.layers_s + self.links_s + self.read_s + self.arithmetic_s

    @property
    def bound(self) -> str:
        """The largest part: what would have to become faster first."""
        return max(fields(self), key=lambda part: float(getattr(self, part.name))).name.removesuffix("_s")


def parts(work: Work, constants: SpeedConstants) -> Parts:
    """t = c·L + 2·L·x + sent ÷ (link · η) + bytes ÷ (bandwidth · e) + operations ÷ (rate · m), and at least h·L.

    The second and third where devices share each layer: an exchange takes x over their link. The last where the host
    starts each layer: it runs ahead of a slow card, and a quick one waits for it.
    """
    found = Parts(
        layers_s=constants.layer_s * work.layers,
        links_s=work.exchange_s + work.link_s / constants.link_efficiency,
        read_s=work.read_s / constants.read_efficiency,
        arithmetic_s=rounded_arithmetic_s(work, constants) / constants.arithmetic_efficiency,
    )
    waits_s = constants.host_layer_s * work.layers - found.total_s
    return replace(found, layers_s=found.layers_s + waits_s) if waits_s > 0 else found


def step_seconds(work: Work, constants: SpeedConstants) -> Seconds:
    """A step's time with the range of its constants; of a host that starts each layer it has a range of its own."""
    if not constants.host_layer_s:
        return with_range(parts(work, constants).total_s, work.ceiling_s, constants.p90_error)
    card = step_seconds(work, constants.without_host())
    host = with_range(constants.host_layer_s * work.layers, work.ceiling_s, constants.host_p90_error)
    return Seconds(
        value_s=max(card.value_s, host.value_s),
        low_s=max(card.low_s, host.low_s),
        high_s=max(card.high_s, host.high_s),
        ceiling_s=work.ceiling_s,
    )


def rounded_arithmetic_s(work: Work, constants: SpeedConstants) -> float:
    """At the full rate, the rows of each expert rounded up: kernels compute so many at least; less hidden rows."""
    computed_s = max(0.0, work.arithmetic_s - constants.hidden_rows * work.row_s)
    return computed_s + max(0.0, constants.expert_rows * work.expert_row_s - work.expert_s)


def sum_seconds(steps: Sequence[Seconds]) -> Seconds:
    """One step after another."""
    return Seconds(**{each.name: sum(getattr(step, each.name) for step in steps) for each in fields(Seconds)})


def for_prefill(constants: SpeedConstants, arithmetic: Arithmetic | None) -> SpeedConstants:
    """The constants, and the range, with which whole prompts are computed by that *arithmetic*."""
    of_integers = arithmetic is not None and arithmetic.numbers == "int8"
    share = constants.prefill_int8_efficiency if of_integers else constants.prefill_fp16_efficiency
    error = constants.prefill_int8_p90_error if of_integers else constants.prefill_fp16_p90_error
    return replace(
        constants,
        arithmetic_efficiency=constants.arithmetic_efficiency if share is None else share,
        median_error=min(constants.median_error, constants.p90_error if error is None else error),
        p90_error=constants.p90_error if error is None else error,
    )


def with_range(seconds: float, ceiling_s: float, error: float) -> Seconds:
    """*seconds* with a relative *error* to both sides; never below the ceiling."""
    return Seconds(
        value_s=max(seconds, ceiling_s),
        low_s=max(seconds / (1 + error), ceiling_s),
        high_s=max(seconds * (1 + error), ceiling_s),
        ceiling_s=ceiling_s,
    )
