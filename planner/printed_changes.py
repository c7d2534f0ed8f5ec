"""Changes to a failed start that follow from what its log prints alone, whatever the model and the card."""

from collections.abc import Callable, Iterator, Mapping

from planner.log_shortage import Stage, share_below, shortage_bytes, stage_of
from planner.log_try import ENGINE, Try
from planner.logs.devices import LLAMA_CPP
from planner.logs.readings import Start
from planner.printed_buffers import buffer_changes, main_memory_changes
from planner.printed_figures import (
    MARGIN,
    SHARES,
    change,
    half_the_weights,
    larger_share,
    printed_share,
    twice_the_cards,
)
from planner.printed_pools import free_changes, freed_changes, pool_changes
from planner.units import format_bytes

FEWER_SEQUENCES = 64
"""Where the log does not say how many there were."""
VLLM_LENGTH = "--max-model-len"
LENGTHS = {
    "vllm": VLLM_LENGTH,
    "sglang": "--context-length",
    "tensorrt_llm": "--max_seq_len",
    "lmdeploy": "--session-len",
}
"""By engine, its option for the longest request. Source: each engine's argument parser."""
_GRAPHS = {"vllm": ("enforce_eager", "--enforce-eager"), "sglang": ("disable_cuda_graph", "--disable-cuda-graph")}
"""By engine, its setting and its option for no graphs at all."""


def printed_changes(start: Start) -> tuple[Try, ...]:
    """What makes *start* succeed by its own figures, those that are sure first."""
    if start.failure is None:
        return ()
    found = (*_BY_KIND.get(start.failure.kind, _nothing)(start), *freed_changes(start))
    return tuple(sorted(found, key=lambda one: not one.starts))


def _nothing(start: Start) -> Iterator[Try]:
    return iter(())


def _request(start: Start) -> Iterator[Try]:
    """One request is larger than the cache: a shorter one, a larger share, or half the bytes."""
    estimate, tokens = start.most("longest_start"), start.least("pool_tokens")
    option = LENGTHS.get(start.engine, VLLM_LENGTH)
    if estimate is not None and estimate.value > 0:
        said = f"At most {estimate.value:,} tokens a request, as the engine says"
        yield change(said, f"{option} {estimate.value}", says=ENGINE, tokens=int(estimate.value))
    elif tokens is not None and tokens.value > 0:
        said = f"At most {tokens.value:,} tokens a request, which the cache holds"
        yield change(said, f"{option} {tokens.value}", tokens=int(tokens.value))
    request, pool = start.most("request"), start.least("pool")
    if start.engine != "vllm" or request is None or pool is None or request.unit != "bytes" or pool.value <= 0:
        return
    asked = start.settings.get("max_model_len", "").replace(",", "")
    if estimate is None and tokens is None and asked.isdigit() and len(asked) < 16:
        about = int(int(asked) * pool.value / request.value) // 16 * 16
        said = f"About {about:,} tokens a request, if every layer keeps each"
        yield change(said, f"{option} {about}", starts=False, tokens=about)
    yield from larger_share(start, request.value - pool.value)
    if start.settings.get("kv_cache_dtype", "auto") == "auto" and request.value / 2 <= pool.value:
        is_known = bool(start.model)  # where the log names the model, it names what else was set
        already = "" if is_known else ", unless it is already"
        yield change(f"Cache in fp8, half the bytes{already}", "--kv-cache-dtype fp8", is_known)


def _states(start: Start) -> Iterator[Try]:
    """Each request keeps a state of its own, in a block."""
    blocks = start.least("blocks")
    if blocks is not None and blocks.value > 0:
        yield change(f"At most {blocks.value:,} requests at once", f"--max-num-seqs {blocks.value}")


def _memory(start: Start) -> Iterator[Try]:
    """With the cache in its place what else is asked for lies outside of its share, which is then too large.

    What was asked for may not be the last: none of these is sure.
    """
    if start.engine in LLAMA_CPP:
        yield from buffer_changes(start)
    if start.engine not in SHARES or stage_of(start) is not Stage.AFTER_POOL:
        yield from half_the_weights(start)
        yield from twice_the_cards(start)
        return
    card, share, missing = start.most("card"), printed_share(start), shortage_bytes(start)
    if card is not None and share is not None and missing is not None:
        lower = share_below(share - missing / card.value - MARGIN)
        more = format_bytes(round((share - lower) * card.value))
        option = f"{SHARES[start.engine]} {lower:g}"
        yield change(f"{lower:g} of the card instead of {share:g}: {more} more beside it", option, starts=False)
    if start.engine == "vllm":
        number = _fewer_sequences(start)
        yield change(
            "Fewer requests at once: less for the sampler and graphs", f"--max-num-seqs {number}", starts=False
        )
    if start.settings.get(_GRAPHS[start.engine][0]) != "True":
        yield change("Without CUDA graphs, which is slower", _GRAPHS[start.engine][1], starts=False)


def _buffer(start: Start) -> Iterator[Try]:
    """The driver gives no buffer as large: less for a step."""
    if start.engine in LLAMA_CPP:
        yield from buffer_changes(start)


def _fewer_sequences(start: Start) -> int:
    """As large a part of the requests at once as was left of what was asked for, in powers of two."""
    asked, left, wanted = start.settings.get("max_num_seqs", ""), start.least("left"), start.most("allocation")
    if not asked.isdigit() or len(asked) > 8 or left is None or wanted is None or left.value >= wanted.value:
        return FEWER_SEQUENCES
    return 1 << max(0, int(int(asked) * left.value / wanted.value).bit_length() - 1)


_BY_KIND: Mapping[str, Callable[[Start], Iterator[Try]]] = {
    "request": _request,
    "pool": pool_changes,
    "free": free_changes,
    "states": _states,
    "memory": _memory,
    "buffer": _buffer,
    "main_memory": main_memory_changes,
}
"""By the kind of failure."""
