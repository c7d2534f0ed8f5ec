"""What the pages about speed ask beside the set-up: whose constants, how long the answers are, measured points."""

import shlex
from dataclasses import dataclass, replace

import streamlit as st

from planner.answers.answer import Answer, beyond_model
from planner.at_once import AtOnce
from planner.catalogue.performance_presets import speed_constants
from planner.deployment import MINIMUM
from planner.errors import PlannerError
from planner.inputs.choices import FOR_SPEED, Choices, Chosen
from planner.paced import MeasuredRate, paced, run_by
from planner.speed.cautions import cautions
from planner.speed.constants import SpeedConstants
from planner.speed.names import engine_name
from planner.speed.operations import has_experts
from planner.speed.work import Model
from ui.fields import choice as fields
from ui.one_server import ServerPlan, check_one_kind
from ui.option_words import in_fields
from ui.page import NoAnswer
from ui.scenario import Scenario

"""The set-up that names no engine."""
DEFAULT_ENGINE = run_by(MINIMUM)
"""Whose speed is planned where the set-up names no engine that was ever measured."""
FROM_SET_UP = "as the set-up"
MAX_ANSWER = 2**20
FASTEST = 1e6
SECOND_TOKENS = 512
"""Tokens of the second measured point, unless said otherwise: with few, little cache is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceWish:
    """Whose constants are asked for, and what one user alone was seen to get."""

    engine: str
    measured: tuple[MeasuredRate, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """A model whose speed can be planned, and with what. *problem*: why a measured point was not used.

    *wish* has the measured points that were; *is_measured*: a profile of the set-up timed the machine itself. *notes*
    say what of the set-up is left out.
    """

    chosen: Chosen
    answer: Answer
    model: Model
    constants: SpeedConstants
    at_once: AtOnce
    wish: PaceWish
    is_measured: bool = False
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def context_tokens(self) -> int:
        return self.chosen.workload.context_tokens

    @property
    def users(self) -> int:
        """Those who are decoded together: no more than the engine runs at once."""
        return self.at_once.users

    @property
    def most_users(self) -> int | None:
        """The most whom memory holds and the engine runs at once; ``None`` where neither has a limit."""
        return self.at_once.most(self.answer.max_users)

    @property
    def ends(self) -> str:
        """Which of the two that is: ``memory``, or a setting of the engine."""
        return self.at_once.ends(self.answer.max_users)

    @property
    def is_calibrated(self) -> bool:
        return bool(self.wish.measured)


def pace_fields(plan: Scenario) -> PaceWish:
    """Whose speed it is, and measured points of it; a profile that timed the machine leaves nothing to ask."""
    assert plan.chosen is not None
    profile = plan.chosen.deployment.profile
    if profile is not None and profile.speed is not None:
        st.caption(
            f":material/speed: Steps as measured on {profile.subject.device}: the profile *{plan.choices.profile}* of "
            "the set-up timed the machine."
        )
        return PaceWish(engine=DEFAULT_ENGINE)
    with st.grid(2, min_column_width=250):
        with st.container():  # the field and what is said of it are one cell
            engine = engine_field(plan)
        rate = measured_field(plan.chosen.workload.context_tokens)
    if not rate:
        return PaceWish(engine=engine)
    first = MeasuredRate(tokens_per_s=rate, context_tokens=plan.chosen.workload.context_tokens)
    return PaceWish(engine=engine, measured=(first, *_second_point(first.context_tokens or 1)))


def engine_field(plan: Scenario) -> str:
    """Whose measured speed is used; the set-up's own engine unless another is chosen."""
    assert plan.chosen is not None
    experts = has_experts(plan.chosen.architecture)
    known = sorted({name for name, _, with_experts in speed_constants() if with_experts == experts})
    picked = fields.choice(
        "speed_engine",
        "As fast as which engine",
        [FROM_SET_UP, *known],
        FROM_SET_UP,
        help="How well each engine uses each kind of card is taken from public measurements of it. "
        f"*{FROM_SET_UP}*: the engine there, or {engine_name(DEFAULT_ENGINE)} where it names none.",
    )
    if picked != FROM_SET_UP:
        return picked
    named = run_by(plan.choices.engine, plan.chosen.deployment.on_cpu)
    if named in known:
        if plan.choices.engine == MINIMUM:
            st.caption(f":material/info: The set-up names no engine: figures are those of {engine_name(named)}.")
        return named
    st.caption(
        f":material/info: Of {named} no public measurements are used here: figures are those of "
        f"{engine_name(DEFAULT_ENGINE)}."
    )
    return DEFAULT_ENGINE


def answer_field(label: str = "Of a user's tokens, the answer") -> int:
    """How much of a user's tokens is answer; the rest is prompt. All pages about speed share it."""
    return fields.whole(
        "answer",
        label,
        512,
        MAX_ANSWER,
        help="Tokens per user are prompt and answer together; what is not answer is prompt.",
    )


