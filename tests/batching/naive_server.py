"""The schedules token by token, with nothing clever: what the event-driven server must equal to the tick."""

from dataclasses import dataclass

from planner.batching.server import Schedule, Server
from planner.batching.step_time import TICKS_PER_S, StepTime
from planner.batching.trace import Trace


@dataclass(slots=True, kw_only=True)
class Request:
    """One request: *cached* tokens are in blocks, *todo* prompt tokens are still to compute."""

    index: int
    prompt: int
    output: int
    arrival: int
    generated: int = 0
    cached: int = 0
    todo: int = 0
    blocks: int = 0
    start: int = -1
    first_token: int = -1
    finish: int = -1


class NaiveServer:
    """*free* blocks must come back to *pool* when everybody has left. *preemptions* counts evictions."""

    def __init__(self, trace: Trace, server: Server, step_time: StepTime, closed_loop_users: int | None = None) -> None:
        self.server, self.step_time = server, step_time
        self.requests = [
            Request(index=index, prompt=prompt, output=output, arrival=round(arrival * TICKS_PER_S))
            for index, (arrival, prompt, output) in enumerate(
                zip(trace.arrivals_s, trace.prompt_tokens, trace.output_tokens, strict=True)
            )
        ]
        self.future = list(self.requests)
        if closed_loop_users is not None:
            for request in self.requests:
                request.arrival = 0 if request.index < closed_loop_users else 10**30
        self.is_closed = closed_loop_users is not None
        self.queue: list[Request] = []
        self.running: list[Request] = []  # in the order in which they joined
        self.pool = (10**12 if server.pool_blocks is None else server.pool_blocks) - server.shared_blocks
        self.free = self.pool
        self.now = 0
        self.steps = 0
        self.preemptions = 0
        self.room = [10**12 if tier.blocks is None else tier.blocks for tier in server.tiers]
        self.kept: dict[int, int] = {}  # by request, the tier that has its cache

    def run(self) -> list[Request]:
        while self.future or self.queue or self.running:
            if not self.queue and not self.running:
                self.now = max(self.now, self.future[0].arrival)
            while self.future and self.future[0].arrival <= self.now:
                self.queue.append(self.future.pop(0))
            if self.server.schedule is Schedule.STATIC:
                self.static_batch()
            else:
                self.one_step()
        return self.requests

    def own_blocks(self, tokens: int) -> int:
        return self.server.own_blocks(tokens)

    def decoding(self) -> list[Request]:
        return [request for request in self.running if request.todo == 0]

    def wanted(self) -> int:
        return sum(self.own_blocks(request.cached + 1) - request.blocks for request in self.decoding())

    def one_step(self) -> None:
        evicted = self.evict()
        while not evicted and self.queue and len(self.running) < self.server.slots:
            if not self.admit(self.queue[0]):
                break
            self.queue.pop(0)
        read = prompt_tokens = sequences = 0
        spent = 0
        tokens_for = self.decoding()
        for request in tokens_for:
            self.grow(request, request.cached + 1)
            read += request.cached
            sequences += 1
            spent += 1
        for request in list(self.running):
            budget = self.server.max_num_batched_tokens
            chunk = request.todo if budget is None else min(request.todo, budget - spent)
            if chunk > 0:
                read += request.prompt + request.generated - request.todo
                request.todo -= chunk
                spent += chunk
                prompt_tokens += chunk
                sequences += 1
                if request.todo == 0:
                    tokens_for.append(request)
        self.now += (
            self.step_time.by_sequences[sequences]
            + self.step_time.per_context_token * read
            + self.step_time.per_prompt_token * prompt_tokens
        )
        self.steps += 1
        for request in tokens_for:
            self.give_token(request)

    def evict(self) -> bool:
        before = self.preemptions
        while self.wanted() > self.free:
            request = self.running.pop()
            if request.todo == 0:
                self.copy_away(request)
            self.release(request)
            self.queue.insert(0, request)
            self.preemptions += 1
        return self.preemptions > before

    def copy_away(self, request: Request) -> None:
        for index, tier in enumerate(self.server.tiers):
            if self.room[index] >= request.blocks:
                self.room[index] -= request.blocks
                self.kept[request.index] = index
                copied = request.cached - self.server.shared_tokens
                self.now += round(tier.copy_s_per_token * TICKS_PER_S) * copied
                return

    def admit(self, request: Request) -> bool:
        if request.index in self.kept:
            tokens = request.prompt + request.generated - 1
            if self.own_blocks(tokens + 1) > self.free - self.wanted():
                return False
            request.cached, request.todo = tokens, 0
            request.blocks = self.own_blocks(tokens)
            index = self.kept.pop(request.index)
            self.room[index] += request.blocks
            copied = tokens - self.server.shared_tokens
            cost = round(self.server.tiers[index].copy_s_per_token * TICKS_PER_S) * copied
        else:
            tokens = request.prompt + request.generated
            if self.own_blocks(tokens) > self.free - self.wanted():
                return False
            request.todo = tokens - self.server.shared_tokens
            request.cached = tokens
            request.blocks = self.own_blocks(tokens)
            cost = 0
        self.free -= request.blocks
        self.running.append(request)
        if request.start < 0:
            request.start = self.now
        self.now += cost
        for late in list(self.future):
            if late.arrival <= self.now:
                self.queue.append(late)
                self.future.remove(late)
        return True

    def grow(self, request: Request, tokens: int) -> None:
        blocks = self.own_blocks(tokens)
        self.free -= blocks - request.blocks
        assert self.free >= 0
        request.cached, request.blocks = tokens, blocks

    def give_token(self, request: Request) -> None:
        request.generated += 1
        if request.first_token < 0:
            request.first_token = self.now
        if request.generated == request.output:
            request.finish = self.now
            self.running.remove(request)
            self.release(request)
            self.next_in_loop()

    def next_in_loop(self) -> None:
        if self.is_closed and self.future:
            waiting = [request for request in self.future if request.arrival > self.now]
            if waiting:
                waiting[0].arrival = self.now

    def release(self, request: Request) -> None:
        self.free += request.blocks
        request.blocks = request.cached = request.todo = 0

    def static_batch(self) -> None:
        slots = self.server.slots
        if self.server.wait_to_fill:
            missing = slots - len(self.queue)
            known = [request for request in self.future if request.arrival < 10**30]
            for request in known[: max(0, missing)]:
                self.now = max(self.now, request.arrival)
                self.queue.append(request)
                self.future.remove(request)
        batch: list[Request] = []
        room = self.pool
        while self.queue and len(batch) < slots:
            room -= self.own_blocks(self.queue[0].prompt + self.queue[0].output)
            if room < 0:
                break
            batch.append(self.queue.pop(0))
        size = len(batch)
        for request in batch:
            request.start = self.now
        computed = sum(request.prompt - self.server.shared_tokens for request in batch)
        self.now += self.step_time.by_sequences[size] + self.step_time.per_prompt_token * computed
        for request in batch:
            request.first_token = self.now
        read = sum(request.prompt for request in batch)
        for _ in range(max(request.output for request in batch) - 1):
            read += size
            self.now += self.step_time.by_sequences[size] + self.step_time.per_context_token * read
        self.steps += max(request.output for request in batch)
        for request in batch:
            request.finish = self.now
            self.next_in_loop()
