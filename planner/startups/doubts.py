"""Why a plan may not be of the start in the log: figures that both have, and that differ by more than rounding."""

from collections.abc import Mapping, Sequence

from planner.answers.answer import answer
from planner.answers.figures import room_bytes
from planner.budget import plan
from planner.inputs.choices import Chosen
from planner.line_item import Kind
from planner.logs.devices import LLAMA_CPP
from planner.logs.readings import ALLOCATED, CACHE, Start
from planner.startups.comparison import Compared
from planner.startups.shortage import Stage, stage_of
from planner.tuning import SHARES
from planner.units import format_bytes

SAME_REQUEST = 0.02
"""The log's and the plan's bytes of one request differ by less where both mean the same model and flags."""
LEAST_POOL = 0.5
"""Of the least that the plan leaves for the cache: less is no spread of what is assumed."""
SAME_WEIGHTS = 0.7
"""Of the log's and the plan's weights the smaller is more of the larger where both mean one format and one split."""
CACHE_RATIO = 1.8
"""A cache of half the bits holds up to twice the tokens, less what states and padding take."""
SAME_POOL = 1.25
"""Tokens or blocks of one pool, or beyond all that a plan has room for, differ by less where both mean the same."""
MUCH_BESIDE = 0.2
"""Of the card: more beside weights and cache than the most that is assumed is no start of the same model."""
ALONE = "only what follows from the log's own figures is shown"


def doubted(start: Start, chosen: Chosen, rows: Sequence[Compared]) -> str:
    """Why the planner's own changes are not shown: *chosen* is of something else than *start*; empty where it is not.

    *rows* are the readings of *start* beside what is predicted for *chosen*.
    """
    by_name = {row.name: row for row in rows}
    return (
        _other_weights(start, by_name.get("weights"))
        or _more_weights(start, chosen)
        or _other_request(start, by_name.get("request"))
        or _smaller_card(start, chosen)
        or _other_cache(start, chosen)
        or _other_cards(start, by_name.get("cache"))
        or _other_format(start, by_name.get("pool_tokens"))
        or _other_pool(start, chosen, by_name.get("pool_tokens") or by_name.get("blocks"))
        or _other_share(start, by_name)
    )


def _other_weights(start: Start, row: Compared | None) -> str:
    """The weights are those of another format, or of another part of the model."""
    if row is None or not row.predicted or row.value <= 0:
        return ""
    if min(row.value, row.predicted) >= SAME_WEIGHTS * max(row.value, row.predicted):
        return ""
    where = "other layers or experts on the card" if start.engine in LLAMA_CPP else "another number of cards"
    return (
        f"The weights are {format_bytes(row.value)} by the log and {format_bytes(row.predicted)} by the plan, so the "
        f"plan is of another format, or of {where}: give --weights, or --set with what it ran with; {ALONE}."
    )


def _more_weights(start: Start, chosen: Chosen) -> str:
    """PyTorch held more than the plan's weights before these were complete."""
    held = start.most("torch_allocated")
    if held is None or stage_of(start) is not Stage.WEIGHTS:
        return ""
    ranks = plan(chosen.architecture, chosen.deployment, chosen.workload).ranks
    planned = max(sum(item.bytes for item in rank.items if item.kind is Kind.WEIGHTS) for rank in ranks)
    if held.value - held.step / 2 <= planned:
        return ""
    return (
        f"PyTorch held {format_bytes(held.value)} before the weights were complete, and by the plan they are "
        f"{format_bytes(planned)}, so the plan is of another format, or of more cards: give --weights as it was; "
        f"{ALONE}."
    )


def _other_request(start: Start, row: Compared | None) -> str:
    """A failed start, whose engine counts another request than the plan does."""
    if start.failure is None or row is None or row.unit != "bytes" or row.predicted is None:
        return ""
    printed = start.most("request")
    rounding = 0 if printed is None else printed.step / 2
    if abs(row.value - row.predicted) <= SAME_REQUEST * row.value + rounding:
        return ""
    return (
        f"One request takes {format_bytes(row.value)} by the log and {format_bytes(row.predicted)} by the plan, so the "
        f"plan is of something else: {ALONE}."
    )


def _smaller_card(start: Start, chosen: Chosen) -> str:
    """A failed start had room for a cache, and on the planned card there is none even where the rest takes least."""
    held = [start.least(name) for name in ("pool", "blocks", "pool_tokens")]
    if (
        start.failure is None
        or start.engine in LLAMA_CPP
        or not any(reading is not None and reading.value > 0 for reading in held)
    ):
        return ""
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    short_bytes = -room_bytes(found) - sum(item.bytes - item.low_bytes for item in found.items)
    if short_bytes <= 0:
        return ""
    return (
        f"It had room for a cache by the log, and by the plan {found.device} is {format_bytes(short_bytes)} too small "
        f"for the rest alone: give --device, and how many of them, as they were; {ALONE}."
    )


