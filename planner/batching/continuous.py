"""Continuous batching over a paged pool, jumping from event to event: an arrival, an answer's end, a full pool.

Between two events every step is alike but for the growing caches, so any number of them costs the same to simulate.
tests/batching/naive_server.py does the same token by token; both give equal ticks.
"""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush

from planner.batching.outcome import Bar, Timings
from planner.batching.server import Server
from planner.batching.step_time import TICKS_PER_S, StepTime, known_arrivals
from planner.batching.tiers import TierPool
from planner.batching.trace import Trace
from planner.capacity import largest
from planner.paging import BlockPool

_ENDLESS = 2**62


class ContinuousServer:
    """The state between two steps; ``run()`` it once.

    A step: every decoding request gets a token, and with it a block where its last one is full. If the pool has none,
    the request that joined last is evicted, to come back first. Then, unless somebody was evicted, requests join in
    order of arrival while there are slots, and blocks for the first one's prompt; prompts are computed, and a request
    whose prompt is complete has its first token at the step's end.
    """

    def __init__(
        self,
        trace: Trace,
        server: Server,
        step_time: StepTime,
        closed_loop_users: int | None = None,
        bar_requests: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        count = len(trace)
        self.prompts, self.outputs = trace.prompt_tokens, trace.output_tokens
        self.server, self.step_time = server, step_time
        self.pool = BlockPool(server.block_tokens, server.pool_blocks, server.shared_blocks)
        self.tiers = [TierPool(tier) for tier in server.tiers]
        self.kept: dict[int, TierPool] = {}  # evicted requests whose cache was copied away
        self.is_closed = closed_loop_users is not None
        self.bar_requests, self.progress = bar_requests, progress
        self.arrivals = known_arrivals(trace, closed_loop_users)
        self.starts, self.first_tokens, self.finishes = [-1] * count, [-1] * count, [0] * count
        self.generated = [0] * count  # tokens answered when the request last joined or left
        self.joined = [0] * count  # the step after which it decodes
        self.ends_at = [-1] * count  # the step with which its answer is complete; -1: not decoding
        self.admitted = [-1] * count  # when it took its slot; -1: not resident
        self.now = self.step = self.done = self.next = 0
        self.decoding = self.cached_tokens = 0
        self.returning: deque[int] = deque()  # evicted requests, the first to come back first
        self.prefilling: deque[tuple[int, int]] = deque()  # requests with the prompt tokens still to compute
        self.ends: list[tuple[int, int]] = []  # a heap of (step, request); stale where ends_at differs
        self.joiners: list[int] = []  # residents in the order in which they joined, with stale ones
        self.busy = self.preemptions = 0
        self.free_slots = list(range(server.slots))
        self.slot = [0] * count
        self.bars: list[Bar] = []
        self.decode_starts: dict[int, int] = {}

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
            tiers=[tier.use() for tier in self.tiers],
            bars=self.bars,
        )

    def _make_room(self) -> bool:
        """Evicts until the next step's blocks are there; whether anybody was."""
        evicted = False
        while self.pool.needed(self.step, 1) > self.pool.free:
            self._evict()
            evicted = True
        return evicted

    def _evict(self) -> None:
        request = self.joiners.pop()
        while self.admitted[request] < 0:
            request = self.joiners.pop()
        if self.ends_at[request] < 0:
            self.prefilling = deque(entry for entry in self.prefilling if entry[0] != request)
            self.pool.free += self.server.own_blocks(self.prompts[request] + self.generated[request])
            self._free_slot(request)
        else:
            self._stop_decoding(request)
            self._copy_away(request)
        self.returning.appendleft(request)
        self.preemptions += 1

    def _admit(self) -> None:
        """Lets requests in while the first in line finds a slot and blocks for all that it has to cache."""
        arrivals, server = self.arrivals, self.server
        resident = self.decoding + len(self.prefilling)
        needed = self.pool.needed(self.step, 1)
        while resident < server.slots:
            if self.returning:
                request = self.returning[0]
            elif self.next < len(arrivals) and arrivals[self.next] <= self.now:
                request = self.next
            else:
                return
            tokens = self.prompts[request] + self.generated[request]
            grows = False
            if request in self.kept:
                tokens -= 1
                grows = tokens % server.block_tokens == 0
            blocks = server.own_blocks(tokens)
            if blocks + grows > self.pool.free - needed:
                return
            if self.returning:
                self.returning.popleft()
            else:
                self.next += 1
            self.pool.take(blocks)
            needed += grows
            self._join(request, tokens)
            resident += 1

    def _copy_away(self, request: int) -> None:
        """Its cache goes to the first tier with room; without one it is dropped."""
        tokens = self.prompts[request] + self.generated[request] - 1
        blocks = self.server.own_blocks(tokens)
        for tier in self.tiers:
            if tier.free >= blocks:
                tier.take(blocks)
                self.kept[request] = tier
                self.now += tier.copy_ticks * (tokens - self.server.shared_tokens)
                return

    def _join(self, request: int, tokens: int) -> None:
        """*request* takes a slot, to compute *tokens*; one whose cache was copied away has it back and goes on."""
        if self.starts[request] < 0:
            self.starts[request] = self.now
        self.admitted[request] = self.now
        self.joiners.append(request)
        self.slot[request] = heappop(self.free_slots)
        tier = self.kept.pop(request, None)
        if tier is not None:
            tier.free += self.server.own_blocks(tokens)
            self.now += tier.copy_ticks * (tokens - self.server.shared_tokens)
            self._start_decoding(request)
        else:
            self.prefilling.append((request, tokens - self.server.shared_tokens))

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

    def _start_decoding(self, request: int) -> None:
        """From the next step on *request* gets a token a step; its last one so far is not in the cache yet."""
        generated = self.generated[request]
        cached = self.prompts[request] + generated - 1
        end = self.step + self.outputs[request] - generated
        self.joined[request] = self.step
        self.ends_at[request] = end
        heappush(self.ends, (end, request))
        self.pool.grow(cached - self.server.shared_tokens, self.step)
        self.cached_tokens += cached
        self.decoding += 1
        if request < self.bar_requests:
            self._bar(request, "prefill", self.admitted[request])
            self.decode_starts[request] = self.now

    def _stop_decoding(self, request: int) -> None:
        """*request* gives back its slot and blocks, its answer complete or not."""
        steps = self.step - self.joined[request]
        before = self.prompts[request] + self.generated[request] - 1
        shared = self.server.shared_tokens
        self.pool.release(before - shared, before + steps - shared, self.step)
        self.generated[request] += steps
        self.ends_at[request] = -1
        self.cached_tokens -= before + steps
        self.decoding -= 1
        if request < self.bar_requests:
            self._bar(request, "decode", self.decode_starts[request])
        self._free_slot(request)

    def _free_slot(self, request: int) -> None:
        self.busy += self.now - self.admitted[request]
        self.admitted[request] = -1
        heappush(self.free_slots, self.slot[request])

    def _bar(self, request: int, phase: str, start: int) -> None:
        if self.now > start:
            start_s, end_s = start / TICKS_PER_S, self.now / TICKS_PER_S
            self.bars.append(Bar(request=request, slot=self.slot[request], phase=phase, start_s=start_s, end_s=end_s))
