"""A start of vLLM whose cache was given a size: that size changes it, and no share of the card does."""

from collections.abc import Iterator

from planner import presets
from planner.answers.answer import Answer
from planner.budget import OUTSIDE
from planner.errors import PlannerError
from planner.inputs.choices import choose
from planner.line_item import Kind
from planner.logs.readings import Start
from planner.rank_budget import REST_OF_POOL
from planner.startups.larger_shares import Change
from planner.startups.printed_figures import change
from planner.startups.shortage import shortage_bytes
from planner.startups.trial import PLANNER, Failed, Try
from planner.tuning import SET_POOL, pool_words, rounded_pool, with_setting, without_settings
from planner.units import format_bytes

OPTION = "--kv-cache-memory-bytes"
LEAVE_OUT = f"Without {SET_POOL}"
MARGIN = 0.01
"""Of the card, left free beside what was missing when memory ran out with the cache in its place."""


def set_pool(start: Start) -> int | None:
    """The size that *start* gives its cache, in bytes; ``None`` where it gives none."""
    text = start.settings.get(SET_POOL, "")
    if start.engine != "vllm" or text in ("", "None"):
        return None
    try:
        return int(presets.engine_data("vllm").settings[SET_POOL].parse("".join(text.split())))
    except PlannerError:
        return None


def most_pool_bytes(start: Start, before: Answer) -> int:
    """What weights and runtime of the plan leave of what was free when it started, or of the card."""
    free = start.least("free")
    memory_bytes = before.memory_bytes if free is None else int(free.value)
    beside = (item for item in before.items if item.kind is not Kind.CACHE and item.name not in (OUTSIDE, REST_OF_POOL))
    return memory_bytes - sum(item.bytes for item in beside)


def pool_changes(start: Start, failed: Failed, before: Answer) -> Iterator[Change]:
    """A larger size, as far as what was free allows, or none."""
    size = size_planned(failed)
    if size is None:
        return
    wanted = rounded_pool(size + max(-before.free_bytes, _short_bytes(start)))
    most = rounded_pool(most_pool_bytes(start, before), up=False)
    if size < min(wanted, most):
        larger = min(wanted, most)
        words = f"{pool_words(larger, size)}; weights and runtime leave {format_bytes(most)}"
        yield SET_POOL, words, PLANNER, with_setting(failed.choices, SET_POOL, larger)
    yield LEAVE_OUT, LEAVE_OUT, PLANNER, without_settings(failed.choices, SET_POOL)


def smaller_pool(start: Start, failed: Failed) -> Iterator[Change]:
    """What else is asked for once the cache has its place lies beside it."""
    size, missing = size_planned(failed), shortage_bytes(start)
    if size is None or missing is None:
        return
    smaller = rounded_pool(size - missing - _margin_bytes(start, size), up=False)
    if smaller > 0:
        yield SET_POOL, pool_words(smaller, size), PLANNER, with_setting(failed.choices, SET_POOL, smaller)


def printed_pool_changes(size: int, request_bytes: float) -> Iterator[Try]:
    """The same by what is printed alone, which does not say what weights and runtime leave."""
    wanted = rounded_pool(request_bytes)
    yield change(pool_words(wanted, size), f"{OPTION} {wanted}", starts=False)
    yield change(f"{LEAVE_OUT}: what its share of the card leaves is the cache then", "", starts=False)


def printed_smaller_pool(start: Start, size: int) -> Iterator[Try]:
    """The same of a start that ran out of memory with its cache in its place."""
    missing = shortage_bytes(start)
    smaller = 0 if missing is None else rounded_pool(size - missing - _margin_bytes(start, size), up=False)
    if smaller > 0:
        yield change(pool_words(smaller, size), f"{OPTION} {smaller}", starts=False)


def size_planned(failed: Failed) -> int | None:
    """The size in the plan of the start that failed."""
    return choose(failed.choices, failed.architecture).deployment.settings.values.get(SET_POOL)


def _short_bytes(start: Start) -> float:
    """What one request lacks by what is printed."""
    request, pool = start.most("request"), start.least("pool")
    if request is None or request.unit != "bytes" or pool is None:
        return 0
    return request.value - pool.value


def _margin_bytes(start: Start, size: int) -> float:
    card = start.most("card")
    return MARGIN * (size if card is None else card.value)