def _other_cache(start: Start, chosen: Chosen) -> str:
    """The same of llama.cpp, where it was the cache that no card had room for."""
    asked = start.most("allocation")
    if asked is None or start.engine not in LLAMA_CPP or start.settings.get(ALLOCATED) != CACHE:
        return ""
    budget = plan(chosen.architecture, chosen.deployment, chosen.workload)
    requests = budget.rank.requests(chosen.workload.users)
    most = max(rank.cache_bytes(chosen.workload.context_tokens, requests) for rank in budget.ranks)
    if asked.value <= (1 + SAME_REQUEST) * most:
        return ""
    return (
        f"It asked for {format_bytes(asked.value)} of cache on one card, and the plan has {format_bytes(most)}: give "
        f"the context and the cards that it ran with; {ALONE}."
    )


def _other_cards(start: Start, row: Compared | None) -> str:
    """llama.cpp had its cache in place, and that is not the plan's."""
    if start.failure is None or start.engine not in LLAMA_CPP or row is None or not row.predicted:
        return ""
    if abs(row.value - row.predicted) <= SAME_REQUEST * row.predicted:
        return ""
    return (
        f"The cache on cards is {format_bytes(row.value)} by the log and {format_bytes(row.predicted)} by the plan: "
        f"give the context and the cards that it ran with; {ALONE}."
    )


def _other_format(start: Start, row: Compared | None) -> str:
    """vLLM's printed pool holds far more tokens than the plan's cache: its numbers are smaller."""
    pool = start.least("pool")
    if start.engine != "vllm" or pool is None or pool.value <= 0 or row is None or not row.predicted:
        return ""
    if row.value < CACHE_RATIO * row.predicted:
        return ""
    return (
        f"Its {format_bytes(pool.value)} hold {row.value:,} tokens by the log and {row.predicted:,} by the plan, so "
        f"the cache is of another format, such as 8 bit: give --kv-cache fp8; {ALONE}."
    )


def _other_pool(start: Start, chosen: Chosen, row: Compared | None) -> str:
    """vLLM's printed pool holds other tokens, or blocks, than the plan's; or no runtime explains how many there are."""
    if start.engine != "vllm" or row is None or not row.predicted or row.low is None or row.high is None:
        return ""
    pool = start.least("pool")
    is_printed = pool is not None and pool.value > 0
    is_same = row.value <= SAME_POOL * row.high and (
        row.low <= SAME_POOL * row.value
        if is_printed
        else _beside(start, chosen, row.predicted, row.low - row.value)
        <= MUCH_BESIDE * chosen.deployment.device.memory_bytes
    )
    if is_same:
        return ""
    holds = f"Its {format_bytes(pool.value)} hold" if is_printed and pool is not None else "Its cache holds"
    return (
        f"{holds} {row.value:,} {row.unit} by the log and {row.predicted:,} by the plan, so the plan is of another "
        f"model, format, card or release: give --weights, --kv-cache, --device or --engine-version as it was; {ALONE}."
    )


def _beside(start: Start, chosen: Chosen, planned: float, fewer: float) -> float:
    """Bytes of so many *fewer* than the *planned* tokens or blocks, less what was loaded beyond the plan's weights."""
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    loaded = start.most("weights")
    weights_bytes = sum(item.bytes for item in found.items if item.kind is Kind.WEIGHTS)
    more_bytes = 0 if loaded is None else loaded.value - weights_bytes
    return room_bytes(found) / planned * fewer - more_bytes


def _other_share(start: Start, by_name: Mapping[str, Compared]) -> str:
    """A failed start had far less for its cache than its engine's usual share leaves, and does not say which it had."""
    setting = SHARES.get(start.engine, "")
    row = by_name.get("pool") or (by_name.get("pool_tokens") if start.engine != "vllm" else None)
    if start.failure is None or not setting or setting in start.settings or row is None or not row.low:
        return ""
    loaded = by_name.get("weights")
    more = max(0, loaded.difference or 0) if loaded is not None and row.unit == "bytes" else 0
    if not 0 < row.value < LEAST_POOL * (row.low - more):
        return ""
    said, planned = (
        format_bytes(value) if row.unit == "bytes" else f"{value:,} {row.unit}" for value in (row.value, row.low - more)
    )
    return (
        f"The cache has {said} by the log and {planned} or more by the plan, so its share of the card was another, or "
        f"other programs held a part of it: give --set {setting}=… as it was; {ALONE}."
    )
