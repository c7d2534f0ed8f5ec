"""Who holds a slot and blocks of the pool, and who waits: the part of a continuous server that takes no time."""

from collections import deque
from heapq import heappop, heappush

from planner.batching.outcome import Bar
from planner.batching.run import Run
from planner.batching.step_time import TICKS_PER_S
from planner.batching.tiers import TierPool
from planner.paging import BlockPool


class Residents:
    """The requests of a continuous server between two steps.

    Requests join in order of arrival while there are slots, and blocks for the first one's prompt; those that were
    evicted come back first. Where the pool has no block for the next token, the request that joined last is evicted.
    """

    def __init__(self, run: Run) -> None:
        trace, server = run.trace, run.server
        count = len(trace)
        self.prompts, self.outputs = trace.prompt_tokens, trace.output_tokens
        self.server, self.step_time = server, run.step_time
        self.pool = BlockPool(server.block_tokens, server.pool_blocks, server.shared_blocks)
        self.tiers = [TierPool(tier) for tier in server.tiers]
        self.kept: dict[int, TierPool] = {}  # evicted requests whose cache was copied away
        self.is_closed = run.closed_loop_users is not None
        self.bar_requests, self.progress = run.bar_requests, run.progress
        self.arrivals = run.arrivals()
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
        self.waits_for_pool = False
        self.free_slots = list(range(server.slots))
        self.slot = [0] * count
        self.bars: list[Bar] = []
        self.decode_starts: dict[int, int] = {}

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
                self.waits_for_pool = True
                return
            if self.returning:
                self.returning.popleft()
            else:
                self.next += 1
            self.pool.take(blocks)
            needed += grows
            self._join(request, tokens)
            resident += 1

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
