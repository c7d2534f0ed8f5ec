"""A plan as the simulator sees it: how long steps take, and how many cache blocks memory leaves."""

import math
from collections.abc import Sequence

from planner.architecture import Architecture
from planner.batching.step_time import StepTime
from planner.batching.trace import Trace
from planner.budget import prepare
from planner.capacity import concurrency
from planner.inputs.choices import Choices, choose
from planner.paced import MeasuredRate, paced
from planner.records import dataclass
from planner.serving.shape import ServerShape, ShapeWish, server_shape
from planner.speed.answer import step_time
from planner.speed.cautions import stated
from planner.speed.constants import SpeedConstants
from planner.speed.work import Model

USUAL_SLOTS = 256
"""Of a server, where neither the question nor the engine says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One replica. *pool_blocks*: 0 where weights leave no room, ``None`` where memory sets no limit."""

    model: Model
    constants: SpeedConstants
    shape: ServerShape
    step_time: StepTime
    pool_blocks: int | None

    @property
    def notes(self) -> tuple[str, ...]:
        """Which settings of the engine decide, and what was asked for that makes steps longer or shorter."""
        return (*self.shape.notes, *stated(self.model, self.constants))


def mean_tokens(trace: Trace) -> int:
    """A request's length on average over its decode steps: the prompt and half of the answer."""
    return max(1, (sum(trace.prompt_tokens) + sum(trace.output_tokens) // 2) // len(trace))


def served(
    choices: Choices,
    wish: ShapeWish,
    speed_engine: str,
    architecture: Architecture | None = None,
    measured: Sequence[MeasuredRate] = (),
    constants: SpeedConstants | None = None,
) -> Served:
    """Steps by the speed model at the context of *choices*, and the pool by the memory model.

    *wish* is settled by the engine's own settings, and where these say nothing with USUAL_SLOTS.
    *architecture* stands in for ``choices.model`` where it is loaded already. *measured* narrows the range;
    *constants* are used instead where a measurement of another split gave them.
    """
    chosen = choose(choices, architecture)
    shape = server_shape(chosen.deployment, wish, USUAL_SLOTS)
    shape.server()  # refuses what no server can have
    found = paced(chosen, speed_engine, measured)
    constants = constants or found.constants
    tokens = chosen.workload.context_tokens
    # Requests of their usual length, not one as long as the pool: windows and states are each request's own.
    requests = concurrency(prepare(chosen.architecture, chosen.deployment), tokens)
    return Served(
        model=found.model,
        constants=constants,
        shape=shape,
        step_time=step_time(found.model, constants, shape.slots, tokens),
        pool_blocks=None if requests == math.inf else int(requests * tokens) // shape.block_tokens,
    )
