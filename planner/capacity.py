"""How much and how many: searches on the budget, with no formula of their own."""

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from planner.budget import Case, RankBudget, holds
from planner.deployment import MAX_TOKENS, MAX_USERS
from planner.errors import PlannerError
from planner.search import largest

T = TypeVar("T")
_ROUNDS = 4
"""After so many a guess is near enough to be searched from."""


def max_context_tokens(ranks: tuple[RankBudget, ...], users: int = 1, case: Case = Case.EXPECTED) -> int | None:
    """The longest context that *users* requests can each have; ``None`` when memory sets no limit.

    A cache that stops growing (windows, states) either never fits or has no longest context.
    """
    if holds(ranks, MAX_TOKENS, users, case):
        return None
    return largest(lambda tokens: holds(ranks, tokens, users, case), MAX_TOKENS, _near(ranks, users, case))


def _near(ranks: tuple[RankBudget, ...], users: int, case: Case) -> int:
    """About the longest context: where caches end beside the buffers, which follow it slowly and cost more to count."""
    found, pools = 0, [rank.pool(case) for rank in ranks]
    for _ in range(_ROUNDS):
        tokens = largest(partial(_caches_fit, ranks, pools, users), MAX_TOKENS, found)
        buffers = [case.of(rank.buffers(tokens, rank.requests(users))) for rank in ranks]
        if tokens == found or not any(buffers):
            return tokens
        found, pools = tokens, [rank.pool(case) - size for rank, size in zip(ranks, buffers, strict=True)]
    return found


def _caches_fit(ranks: tuple[RankBudget, ...], pools: list[int], users: int, tokens: int) -> bool:
    return all(rank.cache_bytes(tokens, rank.requests(users)) <= pool for rank, pool in zip(ranks, pools, strict=True))


def max_users(ranks: tuple[RankBudget, ...], context_tokens: int, case: Case = Case.EXPECTED) -> int | None:
    """The most requests of *context_tokens* that fit at once; ``None`` when a request keeps nothing at all."""
    if holds(ranks, context_tokens, MAX_USERS, case):
        return None
    return largest(lambda users: holds(ranks, context_tokens, users, case), MAX_USERS)


def concurrency(ranks: tuple[RankBudget, ...], context_tokens: int) -> float:
    """How many requests of *context_tokens* the pools hold, in fractions: ``max_users`` is its whole part.

    Infinite where a request keeps nothing; 0 where weights and runtime do not fit.
    """
    held = math.inf
    for rank in ranks:
        if rank.pool_bytes < 0:
            return 0
        held = min(held, _requests(rank, context_tokens))
    return held


def _requests(rank: RankBudget, tokens: int) -> float:
    """As many requests as fit, and the part of the next one that the rest would hold."""
    whole = largest(lambda requests: rank.need_bytes(tokens, requests) <= rank.pool_bytes, MAX_USERS)
    used_bytes = rank.need_bytes(tokens, whole) if whole else 0
    next_bytes = rank.need_bytes(tokens, whole + 1) - used_bytes
    return whole + max(0, rank.pool_bytes - used_bytes) / next_bytes if next_bytes else math.inf


def all_that_go(attempts: Iterable[Callable[[], T]]) -> list[T]:
    """What those *attempts* give that an engine does not refuse; raises the first refusal where it refuses each."""
    found: list[T] = []
    refusals: list[PlannerError] = []
    for attempt in attempts:
        try:
            found.append(attempt())
        except PlannerError as refusal:
            refusals.append(refusal)
    if refusals and not found:
        raise refusals[0]
    return found
