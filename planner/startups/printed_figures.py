"""Changes that follow from a log alone: an engine's options for a share of the card, and for more cards."""

from collections.abc import Iterator
from math import ceil

from planner import presets
from planner.catalogue.checkpoint_ids import identify
from planner.errors import PlannerError
from planner.logs.ranks import workers
from planner.logs.readings import Start
from planner.settings.versions import value_at
from planner.startups.releases import version_of
from planner.startups.shortage import share_above
from planner.startups.trial import PLANNER, Try
from planner.units import GIB, format_bytes

LARGEST_SHARE = 0.98
MARGIN = 0.01
"""Of the card: what a share is moved further than the printed figures ask for."""
VLLM_SHARE = "--gpu-memory-utilization"
SHARES = {"vllm": VLLM_SHARE, "sglang": "--mem-fraction-static"}
"""By engine, its option for the share of the card; the setting is called the same."""
FREE_SHARES = {
    "tensorrt_llm": ("free_gpu_memory_fraction", "--kv_cache_free_gpu_memory_fraction"),
    "lmdeploy": ("cache_max_entry_count", "--cache-max-entry-count"),
}
"""By engine, its setting and its option for the share of what is free after loading."""
GRAPH_REQUESTS = 16
LESS = 0.1
"""By how much a share of what is free is made smaller."""
HIGH_SHARE = 0.95
"""More than any engine takes by itself, and yet less than what most cards have free."""
TENSOR_PARALLEL = {
    "vllm": ("tensor_parallel_size", "--tensor-parallel-size"),
    "sglang": ("tp_size", "--tp-size"),
    "tensorrt_llm": ("tp_size", "--tp_size"),
    "lmdeploy": ("tp", "--tp"),
}
"""By engine, its setting and its option for the number of cards that share every layer."""


def change(text: str, option: str, starts: bool = True, says: str = PLANNER, tokens: int | None = None) -> Try:
    """A change that no plan has tried: *starts* where the printed figures alone say that it is enough."""
    return Try(change=text, option=option, says=says, starts=starts, max_context_tokens=tokens)


def printed_share(start: Start) -> float | None:
    """The engine's share of the card, as printed."""
    name = SHARES.get(start.engine, "").removeprefix("--").replace("-", "_")
    try:
        share = float(start.settings.get(name, ""))
    except ValueError:
        return None
    return share if 0 < share <= 1 else None


def printed_number(start: Start, setting: str) -> int | None:
    """A setting that is a whole number above 0, as printed."""
    text = start.settings.get(setting, "").replace(",", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 and int(text) else None


def graph_requests(start: Start) -> int:
    """The largest batch with a graph that SGLang names where graphs run out of memory, or half of what is set."""
    asked = printed_number(start, "cuda_graph_max_bs")
    return GRAPH_REQUESTS if asked is None else min(GRAPH_REQUESTS, max(1, asked // 2))


def larger_share(start: Start, more_bytes: float, starts: bool = True) -> Iterator[Try]:
    """vLLM's share of a card whose size is printed, for *more_bytes* of cache."""
    card, share = start.most("card"), printed_share(start)
    if card is None or share is None:
        return
    higher = share_above(share + more_bytes / card.value)
    free = start.least("free")
    limit = LARGEST_SHARE if free is None else min(LARGEST_SHARE, free.value / card.value)
    if higher <= limit:
        more = format_bytes(round((higher - share) * card.value))
        yield change(f"{higher:g} of the card instead of {share:g}: {more} more", f"{VLLM_SHARE} {higher:g}", starts)


def high_share(start: Start, short: float) -> Iterator[Try]:
    """A larger share of a card whose size is not printed: how large it has to be for what is *short*."""
    share = printed_share(start)
    if start.most("card") is None and (share is None or share < HIGH_SHARE):
        least = short / (HIGH_SHARE - (share or _usual_share(start)))
        if least > max(device.memory_bytes for device in presets.devices().values()):
            return
        enough = f", {format_bytes(short)} more on one of {ceil(least / GIB)} GiB or more" if short else ""
        yield change(f"{HIGH_SHARE:g} of the card{enough}", f"{VLLM_SHARE} {HIGH_SHARE:g}", starts=False)


def _usual_share(start: Start) -> float:
    """vLLM's share where nobody sets one, in a release that is not printed the largest that it ever had."""
    data = presets.engine_data(start.engine)
    defaults = data.settings["gpu_memory_utilization"].defaults
    try:
        return float(value_at(defaults, data.number(version_of(start) or "")))
    except PlannerError:
        return max(float(entry.value) for entry in defaults)


def larger_free_share(start: Start, tokens: int) -> Iterator[Try]:
    """More of what is free after loading, where the cache held *tokens* with the share that is printed or usual."""
    option, share, said = _free_share(start)
    if 0 < share < HIGH_SHARE and tokens:
        about = int(tokens * HIGH_SHARE / share)
        more = f"{HIGH_SHARE:g} of what is free instead of {said}: about {about:,} tokens instead of {tokens:,}"
        yield change(more, f"{option} {HIGH_SHARE:g}", starts=False)


def smaller_free_share(start: Start) -> Iterator[Try]:
    """Less of what is free after loading for the cache: more for what comes beside it."""
    option, share, said = _free_share(start)
    if MARGIN < share - LESS < 1:
        yield change(f"{share - LESS:g} of what is free instead of {said}", f"{option} {share - LESS:g}", starts=False)


def _free_share(start: Start) -> tuple[str, float, str]:
    """The engine's option for the share of what is free, that share as printed or usual, and what to call it.

    0 for one that is printed and no number.
    """
    setting, option = FREE_SHARES[start.engine]
    defaults = presets.engine_data(start.engine).settings[setting].defaults
    try:
        share = float(start.settings.get(setting, defaults[-1].value))
    except ValueError:
        share = 0
    return option, share, f"{'' if setting in start.settings else 'the usual '}{share:g}"


def half_the_weights(start: Start) -> Iterator[Try]:
    """A format that the engine itself makes while it loads, where neither options nor the model's name say another."""
    named = identify(start.model, is_tuned=True)
    is_quantised = named is not None and named[1] is not None
    if start.engine in SHARES and start.settings.get("quantization", "None") == "None" and not is_quantised:
        yield change("Weights in fp8, half the bytes of 16 bit", "--quantization fp8", starts=False)


def twice_the_cards(start: Start) -> Iterator[Try]:
    """Each card holds half of the weights then."""
    if start.engine not in TENSOR_PARALLEL:
        return
    setting, option = TENSOR_PARALLEL[start.engine]
    shown = workers(reading.rank for reading in start.readings)
    number = 2 * (printed_number(start, setting) or max(shown.get("TP", 1), shown.get("rank", 1)))
    yield change(f"{number} cards, each with half as much of the weights", f"{option} {number}", starts=False)
