"""Changes that follow from a log's own figures where nothing is left for the cache, or others hold the card."""

from collections.abc import Iterator
from math import ceil

from planner import presets
from planner.launch.variables import VARIABLES
from planner.logs.devices import LLAMA_CPP, cards
from planner.logs.readings import Start
from planner.startups.printed_figures import (
    HIGH_SHARE,
    LARGEST_SHARE,
    MARGIN,
    SHARES,
    VLLM_SHARE,
    change,
    half_the_weights,
    high_share,
    larger_share,
    printed_share,
    twice_the_cards,
)
from planner.startups.shortage import free_share, share_above
from planner.startups.trial import ENGINE, PLANNER, Try
from planner.units import GIB, format_bytes

USUAL_SHARE = 0.85
"""About what SGLang takes of a card by itself."""
FEW_STATES = 8
"""For one request or two, whichever way SGLang keeps them."""
MUCH = 0.5
"""Of the share that was asked for: less of it is hardly room for the same model."""
OF_WHAT_IS_FREE = ("sglang", "tensorrt_llm", "lmdeploy", *LLAMA_CPP)
"""Engines that take no share of the whole card: what others hold is missing."""


def pool_changes(start: Start) -> Iterator[Try]:
    """Nothing is left for the cache."""
    if start.engine == "sglang":
        yield from _sglang(start)
    elif start.engine == "vllm":
        yield from _vllm(start)
    share = printed_share(start)
    if share is None or share >= USUAL_SHARE:
        yield from twice_the_cards(start)


def _sglang(start: Start) -> Iterator[Try]:
    option, least, own = SHARES["sglang"], start.most("least_share"), printed_share(start)
    if lacks_states(start):
        yield from fewer_states(start)
        return
    if least is not None and (share := share_above(least.value + 2 * MARGIN)) <= LARGEST_SHARE:
        said = f"{share:g} of the card for weights and cache: more than {least.value:g}, as the engine says"
        yield change(said, f"{option} {share:g}", starts=own is not None, says=ENGINE)
        return
    after, free = start.least("free_after_load"), start.least("free")
    before_bytes = 0 if free is None else free.value
    if after is not None and before_bytes:
        # What loading leaves, less the part of what was free that is kept out of the pool, is the pool.
        share = share_above(1 - after.value / before_bytes + 2 * MARGIN)
        if share <= LARGEST_SHARE:
            room = format_bytes(round(after.value - (1 - share) * before_bytes))
            yield change(f"{share:g} of the card for weights and cache: {room} of cache", f"{option} {share:g}")
    elif own is None or own < HIGH_SHARE:
        share = HIGH_SHARE if own is None or own >= USUAL_SHARE else USUAL_SHARE
        before = "than it takes by itself" if own is None else f"than {own:g}"
        yield change(f"{share:g} of the card for weights and cache, more {before}", f"{option} {share:g}", starts=False)


def lacks_states(start: Start) -> bool:
    """Whether SGLang's recurrent states have no room: as it says, or as its share is above the least that it names."""
    least, own = start.most("least_share"), printed_share(start)
    if start.engine != "sglang" or start.failure is None:
        return False
    return start.failure.kind == "states" or (least is not None and own is not None and own >= least.value)


def fewer_states(start: Start) -> Iterator[Try]:
    """SGLang's recurrent states: as many as one request keeps, or one for each request."""
    kept = start.most("kept_states")
    number = int(kept.value) if kept is not None else FEW_STATES
    is_said = kept is not None
    says = ENGINE if is_said else PLANNER
    words = f"{number} recurrent states{', which one request keeps' if is_said else ' and no more'}"
    yield change(words, f"--max-mamba-cache-size {number}", starts=is_said, says=says)
    yield change("One state a request, and nothing of finished ones", "--disable-radix-cache", starts=False)


def _vllm(start: Start) -> Iterator[Try]:
    """A larger share, half the weights, or a part of them in main memory; how much one request takes is not printed."""
    pool = start.least("pool")
    short = 0 if pool is None else max(0, -pool.value)
    yield from _graphs(start, short)
    yield from larger_share(start, GIB + short, starts=False) if short else ()
    if not short:
        yield from high_share(start, short)
    yield from half_the_weights(start)
    if short:
        moved = ceil(short / GIB) + 1
        words = f"{moved} GiB of the weights in main memory, which is much slower"
        yield change(words, f"--cpu-offload-gb {moved}", starts=False)
        yield from high_share(start, short)


def _graphs(start: Start, short: float) -> Iterator[Try]:
    """Where what vLLM expects of its graphs is more than what is *short*, the pool is there without them."""
    estimate = start.most("graph_estimate")
    if estimate is None or estimate.value <= short:
        return
    size, variable = format_bytes(estimate.value), VARIABLES["vllm"]["estimate_cudagraphs"]
    yield change(f"CUDA graphs not counted beforehand, of which {size} are expected", f"{variable}=0", starts=False)
    yield change("Without CUDA graphs, which is slower", "--enforce-eager", starts=False)


def free_changes(start: Start) -> Iterator[Try]:
    """Others hold a part of the card: no more than the rest, which a small part of what was asked for is not enough."""
    share, asked = free_share(start), printed_share(start)
    if start.engine == "vllm" and share:
        is_much = asked is not None and share >= MUCH * asked
        yield change(f"{share:g} of the card, which is free", f"{VLLM_SHARE} {share:g}", is_much)


def freed_changes(start: Start) -> Iterator[Try]:
    """What others hold is freed: the command stays as it is."""
    if start.failure is None:
        return
    taken, is_the_cause = taken_by_others(start), start.failure.kind == "free"
    if taken is not None:
        yield change(freed_words(taken), "", is_the_cause)
    elif is_the_cause:
        yield change(f"{_END}: {_LISTS}", "")


def taken_by_others(start: Start) -> float | None:
    """Bytes of the card that others held when the engine wanted more; ``None`` where that is not why it failed.

    An engine that takes a share of the whole card says so itself. Of others it is what was not free before they
    loaded anything, if that is more than a desktop takes; or what an error says of another process.
    """
    if start.failure is None:
        return None
    others, free, card = start.most("others"), start.least("free"), start.most("card")
    if others is not None:
        return others.value
    if free is None or card is None:
        return None
    if start.failure.kind == "free":
        return card.value - free.value
    if start.engine not in OF_WHAT_IS_FREE or start.failure.kind not in ("memory", "pool", "request"):
        return None
    sizes = cards(start, "card")
    by_card = cards(start, "free") or {free.rank: free}
    taken = max(sizes.get(rank, card).value - reading.value for rank, reading in by_card.items())
    return taken if taken > presets.desktop_use().high_bytes else None


_END = "End what else is on the card"
_LISTS = "nvidia-smi or rocm-smi lists the programs"


def freed_words(taken_bytes: float) -> str:
    """The change that leaves the command as it is."""
    return f"{_END}, of which {format_bytes(taken_bytes)} were not free: {_LISTS}"
