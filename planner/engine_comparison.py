"""The architectural minimum beside what each engine reserves: one model, card and request through every engine."""

from dataclasses import replace

from planner.answers.answer import answer
from planner.answers.words import the_card
from planner.architecture import Architecture
from planner.budget import OUTSIDE, Case
from planner.deployment import MINIMUM
from planner.engines import ENGINES
from planner.errors import PlannerError
from planner.finding.which import check_device
from planner.inputs.choices import Choices, choose
from planner.records import dataclass
from planner.spread import Left, spread
from planner.units import format_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFigures:
    """One engine's own figures for the same plan, of the fullest device.

    *place* is the card or the machine. *outside_bytes* is what it leaves to others, *host_bytes* what it puts into the
    machine's own memory. *cases* are what assumed items leave, the expected one among them. *problem* says why the
    engine cannot serve the model, and the rest is then 0 or empty.
    """

    engine: str
    version: str = ""
    place: str = ""
    memory_bytes: int = 0
    weights_bytes: int = 0
    outside_bytes: int = 0
    host_bytes: int = 0
    cases: tuple[Left, ...] = ()
    problem: str = ""

    @property
    def expected(self) -> Left:
        return next(case for case in self.cases if case.case is Case.EXPECTED)

    @property
    def ends(self) -> tuple[int | None, int | None]:
        """The longest context of one user where assumed items turn out large, and where small."""
        return self.cases[-1].one_user_tokens, self.cases[0].one_user_tokens


def compare_engines(choices: Choices, architecture: Architecture) -> tuple[EngineFigures, ...]:
    """Every engine in the order of the registry; the minimum first, with weights and cache and nothing else."""
    return tuple(_figures(for_engine(choices, engine), architecture) for engine in ENGINES)


def for_engine(choices: Choices, engine: str) -> Choices:
    """*choices* with another engine: what only theirs has is left out. The minimum has no runtime at all."""
    if engine == choices.engine != MINIMUM:
        return choices
    return replace(choices, engine=engine, engine_version=None, set=(), profile=None, overhead=None)


def comparison_sentence(found: tuple[EngineFigures, ...], model: str, are_unequal: bool = False) -> str:
    """What the minimum would hold, and between which engines the others lie.

    Over cards that *are_unequal* it is no bound: it gives each the same.
    """
    least = next((one for one in found if one.engine == MINIMUM and not one.problem), None)
    others = [one for one in found if one.engine != MINIMUM and not one.problem and one.expected.one_user_tokens]
    if least is None:
        return "Not even the minimum can be counted for this plan."
    expected = least.expected
    if expected.room_bytes < 0:
        return f"{model} does not fit even at the least: it is {format_bytes(-expected.room_bytes)} too big."
    tokens = expected.one_user_tokens
    if tokens is None or not others:
        return f"At the least {model} leaves {format_bytes(expected.room_bytes)} of {least.place} for its cache."
    counts = [one.expected.one_user_tokens or 0 for one in others]
    if are_unequal and max(counts) > tokens:
        return (
            f"Divided evenly, so that the smallest card decides, weights and cache alone would leave **{tokens:,} "
            f"tokens** of {model} for one user. An engine that gives each card as many layers as its own memory holds "
            f"can have more: those here leave **{min(counts):,}** to **{max(counts):,}**."
        )
    return (
        f"With weights and cache alone {least.place} would hold **{tokens:,} tokens** of {model} for one user. What "
        f"engines reserve beside them, and how they keep a cache, makes that **{min(counts):,}** to "
        f"**{max(counts):,}**."
    )


def _figures(choices: Choices, architecture: Architecture) -> EngineFigures:
    try:
        check_device(choices)
        chosen = choose(choices, architecture)
        found = answer(chosen.architecture, chosen.deployment, chosen.workload)
        cases = spread(chosen)
    except PlannerError as error:
        return EngineFigures(engine=choices.engine, problem=str(error))
    return EngineFigures(
        engine=found.engine,
        version=found.engine_version,
        place=the_card(found),
        memory_bytes=found.memory_bytes,
        weights_bytes=found.weights_bytes,
        outside_bytes=sum(item.bytes for item in found.items if item.name == OUTSIDE),
        host_bytes=found.host_bytes,
        cases=cases,
    )
