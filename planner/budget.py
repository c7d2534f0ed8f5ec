"""Adds up one device's memory and decides whether what was asked fits."""

from collections.abc import Iterator
from enum import StrEnum

from planner.architecture import Architecture
from planner.deployment import Deployment, Workload
from planner.engines.base import Pool
from planner.line_item import Basis, Kind, LineItem
from planner.rank_budget import OUTSIDE, Case, RankBudget, shared_need_bytes
from planner.rank_items import on_device, prepare
from planner.records import dataclass

__all__ = [
    "DRAFT_CACHE", "OUTSIDE", "TIGHT_TOKENS", "Case", "MemoryBudget", "RankBudget", "State",
    "budget_for", "holds", "host_holds", "on_device", "plan", "pools", "prepare",
]  # fmt: skip

DRAFT_CACHE = "draft cache"
"""The item for what a draft keeps of every request."""
TIGHT_TOKENS = 2_048
"""With fewer tokens left than this a model that loads is of no use: *tight*, not *no*."""


class State(StrEnum):
    """The answer in a word. *tight*: loads, but what was asked does not fit and under 2,048 tokens are left."""

    FITS = "fits"
    TIGHT = "tight"
    NO = "no"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBudget:
    """Every byte of the fullest device, and the answer.

    *items* add up to *total_bytes*; *free_bytes* is negative by what is short; *host_items* lie in the machine's own
    memory. *ranks* are all different devices, for searches. *loads*: weights and runtime alone fit; *fits*: what was
    asked fits as well.
    """

    workload: Workload
    ranks: tuple[RankBudget, ...]
    rank: RankBudget
    items: tuple[LineItem, ...]
    host_items: tuple[LineItem, ...]
    weights_bytes: int
    kv_request_bytes: int
    total_bytes: int
    free_bytes: int
    loads: bool
    fits: bool
    state: State


def plan(architecture: Architecture, deployment: Deployment, workload: Workload) -> MemoryBudget:
    """The budget of the fullest device for *workload*.

    A plan that does not fit is an answer; PlannerError is only for what makes no sense.
    """
    return budget_for(prepare(architecture, deployment), workload)


def budget_for(ranks: tuple[RankBudget, ...], workload: Workload) -> MemoryBudget:
    """The same from prepared ranks: many workloads for one deployment cost one preparation."""
    tokens, users = workload.context_tokens, workload.users
    fullest = min(ranks, key=lambda rank: rank.free_bytes(tokens, rank.requests(users)))
    kv_request_bytes = fullest.request_bytes(tokens)
    requests = fullest.requests(users)
    asked = (*fullest.buffers(tokens, requests), *_cache_items(fullest, tokens, requests))
    items = (*fullest.idle_items(sum(item.bytes for item in asked)), *asked)
    total_bytes = sum(item.bytes for item in items)
    loads = all(rank.pool_bytes >= 0 for rank in ranks)
    return MemoryBudget(
        workload=workload,
        ranks=ranks,
        rank=fullest,
        items=items,
        host_items=fullest.host_items(tokens, requests),
        weights_bytes=sum(item.bytes for item in items if item.kind is Kind.WEIGHTS),
        kv_request_bytes=kv_request_bytes,
        total_bytes=total_bytes,
        free_bytes=fullest.memory_bytes - total_bytes,
        loads=loads,
        fits=holds(ranks, tokens, users),
        state=_state(ranks, workload, loads),
    )


def _cache_items(rank: RankBudget, tokens: int, requests: int) -> Iterator[LineItem]:
    """The model's cache, and beside it the draft's where it has one."""
    parts = [("cache", rank.specs)] + ([(DRAFT_CACHE, rank.draft_specs)] if rank.draft_specs else [])
    for name, specs in parts:
        request_bytes = rank.engine.sequence_bytes(specs, tokens)
        size = rank.engine.cache_bytes(specs, rank.deployment, tokens, requests)
        most = "" if size == requests * request_bytes else f", at most {size:,} B as the engine holds them"
        yield LineItem(
            name=name,
            kind=Kind.CACHE,
            bytes=size,
            basis=Basis.ASSUMED if rank.architecture.assumed else rank.engine.cache_basis,
            source=f"{requests:,} × {request_bytes:,} B for {tokens:,} tokens each{most}",
        )


def holds(ranks: tuple[RankBudget, ...], tokens: int, users: int, case: Case = Case.EXPECTED) -> bool:
    """Whether *users* requests of *tokens* fit in every device's pool, and beside it in the machine's own memory."""
    on_cards = all(rank.holds(tokens, rank.requests(users), case) for rank in ranks)
    return on_cards and host_holds(ranks[0], tokens, users, case)


def host_holds(rank: RankBudget, tokens: int, users: int, case: Case = Case.EXPECTED) -> bool:
    """Whether the machine's own memory holds what lies there, beside the card's part where both share it.

    Of a machine where each has its own nothing is asked unless its size is stated.
    """
    requests, shared_bytes = rank.requests(users), rank.deployment.shared_memory_bytes
    if shared_bytes is not None:
        return shared_need_bytes(rank, tokens, requests, case) <= shared_bytes
    memory_bytes = rank.deployment.host_memory_bytes
    return memory_bytes is None or case.of(rank.host_items(tokens, requests)) <= memory_bytes


def _state(ranks: tuple[RankBudget, ...], workload: Workload, loads: bool) -> State:
    tokens, users = workload.context_tokens, workload.users
    if holds(ranks, tokens, users, Case.WORST):
        return State.FITS
    if holds(ranks, tokens, users, Case.BEST):
        return State.UNCERTAIN
    if loads and not holds(ranks, TIGHT_TOKENS, 1) and host_holds(ranks[0], TIGHT_TOKENS, 1):
        return State.TIGHT
    return State.NO


def pools(ranks: tuple[RankBudget, ...], case: Case = Case.EXPECTED) -> tuple[Pool, ...]:
    """What an engine's report is made from."""
    return tuple(Pool(rank=rank.rank, pool_bytes=rank.pool(case)) for rank in ranks)
