"""Static batching: a batch starts together and ends with its longest answer."""

from planner.batching.outcome import Bar, Timings
from planner.batching.run import Run
from planner.batching.server import Server
from planner.batching.step_time import TICKS_PER_S
from planner.batching.trace import Trace


def run_static(run: Run) -> Timings:
    """Batch after batch. All prompts of one are computed in its first step; then every slot computes a token a step
    until the longest answer is complete, those that are done included. All answers are handed over at the end.
    """
    trace, server, step_time = run.trace, run.server, run.step_time
    count = len(trace)
    prompts, outputs = trace.prompt_tokens, trace.output_tokens
    arrivals = run.arrivals()
    timings = Timings(arrivals=arrivals, starts=[0] * count, first_tokens=[0] * count, finishes=[0] * count)
    now = first = 0
    while first < count:
        now = max(now, arrivals[first])
        if server.wait_to_fill:
            now = max(now, arrivals[min(first + server.slots, len(arrivals)) - 1])
        last = _batch_end(first, now, arrivals, trace, server)
        size = last - first
        prompt_tokens = sum(prompts[first:last]) - size * server.shared_tokens
        longest = max(outputs[first:last])
        begin = now
        now += step_time.by_sequences[size] + step_time.per_prompt_token * prompt_tokens
        first_token = now
        cached = sum(prompts[first:last]) + size
        now += step_time.steps(longest - 1, size, cached)
        for request in range(first, last):
            timings.starts[request], timings.first_tokens[request] = begin, first_token
            timings.finishes[request] = now
            if request < run.bar_requests:
                done = first_token + step_time.steps(outputs[request] - 1, size, cached)
                timings.bars += _bars(request, request - first, (begin, first_token, done, now))
        if run.closed_loop_users is not None:
            arrivals += [now] * min(size, count - len(arrivals))
        timings.busy += size * (now - begin)
        timings.steps += longest
        first = last
        if run.progress:
            run.progress(first)
    return timings


def _batch_end(first: int, now: int, arrivals: list[int], trace: Trace, server: Server) -> int:
    """One past the last request of the batch: present, in a free slot, with room for its whole length in the pool."""
    last, free = first, server.pool_blocks
    if free is not None:
        free -= server.shared_blocks
    while last < len(arrivals) and last - first < server.slots and arrivals[last] <= now:
        if free is not None:
            free -= server.own_blocks(trace.prompt_tokens[last] + trace.output_tokens[last])
            if free < 0:
                break
        last += 1
    return last


def _bars(request: int, slot: int, moments: tuple[int, int, int, int]) -> list[Bar]:
    seconds = [moment / TICKS_PER_S for moment in moments]
    phases = ("prefill", "decode", "waiting")
    return [
        Bar(request=request, slot=slot, phase=phase, start_s=start, end_s=end)
        for phase, start, end in zip(phases, seconds, seconds[1:], strict=False)
        if end > start
    ]
