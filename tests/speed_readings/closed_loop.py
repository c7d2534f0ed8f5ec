"""Servers with so many users at a time: the time to the first token, and the tokens of all, as the simulator has them.

Prompts and answers of one run are equally long, so that requests stay in step: nobody's prompt is alone. The first
request of each user is left out, since all of them came at once. Steps have 8,192 tokens, the default of vLLM and
TensorRT-LLM on these cards. Nothing is fitted to these readings; the constants are those of the steps.
"""

from dataclasses import dataclass
from functools import cache
from statistics import mean

from planner.batching.continuous import ContinuousServer
from planner.batching.run import Run
from planner.batching.server import Schedule, Server
from planner.batching.step_time import TICKS_PER_S
from planner.batching.trace import Trace
from planner.catalogue import performance_presets
from planner.speed.answer import prompt_seconds, step_time
from planner.speed.constants import SpeedConstants
from planner.speed.operations import has_experts
from planner.speed.work import Model
from tests.speed_readings.reading import Row, rows_of
from tests.speed_readings.serving import FILE, FIRST_TOKEN, OF_ALL, model_of

STEP_TOKENS = 8_192


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """Relative errors: of the first token's time by the simulator and of a lone prompt's, of the tokens of all."""

    first_token: list[float]
    alone: list[float]
    of_all: list[float]


def is_simulated(row: Row) -> bool:
    return row["metric"] in (FIRST_TOKEN, OF_ALL) and not row["reason"]


@cache
def simulated() -> Simulated:
    found = Simulated(first_token=[], alone=[], of_all=[])
    for row in rows_of(FILE):
        if not is_simulated(row):
            continue
        model = model_of(row)
        constants = performance_presets.find_speed_constants(
            row["engine"], row["card"], has_experts(model.architecture)
        )
        first_s, token_s = _closed_loop(row, model, constants)
        measured_s = float(row["seconds"])
        if row["metric"] == OF_ALL:
            found.of_all.append(token_s / measured_s - 1)
        else:
            found.first_token.append(first_s / measured_s - 1)
            lone_s = prompt_seconds(model, constants, int(row["prompt_tokens"]))[1].value_s
            found.alone.append(lone_s / measured_s - 1)
    return found


def _closed_loop(row: Row, model: Model, constants: SpeedConstants) -> tuple[float, float]:
    """Seconds to the first token, and for each token of all users together (Little's law)."""
    prompt, output, users = (int(row[key]) for key in ("prompt_tokens", "output_tokens", "concurrency"))
    count = max(6 * users, 8)
    run = ContinuousServer(
        Run(
            trace=Trace(arrivals_s=(0.0,) * count, prompt_tokens=(prompt,) * count, output_tokens=(output,) * count),
            server=Server(schedule=Schedule.CHUNKED, slots=users, max_num_batched_tokens=STEP_TOKENS),
            step_time=step_time(model, constants, users, prompt + output // 2),
            closed_loop_users=users,
        )
    ).run()
    waits, stays = (
        mean([end - arrival for end, arrival in zip(ends, run.arrivals, strict=True)][users:]) / TICKS_PER_S
        for ends in (run.first_tokens, run.finishes)
    )
    return waits, stays / users / output
