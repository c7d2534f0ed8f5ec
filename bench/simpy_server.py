"""Continuous batching as one would write it with SimPy: a process that takes a step at a time."""

from collections.abc import Iterator
from typing import Any

import simpy

from planner.batching.step_time import TICKS_PER_S, StepTime
from planner.batching.trace import Trace


def run_simpy(trace: Trace, slots: int, step_time: StepTime) -> list[int]:
    """The ticks at which each request's answer is complete; the pool is without bound."""
    environment = simpy.Environment()
    waiting: list[int] = []
    arrived = environment.event()
    finishes = [0] * len(trace)

    def arrivals() -> Iterator[Any]:
        nonlocal arrived
        for request, arrival_s in enumerate(trace.arrivals_s):
            wait = round(arrival_s * TICKS_PER_S) - environment.now
            if wait > 0:
                yield environment.timeout(wait)
            waiting.append(request)
            arrived.succeed()
            arrived = environment.event()

    def server() -> Iterator[Any]:
        running: dict[int, int] = {}
        cached = done = 0
        while done < len(trace):
            if not running and not waiting:
                yield arrived
            joining = [waiting.pop(0) for _ in range(min(slots - len(running), len(waiting)))]
            cached += len(running)
            prompt_tokens = sum(trace.prompt_tokens[request] for request in joining)
            yield environment.timeout(
                step_time.by_sequences[len(running) + len(joining)]
                + step_time.per_context_token * cached
                + step_time.per_prompt_token * prompt_tokens
            )
            running.update((request, 0) for request in joining)
            cached += prompt_tokens
            for request in list(running):
                running[request] += 1
                if running[request] == trace.output_tokens[request]:
                    del running[request]
                    cached -= trace.prompt_tokens[request] + trace.output_tokens[request] - 1
                    finishes[request] = environment.now
                    done += 1

    environment.process(arrivals())
    environment.process(server())
    environment.run()
    return finishes
