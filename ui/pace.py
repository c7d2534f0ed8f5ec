"""What the pages about speed ask beside the set-up: whose constants, how long the answers are, one measured point."""

import shlex
from dataclasses import dataclass, replace

import streamlit as st

from planner.answer import Answer
from planner.choices import Choices, Chosen
from planner.errors import PlannerError
from planner.performance_presets import eight_bit_formats, find_speed_constants, speed_constants
from planner.speed.constants import SpeedConstants
from planner.speed.fit import Measured, calibrate
from planner.speed.work import Model, decode_work, has_experts, prepare_speed
from ui import fields
from ui.scenario import Scenario

MINIMUM = "minimum"
DEFAULT_ENGINE = "vllm"
"""Whose speed is planned where the set-up names no engine that was ever measured."""
FROM_SET_UP = "as the set-up"
RUN_BY = {"ollama": "llama_cpp", "ik_llama_cpp": "llama_cpp"}
"""Engines that are, or began as, another one whose speed was measured."""
MAX_ANSWER = 2**20
FASTEST = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """A model whose speed can be planned, and with what. *problem*: why a measured point was not used."""

    chosen: Chosen
    answer: Answer
    model: Model
    constants: SpeedConstants
    engine: str
    measured: float | None = None
    problem: str = ""

    @property
    def context_tokens(self) -> int:
        return self.chosen.workload.context_tokens

    @property
    def users(self) -> int:
        return self.chosen.workload.users

    @property
    def p90_error(self) -> float:
        return self.constants.p90_error

    @property
    def is_calibrated(self) -> bool:
        return self.measured is not None and not self.problem


def engine_field(plan: Scenario) -> str:
    """Whose measured speed is used; the set-up's own engine unless another is chosen."""
    experts = plan.chosen is not None and has_experts(plan.chosen.architecture)
    known = sorted({name for name, _, with_experts in speed_constants() if with_experts == experts})
    picked = fields.choice(
        "speed_engine",
        "Speed of which engine",
        [FROM_SET_UP, *known],
        FROM_SET_UP,
        help="Constants are fitted to public measurements, by engine and kind of card. "
        f"*{FROM_SET_UP}*: the engine there, or {DEFAULT_ENGINE} where it names none.",
    )
    if picked != FROM_SET_UP:
        return picked
    named = RUN_BY.get(plan.choices.engine, plan.choices.engine)
    if named in known:
        return named
    if named != MINIMUM:
        st.caption(f":material/info: The speed of {named} was never fitted: that of {DEFAULT_ENGINE} is planned.")
    return DEFAULT_ENGINE


def answer_field() -> int:
    """How much of a user's tokens is answer; the rest is prompt."""
    return fields.whole(
        "answer",
        "Of a user's tokens, the answer",
        512,
        MAX_ANSWER,
        help="Tokens per user are prompt and answer together; what is not answer is prompt.",
    )


def price_field() -> float | None:
    """What an hour of one card costs, in whatever currency."""
    return fields.figure(
        "price",
        "One card, price an hour",
        None,
        0.0,
        1e6,
        format="%g",
        placeholder="such as 0.40",
        help="Yours: rent, or electricity and what the card loses in value. None is built in.",
    )


def measured_field(context_tokens: int) -> float | None:
    """Tokens a second that one user was seen to get."""
    return fields.figure(
        "measured",
        f"Measured on your machine: tokens/s of one user at {context_tokens:,} tokens",
        None,
        0.0,
        FASTEST,
        format="%g",
        placeholder="such as 52.3",
        help="One measured point takes the place of how well the engine reads memory, and the range becomes that of "
        "calibrated figures.",
    )


def prompt_tokens(context_tokens: int, answer_tokens: int) -> tuple[int, int]:
    """Prompt and answer of a request of *context_tokens*; an answer that leaves no prompt is taken as half of it."""
    answer = answer_tokens if answer_tokens < context_tokens else max(1, context_tokens // 2)
    return max(1, context_tokens - answer), answer


def ready(plan: Scenario, engine: str, measured: float | None = None) -> Pace:
    """The plan with its constants; raises PlannerError where its speed is not known."""
    assert plan.chosen is not None
    assert plan.answer is not None
    chosen = plan.chosen
    if chosen.deployment.device.bandwidth_bytes_per_s is None:
        raise PlannerError(
            f"How fast {chosen.deployment.device.title} reads its memory is not known, and that decides the speed: "
            "choose a card by its name in the set-up."
        )
    model = prepare_speed(chosen.architecture, chosen.deployment, eight_bit_formats())
    constants = find_speed_constants(engine, chosen.deployment.device.name, has_experts(model.architecture))
    problem = ""
    if measured:
        try:
            point = Measured(work=decode_work(model, 1, chosen.workload.context_tokens), seconds=1 / measured)
            constants = calibrate(constants, [point])
        except PlannerError as error:
            problem = str(error)
    return Pace(
        chosen=chosen,
        answer=plan.answer,
        model=model,
        constants=constants,
        engine=engine,
        measured=measured or None,
        problem=problem,
    )


def command(choices: Choices, verb: str, *more: str) -> str:
    """The ``kvbudget`` command *verb* for the set-up, whose cards share every layer, and what it asks besides."""
    shared = replace(choices, device_count=None, tensor_parallel=choices.device_count)
    return f"{shared.command().replace('kvbudget plan', f'kvbudget {verb}', 1)} {shlex.join(more)}"


def say_problem(pace: Pace) -> None:
    """A measured point that cannot be: what was wrong, and what holds instead."""
    if pace.problem:
        st.info(f"{pace.problem} The figures are those without your point.", icon=":material/edit:")