def measured_field(context_tokens: int) -> float | None:
    """Tokens a second that one user was seen to get."""
    return fields.figure(
        "measured",
        f"Measured by you: tokens/s of one user, {context_tokens:,} tokens",
        None,
        0.0,
        FASTEST,
        format="%g",
        placeholder="such as 52.3",
        help="One point of your own machine says how well it reads memory, and every range on these pages becomes that "
        "of points so near. Ask for a long answer with nobody else there, and take its tokens a second.",
    )


def _second_point(first_tokens: int) -> tuple[MeasuredRate, ...]:
    """Another length tells what every step takes from what reading takes; nothing until its rate is there."""
    with st.grid(2, min_column_width=250):
        rate = fields.figure(
            "measured_2",
            "A second point: tokens/s of one user",
            None,
            0.0,
            FASTEST,
            format="%g",
            placeholder="none",
            help="A short text and a long one together say how fast memory is read, and what each step takes besides.",
        )
        tokens = fields.whole(
            "measured_2_tokens",
            "… measured with tokens",
            SECOND_TOKENS if first_tokens != SECOND_TOKENS else SECOND_TOKENS // 2,
            MAX_ANSWER,
            help=f"Prompt and answer together. Best far from the first point's {first_tokens:,}.",
        )
    return (MeasuredRate(tokens_per_s=rate, context_tokens=tokens),) if rate else ()


def prompt_tokens(context_tokens: int, answer_tokens: int) -> tuple[int, int]:
    """Prompt and answer of a request of *context_tokens*; an answer that leaves no prompt is taken as half of it."""
    answer = answer_tokens if answer_tokens < context_tokens else max(1, context_tokens // 2)
    return max(1, context_tokens - answer), answer


def ready(plan: ServerPlan, wish: PaceWish, alone: bool = False) -> Pace:
    """The plan with its constants; raises NoAnswer where its speed is not known, *alone*: that of one user."""
    assert plan.chosen is not None
    assert plan.answer is not None
    check_one_kind(plan)
    chosen = plan.chosen
    device, profile = chosen.deployment.device, chosen.deployment.profile
    known = device.bandwidth_bytes_per_s or chosen.deployment.bandwidth_bytes_per_s
    if known is None and (profile is None or profile.speed is None):
        raise NoAnswer(
            f"How fast {device.title} reads its memory is not known, and that decides the speed: say it in the set-up "
            f"under {in_fields('--bandwidth')}, such as 80GB/s, or 2xDDR5-5600 for main memory on two channels; or "
            "choose a card by its name, or a profile that timed this machine, as the page Measure makes."
        )
    try:
        found, problem = paced(chosen, wish.engine, alone=alone), ""
    except PlannerError as error:
        raise NoAnswer(in_fields(error)) from error
    if wish.measured:
        try:
            found = paced(chosen, wish.engine, wish.measured, alone)
        except PlannerError as error:
            wish, problem = replace(wish, measured=()), in_fields(error)
    return Pace(
        chosen=chosen,
        answer=plan.answer,
        model=found.model,
        constants=found.constants,
        at_once=found.at_once,
        wish=wish,
        is_measured=found.is_measured,
        problem=problem,
        notes=plan.notes,
    )


def pace_words(pace: Pace) -> list[str]:
    """The options of a command that say the same as the fields."""
    if pace.is_measured:
        return []
    points = [f"{rate.tokens_per_s:g}@{rate.context_tokens}" for rate in pace.wish.measured]
    return ["--speed-engine", pace.wish.engine, *(word for point in points for word in ("--measured", point))]


def command(choices: Choices, verb: str, *more: str) -> str:
    """The ``kvbudget`` command *verb* for the *choices* of one server, and what it asks besides."""
    stated = {name: getattr(choices, name) for name in FOR_SPEED}
    words = [word for name, value in stated.items() if value is not None for word in (f"--{name}", value)]
    return f"{choices.command().replace('kvbudget plan', f'kvbudget {verb}', 1)} {shlex.join([*words, *more])}"


def say_problem(pace: Pace) -> None:
    """What of the set-up is left out; more tokens than the model was made for; what the figures rest on; and a measured
    point that cannot be."""
    beyond = beyond_model(pace.chosen.architecture, pace.context_tokens)
    waits = (f"{pace.at_once.words}.",) if pace.at_once.waiting else ()
    for words in (*pace.notes, *waits, *beyond, *cautions(pace.model, pace.constants)):
        st.caption(f":material/info: {in_fields(words)}")
    if pace.problem:
        st.info(f"{pace.problem} The figures are those without what you measured.", icon=":material/edit:")
