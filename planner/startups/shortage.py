"""How much memory was missing when an allocation failed, and how far the start had come."""

from collections.abc import Iterable
from enum import Enum
from math import ceil, floor

from planner.budget import OUTSIDE
from planner.line_item import LineItem
from planner.logs.devices import LLAMA_CPP, cards
from planner.logs.readings import ALLOCATED, GRAPHS, LOADED, PROFILED, Start

AFTER_POOL = ("warming up sampler", GRAPHS)
"""What is allocated once the cache has its place."""
BESIDE_BUFFERS = ("context", OUTSIDE)
"""Items of a plan that are none of the buffers that llama.cpp prints."""
_PRINTED_WITH_POOL = ("pool", "pool_tokens", "blocks", "free_after_pool", "graphs", "suggested_pool")
_BUFFERS = ("weights", "cache", "states", "compute", "output")


class Stage(Enum):
    """How far a start had come when memory ran out: with weights, a trial pass, or the cache in its place.

    *LOADING* is one of the first two, where the log does not say which.
    """

    NO_SHORTAGE = 0
    LOADING = 1
    WEIGHTS = 2
    TRIAL_PASS = 3
    AFTER_POOL = 4


def stage_of(start: Start) -> Stage:
    """Where an allocation of *start* failed."""
    if start.failure is None or start.failure.kind != "memory":
        return Stage.NO_SHORTAGE
    work = start.settings.get(ALLOCATED)
    if work in AFTER_POOL or any(start.least(name) is not None for name in _PRINTED_WITH_POOL):
        return Stage.AFTER_POOL
    if work == PROFILED or (start.engine == "vllm" and start.least("weights") is not None):
        return Stage.TRIAL_PASS
    return Stage.WEIGHTS if work == LOADED else Stage.LOADING


def shortage_bytes(start: Start) -> int | None:
    """What the failed allocation asked for beyond what was left; all of it where that is not printed.

    llama.cpp prints what was free at first and each buffer since: on one card the rest was left.
    """
    if stage_of(start) is Stage.NO_SHORTAGE or (asked := start.most("allocation")) is None:
        return None
    left = start.least("left")
    if start.engine in LLAMA_CPP and len(free := cards(start, "free")) == 1:
        return max(0, round(asked.value + _taken(start) - next(iter(free.values())).value))
    return max(0, round(asked.value - (0 if left is None else left.value)))


def knows_what_was_left(start: Start) -> bool:
    """Whether the log says what was left for the allocation that failed, and not only what that asked for."""
    return start.least("left") is not None or len(cards(start, "free")) == 1


def beyond_refused(start: Start, items: Iterable[LineItem]) -> int:
    """What a plan of *items* takes beyond what llama.cpp's only card gave, whatever was free at first.

    That is less than all that it had given with the buffer that it refused.
    """
    if stage_of(start) is Stage.NO_SHORTAGE or len(cards(start, "free")) != 1:
        return 0
    asked = start.most("allocation")
    counted = sum(item.bytes for item in items if item.name not in BESIDE_BUFFERS)
    return 0 if asked is None else max(0, round(counted - asked.value - _taken(start)) + 1)


def _taken(start: Start) -> float:
    return sum(reading.value for name in _BUFFERS for reading in cards(start, name).values())


def share_below(share: float) -> float:
    """*share* in hundredths, rounded down.

    >>> share_below(0.9 - 0.02 - 0.01)
    0.87
    """
    return floor(round(100 * share, 6)) / 100


def free_share(start: Start) -> float | None:
    """What was free of the card, in hundredths that no rounding of what is printed makes too large.

    ``None`` where one of the two is not printed.
    """
    free, card = start.least("free"), start.most("card")
    if free is None or card is None or card.value <= 0:
        return None
    return share_below(max(0, free.value - free.step / 2) / (card.value + card.step / 2))


def share_above(share: float) -> float:
    """*share* in hundredths, rounded up.

    >>> share_above(0.1 + 0.2)
    0.3
    """
    return ceil(round(100 * share, 6)) / 100
