"""What jumping over steps is worth: ``python -m bench.simulator``."""

import time
from collections.abc import Callable

from bench.simpy_server import run_simpy
from planner.batching.continuous import ContinuousServer
from planner.batching.run import Run
from planner.batching.server import Schedule, Server
from planner.batching.step_time import affine_step_time
from planner.batching.trace import Lengths, Trace, synthetic_trace
from tests.batching.naive_server import NaiveServer

SLOTS = 64
MILLION_LIMIT_S = 15
STEP_TIME = affine_step_time(
    slots=SLOTS, fixed_s=0.01, per_sequence_s=5e-5, per_context_token_s=4e-8, per_prompt_token_s=3e-5
)
SERVER = Server(schedule=Schedule.CONTINUOUS, slots=SLOTS)


def requests(count: int) -> Trace:
    """Chat-like lengths at a rate that keeps most slots busy."""
    lengths = Lengths(median_tokens=500, sigma=0.8, max_tokens=8_000), Lengths(median_tokens=150, sigma=0.8)
    return synthetic_trace(count, *lengths, requests_per_s=15.0)


def timed(run: Callable[[], list[int]]) -> tuple[float, list[int]]:
    """Seconds of processor time, which other programs do not stretch, and what *run* returns."""
    start = time.process_time()
    finishes = run()
    return time.process_time() - start, finishes


def main() -> None:
    trace = requests(2_000)
    jumping_s, finishes = timed(
        lambda: ContinuousServer(Run(trace=trace, server=SERVER, step_time=STEP_TIME)).run().finishes
    )
    simpy_s, by_simpy = timed(lambda: run_simpy(trace, SLOTS, STEP_TIME))
    naive_s, by_steps = timed(lambda: [request.finish for request in NaiveServer(trace, SERVER, STEP_TIME).run()])
    assert finishes == by_steps == by_simpy
    print(f"{len(trace):,} requests     {jumping_s:6.2f} s    jumping from event to event")
    print(f"SimPy, by steps    {simpy_s / jumping_s:6.1f} ×    the same ticks")
    print(f"token by token     {naive_s / jumping_s:6.1f} ×    the same ticks")

    trace = requests(1_000_000)
    million_s, _ = timed(lambda: ContinuousServer(Run(trace=trace, server=SERVER, step_time=STEP_TIME)).run().finishes)
    print(f"1,000,000 requests {million_s:6.1f} s    the aim is under {MILLION_LIMIT_S} s")


if __name__ == "__main__":
    main()
