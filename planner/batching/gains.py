"""What refilling slots at once gains over whole batches, over many orders of the same requests."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from planner.batching.run import Run
from planner.batching.server import Schedule, Server
from planner.batching.simulate import simulate
from planner.batching.step_time import StepTime, affine_step_time
from planner.batching.trace import RequestSet, Trace, shuffled_trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """How requests come, in requests a step (``None``: all at the start), and whether a batch waits to be full."""

    words: str
    requests_per_step: float | None
    wait_to_fill: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The mean over all seeds, the least and the most of single ones."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """Continuous over static: times the *throughput*, and how many times lower the mean *latency* is."""

    assumption: Assumption
    seeds: int
    throughput: Range
    latency: Range


ASSUMPTIONS = (
    Assumption(words="all present at the start", requests_per_step=None),
    Assumption(
        words="they come at random, 0.15 a step; a batch waits until it is full",
        requests_per_step=0.15,
        wait_to_fill=True,
    ),
    Assumption(words="they come at random, 0.15 a step; a batch takes what is there", requests_per_step=0.15),
)
"""The three that explain what is usually quoted."""


def gain(requests: RequestSet, assumption: Assumption, seeds: int) -> Gain:
    """Both schedules for every seed, all steps taking the same time."""
    static = Server(schedule=Schedule.STATIC, slots=requests.slots, wait_to_fill=assumption.wait_to_fill)
    traces = (shuffled_trace(requests, assumption.requests_per_step, seed) for seed in range(seeds))
    throughput, latency = ratios(traces, static, affine_step_time(slots=requests.slots, fixed_s=1.0))
    return Gain(assumption=assumption, seeds=seeds, throughput=throughput, latency=latency)


def ratios(traces: Iterable[Trace], static: Server, step_time: StepTime) -> tuple[Range, Range]:
    """Over *traces*: throughput of slots refilled at once over that of *static*, and *static*'s latency over theirs."""
    continuous = replace(static, schedule=Schedule.CONTINUOUS, wait_to_fill=False)
    throughput, latency = [], []
    for trace in traces:
        before, after = (
            simulate(Run(trace=trace, server=server, step_time=step_time)) for server in (static, continuous)
        )
        throughput.append(after.output_tokens_per_s / before.output_tokens_per_s)
        latency.append(before.latency.mean_s / after.latency.mean_s)
    return _range(throughput), _range(latency)


def _range(values: Sequence[float]) -> Range:
    return Range(mean=mean(values), low=min(values), high=max(values))
