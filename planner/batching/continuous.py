"""Continuous batching over a paged pool, jumping from event to event: an arrival, an answer's end, a full pool.

Between two events every step is alike but for the growing caches, so any number of them costs the same to simulate.
tests/batching/naive_server.py does the same token by token; both give equal ticks.
"""

from heapq import heappop

from planner.batching.outcome import Timings
from planner.batching.residents import Residents
from planner.search import largest

_ENDLESS = 2**62


class ContinuousServer(Residents):
    """The state between two steps; ``run()`` it once.

    A step: every decoding request gets a token, and with it a block where its last one is full. If the pool has none,
    somebody is evicted. Then, unless somebody was, requests join; prompts are computed, and a request whose prompt is
    complete has its first token at the step's end.
    """

    def run(self) -> Timings:
        count = len(self.finishes)
        while self.done < count:
            if not self.decoding and not self.prefilling and not self.returning:
                self.now = max(self.now, self.arrivals[self.next])
            evicted = self._make_room()
            if not evicted:
                self._admit()
            if self.prefilling:
                self._mixed_step()
            elif self.decoding:
                self._decode_steps(1 if evicted else self._steps_to_event())
            self._finish()
        return Timings(
            arrivals=self.arrivals,
            starts=self.starts,
            first_tokens=self.first_tokens,
            finishes=self.finishes,
            busy=self.busy,
            steps=self.step,
            preemptions=self.preemptions,
            waits_for_pool=self.waits_for_pool,
            tiers=[tier.use() for tier in self.tiers],
            bars=self.bars,
        )

    def _mixed_step(self) -> None:
        """One step: a token for every decoding request, and prompts in order as far as the budget goes."""
        step_time, decoding = self.step_time, self.decoding
        self.pool.take(self.pool.needed(self.step, 1))
        limit = self.server.max_num_batched_tokens
        budget = _ENDLESS if limit is None else limit - decoding
        prompt_tokens = chunks = read = 0
        complete: list[int] = []
        while self.prefilling and budget > 0:
            request, remaining = self.prefilling[0]
            chunk = min(remaining, budget)
            read += self.prompts[request] + self.generated[request] - remaining
            budget -= chunk
            prompt_tokens += chunk
            chunks += 1
            if chunk < remaining:
                self.prefilling[0] = (request, remaining - chunk)
                break
            self.prefilling.popleft()
            complete.append(request)
        self.cached_tokens += decoding
        self.now += (
            step_time.by_sequences[decoding + chunks]
            + step_time.per_context_token * (self.cached_tokens + read)
            + step_time.per_prompt_token * prompt_tokens
        )
        self.step += 1
        for request in complete:
            # The step gave it its first token, or the next one after an eviction.
            self.generated[request] += 1
            if self.first_tokens[request] < 0:
                self.first_tokens[request] = self.now
            self._start_decoding(request)

    def _decode_steps(self, steps: int) -> None:
        """*steps* steps in which nobody joins, leaves or is evicted."""
        self.pool.take(self.pool.needed(self.step, steps))
        decoding = self.decoding
        self.now += self.step_time.steps(steps, decoding, self.cached_tokens + decoding)
        self.cached_tokens += steps * decoding
        self.step += steps

    def _steps_to_event(self) -> int:
        """Steps until an answer is complete, the pool is full, or the first in line has arrived and finds a slot."""
        ends, pool = self.ends, self.pool
        while self.ends_at[ends[0][1]] != ends[0][0]:
            heappop(ends)
        steps = ends[0][0] - self.step
        if pool.needed(self.step, steps) > pool.free:
            steps = largest(lambda count: pool.needed(self.step, count) <= pool.free, steps)
        if not self.returning and self.decoding < self.server.slots and self.next < len(self.arrivals):
            wait = self.arrivals[self.next] - self.now
            read = self.cached_tokens + self.decoding
            if 0 < wait < self.step_time.steps(steps, self.decoding, read):
                steps = min(steps, self.step_time.steps_until(wait, self.decoding, read))
        return steps

    def _finish(self) -> None:
        """Lets go of the requests whose answer is complete; in a closed loop their users ask again at once."""
        ends = self.ends
        while ends and ends[0][0] <= self.step:
            end, request = heappop(ends)
            if self.ends_at[request] != end:
                continue
            self._stop_decoding(request)
            self.finishes[request] = self.now
            self.done += 1
            if self.is_closed and len(self.arrivals) < len(self.finishes):
                self.arrivals.append(self.now)
            if self.progress:
                self.progress(self.done)
