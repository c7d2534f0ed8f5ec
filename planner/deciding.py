"""Which memory decides a plan: a card's, the machine's own beside it, or the one that both share."""

from collections.abc import Iterable, Iterator
from enum import StrEnum

from planner.budget import State
from planner.deployment import Workload
from planner.line_item import LineItem
from planner.rank_budget import Case, RankBudget, shared_need_bytes
from planner.records import dataclass


class Where(StrEnum):
    """Whose memory it is."""

    CARD = "card"
    HOST = "main memory"
    SHARED = "shared memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciding:
    """The memory with the least to spare, in bytes; negative is short.

    *spare_low_bytes* and *spare_high_bytes* are what is left when every assumed item is large or small. *item* has the
    widest spread of what lies there.
    """

    where: Where
    spare_bytes: int
    spare_low_bytes: int
    spare_high_bytes: int
    item: str
    item_low_bytes: int
    item_high_bytes: int


def deciding(ranks: tuple[RankBudget, ...], workload: Workload, state: State) -> Deciding:
    """Where an uncertain plan fails if it does; of any other the memory with the least to spare."""
    found = list(_memories(ranks, workload))
    if state is State.UNCERTAIN:
        return min(found, key=lambda memory: memory.spare_low_bytes)
    return min(found, key=lambda memory: memory.spare_bytes)


def _memories(ranks: tuple[RankBudget, ...], workload: Workload) -> Iterator[Deciding]:
    tokens = workload.context_tokens
    for rank in ranks:
        requests = rank.requests(workload.users)
        spare = {case: rank.free_bytes(tokens, requests, case) for case in Case}
        yield _memory(Where.CARD, spare, (*rank.items, *rank.buffers(tokens, requests)))
    first = ranks[0]
    requests = first.requests(workload.users)
    beside = first.host_items(tokens, requests)
    shared_bytes, host_bytes = first.deployment.shared_memory_bytes, first.deployment.host_memory_bytes
    if not beside:
        return
    if shared_bytes is not None:
        spare = {case: shared_bytes - shared_need_bytes(first, tokens, requests, case) for case in Case}
        yield _memory(Where.SHARED, spare, (*first.items, *first.buffers(tokens, requests), *beside))
    elif host_bytes is not None:
        yield _memory(Where.HOST, {case: host_bytes - case.of(beside) for case in Case}, beside)


def _memory(where: Where, spare: dict[Case, int], items: Iterable[LineItem]) -> Deciding:
    widest = max(items, key=lambda item: item.high_bytes - item.low_bytes)
    return Deciding(
        where=where,
        spare_bytes=spare[Case.EXPECTED],
        spare_low_bytes=spare[Case.WORST],
        spare_high_bytes=spare[Case.BEST],
        item=widest.name,
        item_low_bytes=widest.low_bytes,
        item_high_bytes=widest.high_bytes,
    )
