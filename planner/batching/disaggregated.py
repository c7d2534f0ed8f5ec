"""Prefill and decode on replicas of their own: prompts wait for each other alone, and caches travel over a link.

Source: Zhong et al., DistServe, arXiv:2401.09670; Patel et al., Splitwise, arXiv:2311.18677.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import mean

from planner.batching.continuous import ContinuousServer
from planner.batching.outcome import percentile
from planner.batching.run import Run
from planner.batching.server import Schedule, Server
from planner.batching.step_time import TICKS_PER_S, StepTime
from planner.batching.targets import THROUGHPUT, Target, at_rate, full_rate, largest_rate
from planner.batching.trace import Trace
from planner.errors import PlannerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What one replica of a stage takes: its largest rate, the 95th percentile there, and the mean time in it."""

    rate_per_s: float
    limit: str
    p95_s: float
    mean_s: float


def prefill_stage(trace: Trace, prompts_s: Sequence[float], transfers_s: Sequence[float], target: Target) -> Stage:
    """Prompts one after another, *prompts_s* each; the first token is there when its prompt is computed.

    A cache leaves while the next prompt is computed, *transfers_s* each, so that the link bounds the rate as well.
    """
    waits: dict[float, list[float]] = {}

    def missed(rate: float) -> str | None:
        waits[rate] = _queue(at_rate(trace, rate).arrivals_s, prompts_s)
        return target.missed_by(_p95(waits[rate]), 0.0)

    rate, limit = largest_rate(missed, 1 / max(mean(prompts_s), mean(transfers_s)))
    found = waits.get(rate, [0.0])
    return Stage(rate_per_s=rate, limit=limit, p95_s=_p95(found), mean_s=mean(found))


def decode_stage(
    trace: Trace, server: Server, step_time: StepTime, transfers_s: Sequence[float], target: Target
) -> Stage:
    """Every token after the first, on a server that computes no prompts; a request's pace includes its transfer.

    Requests of one token never come here.
    """
    kept = [index for index, tokens in enumerate(trace.output_tokens) if tokens > 1]
    if not kept:
        raise PlannerError("Every answer is a single token: there is nothing to decode apart from the prompts.")
    rest = Trace(
        arrivals_s=tuple(trace.arrivals_s[index] for index in kept),
        prompt_tokens=tuple(trace.prompt_tokens[index] + 1 for index in kept),
        output_tokens=tuple(trace.output_tokens[index] - 1 for index in kept),
        source=trace.source,
    )
    transfers = [transfers_s[index] for index in kept]
    decoding = replace(server, schedule=Schedule.CONTINUOUS, max_num_batched_tokens=None)
    without_prompts = replace(step_time, per_prompt_token=0)
    times: dict[float, list[float]] = {}

    def run(arrivals: Trace) -> list[float]:
        timings = ContinuousServer(Run(trace=arrivals, server=decoding, step_time=without_prompts)).run()
        spans = zip(timings.finishes, timings.arrivals, transfers, strict=True)
        return [(end - start) / TICKS_PER_S + transfer for end, start, transfer in spans]

    def missed(rate: float) -> str | None:
        times[rate] = run(at_rate(rest, rate))
        return target.missed_by(0.0, _p95(_paces(times[rate], rest.output_tokens)))

    together = ContinuousServer(
        Run(trace=replace(rest, arrivals_s=(0.0,) * len(rest)), server=decoding, step_time=without_prompts)
    ).run()
    rate, limit = largest_rate(missed, full_rate(together.finishes, server.slots))
    found = times.get(rate, [0.0] * len(rest))
    return Stage(
        rate_per_s=rate * len(trace) / len(rest),
        limit=limit,
        p95_s=_p95(_paces(found, rest.output_tokens)),
        mean_s=sum(found) / len(trace),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """*replicas* shared out: so many compute prompts, the others decode. *limit* names the stage that ends the rate."""

    prefill_replicas: int
    decode_replicas: int
    rate_per_s: float
    limit: str

    def without(self, lost: int, prefill: Stage, decode: Stage) -> float:
        """The rate when *lost* replicas of the stage that misses them more are gone, and none changes its task."""
        fewer_prefill = max(0, self.prefill_replicas - lost), self.decode_replicas
        fewer_decode = self.prefill_replicas, max(0, self.decode_replicas - lost)
        return min(
            min(first * prefill.rate_per_s, second * decode.rate_per_s)
            for first, second in (fewer_prefill, fewer_decode)
        )


def best_split(replicas: int, prefill: Stage, decode: Stage) -> Split:
    """The split of *replicas*, at least two, with the largest rate; each stage sees its share of the requests.

    Raises PlannerError for fewer: one replica cannot be two.
    """
    if replicas < 2:
        raise PlannerError("Prefill and decode apart need at least two replicas.")
    splits = []
    for first in range(1, replicas):
        rates = first * prefill.rate_per_s, (replicas - first) * decode.rate_per_s
        stage = prefill if rates[0] <= rates[1] else decode
        name = "prefill" if stage is prefill else "decode"
        limit = f"{name}: {'its rate' if stage.limit == THROUGHPUT else stage.limit}"
        splits.append(
            Split(prefill_replicas=first, decode_replicas=replicas - first, rate_per_s=min(rates), limit=limit)
        )
    return max(splits, key=lambda split: split.rate_per_s)


def _queue(arrivals_s: Sequence[float], services_s: Sequence[float]) -> list[float]:
    """Seconds from arrival to completion in order of arrival (Lindley's recursion)."""
    free = 0.0
    found = []
    for arrival, service in zip(arrivals_s, services_s, strict=True):
        free = max(free, arrival) + service
        found.append(free - arrival)
    return found


def _paces(times_s: Sequence[float], tokens: Sequence[int]) -> list[float]:
    return [time / count for time, count in zip(times_s, tokens, strict=True)]


def _p95(values: Sequence[float]) -> float:
    return percentile(sorted(values), 0.95)
