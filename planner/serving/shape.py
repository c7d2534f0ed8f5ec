"""How many requests, tokens a step and tokens a block a server has: as asked, else as its engine's own settings say."""

from collections.abc import Iterator

from planner import presets
from planner.batching.server import Schedule, Server
from planner.deployment import Deployment
from planner.engines import find_engine
from planner.engines.base import Limit
from planner.errors import PlannerError
from planner.records import dataclass

BLOCK_TOKENS = 16
"""Where neither the question nor the engine says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeWish:
    """What is asked of a server; ``None``: as the engine has it. *whole_prompts*: whatever its engine would cut."""

    slots: int | None = None
    step_tokens: int | None = None
    block_tokens: int | None = None
    whole_prompts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerShape:
    """*slots* requests run at once, in steps of *step_tokens* at most (``None``: prompts are computed whole), their
    caches in blocks of *block_tokens*. *notes* say which settings of the engine decided, or stand against it."""

    slots: int
    step_tokens: int | None
    block_tokens: int
    notes: tuple[str, ...] = ()

    def server(self, pool_blocks: int | None = None) -> Server:
        """One that refills free slots at once, its prompts in chunks where a step has a limit."""
        return Server(
            schedule=Schedule.CONTINUOUS if self.step_tokens is None else Schedule.CHUNKED,
            slots=self.slots,
            block_tokens=self.block_tokens,
            pool_blocks=pool_blocks,
            max_num_batched_tokens=self.step_tokens,
        )


def server_shape(deployment: Deployment, wish: ShapeWish, usual_slots: int) -> ServerShape:
    """*wish*, then the engine's settings, then *usual_slots*, whole prompts and blocks of BLOCK_TOKENS.

    Raises PlannerError where an option and a setting that was given say two things of one.
    """
    limits = find_engine(deployment.engine).limits(deployment)
    given = deployment.settings.given
    slots = _settled("slots", wish.slots, limits.requests, given)
    step = _settled("max_num_batched_tokens", wish.step_tokens, limits.step_tokens, given)
    block = _settled("block_tokens", wish.block_tokens, limits.block_tokens, given)
    running = usual_slots if slots is None else slots
    if wish.whole_prompts:
        step = None
    elif step is not None and wish.step_tokens is None and limits.prompts_alone:
        step += running
    followed = (
        (wish.slots, limits.requests, "{:,} requests at once"),
        (True if wish.whole_prompts else wish.step_tokens, limits.step_tokens, "{:,} tokens a step"),
        (wish.block_tokens, limits.block_tokens, "blocks of {:,} tokens"),
    )
    words = [
        f"{said.format(limit.value)} ({limit.setting})"
        for asked, limit, said in followed
        if asked is None and limit is not None and limit.value is not None
    ]
    title = presets.engine_data(deployment.engine).title.partition(":")[0]
    return ServerShape(
        slots=running,
        step_tokens=step,
        block_tokens=BLOCK_TOKENS if block is None else block,
        notes=(
            *([f"As {title} has it: {', '.join(words)}."] if words else []),
            *_against(title, wish, limits.requests),
        ),
    )


def shape_as_set(deployment: Deployment, usual_slots: int) -> ServerShape:
    """What the engine has, but for a number of requests that nobody set: *usual_slots*."""
    limit = find_engine(deployment.engine).limits(deployment).requests
    is_set = limit is not None and limit.setting in deployment.settings.given
    return server_shape(deployment, ShapeWish(slots=None if is_set else usual_slots), usual_slots)


def check_whole_prompts(deployment: Deployment, schedule: str) -> None:
    """Raises PlannerError where a limit of a step's tokens was set beside a *schedule* that computes whole prompts."""
    limit = find_engine(deployment.engine).limits(deployment).step_tokens
    if limit is not None and limit.setting in deployment.settings.given:
        raise PlannerError(
            f"--set {limit.setting}={limit.value} has no effect with the schedule {schedule!r}, which computes whole "
            "prompts: leave it out."
        )


def _settled(option: str, asked: int | None, limit: Limit | None, given: frozenset[str]) -> int | None:
    if limit is None or asked is None:
        return asked if limit is None else limit.value
    if limit.setting in given and asked != limit.value:
        raise PlannerError(
            f"{option} = {asked:,} and {limit.setting} = {limit.value:,} say two things of one server: "
            "leave one of them out."
        )
    return asked


def _against(title: str, wish: ShapeWish, limit: Limit | None) -> Iterator[str]:
    """That an engine which is not told runs fewer at once."""
    if wish.slots is not None and limit is not None and limit.value is not None and wish.slots > limit.value:
        yield (
            f"{title} runs {limit.value:,} at once unless told: --set {limit.setting}={wish.slots} says {wish.slots:,} "
            "and counts its memory so."
        )
