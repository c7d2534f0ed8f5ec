"""Changes to a failed start that follow from what its log prints alone, whatever the model and the card."""

from collections.abc import Callable, Iterator, Mapping

from planner.logs.devices import LLAMA_CPP
from planner.logs.readings import ALLOCATED, GRAPHS, Start
from planner.startups.printed_buffers import buffer_changes, main_memory_changes
from planner.startups.printed_figures import (
    FREE_SHARES,
    HIGH_SHARE,
    MARGIN,
    SHARES,
    change,
    graph_requests,
    half_the_weights,
    high_share,
    larger_free_share,
    larger_share,
    printed_number,
    printed_share,
    smaller_free_share,
    twice_the_cards,
)
from planner.startups.printed_pools import fewer_states, free_changes, freed_changes, pool_changes
from planner.startups.set_pools import printed_pool_changes, printed_smaller_pool, set_pool
from planner.startups.shortage import Stage, share_below, shortage_bytes, stage_of
from planner.startups.trial import ENGINE, Try
from planner.units import format_bytes

FEWER_SEQUENCES = 64
"""Where the log does not say how many there were."""
LOWER_SHARE = 0.8
"""What SGLang names where its graphs run out of memory."""
LARGEST_BLOCK = 128
"""Tokens of TensorRT-LLM's blocks where it does not print them: a power of two, in no release more."""
STEP_TOKENS = 2048
STEP = f"--enable-chunked-prefill --max-num-batched-tokens {STEP_TOKENS}"
"""vLLM's options for steps that most cards have room for, in releases too that compute a prompt at once."""
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
    estimate, held = start.most("longest_start"), _held_tokens(start)
    tokens = whole_blocks(start, held)
    option = LENGTHS.get(start.engine, VLLM_LENGTH)
    if estimate is not None and estimate.value > 0:
        said = f"At most {estimate.value:,} tokens a request, as the engine says"
        yield change(said, f"{option} {estimate.value}", says=ENGINE, tokens=int(estimate.value))
    elif tokens:
        said = f"At most {tokens:,} tokens a request, which the cache holds"
        yield change(said, f"{option} {tokens}", tokens=tokens)
    if start.engine in FREE_SHARES:
        yield from larger_free_share(start, held)
    request, pool, asked = start.most("request"), start.least("pool"), printed_number(start, "max_model_len")
    if pool is not None and pool.value <= 0:
        yield from pool_changes(start)
    if start.engine != "vllm" or pool is None or pool.value <= 0:
        return
    if request is not None and request.unit == "bytes":
        request_bytes = request.value
    elif request is None and tokens and asked:
        request_bytes = pool.value / tokens * asked
    else:
        return
    if estimate is None and not tokens and asked:
        about = int(asked * pool.value / request_bytes) // 16 * 16
        said = f"About {about:,} tokens a request, if every layer keeps each"
        yield change(said, f"{option} {about}", starts=False, tokens=about)
    if (size := set_pool(start)) is not None:
        yield from printed_pool_changes(size, request_bytes + (0 if request is None else request.step / 2))
    else:
        yield from larger_share(start, request_bytes - pool.value)
        yield from high_share(start, request_bytes - pool.value)
    if start.settings.get("kv_cache_dtype", "auto") == "auto" and request_bytes / 2 <= pool.value:
        is_known = bool(start.model)  # where the log names the model, it names what else was set
        already = "" if is_known else ", if it is in 16 bit now"
        halved = f"{format_bytes(round(request_bytes / 2))} instead of {format_bytes(request_bytes)}"
        yield change(f"Cache in fp8, {halved}{already}", "--kv-cache-dtype fp8", is_known)


def whole_blocks(start: Start, tokens: int) -> int:
    """What a request may have of *tokens*: TensorRT-LLM reserves whole blocks for it."""
    if start.engine != "tensorrt_llm":
        return tokens
    block = printed_number(start, "tokens_per_block") or LARGEST_BLOCK
    return tokens // block * block


def _held_tokens(start: Start) -> int:
    """What the cache holds: as printed, or so many blocks of so many tokens; 0 where neither is."""
    tokens, blocks, block = start.least("pool_tokens"), start.least("blocks"), start.least("block")
    if tokens is not None:
        return max(0, int(tokens.value))
    return 0 if blocks is None or block is None else max(0, int(blocks.value * block.value))


def _states(start: Start) -> Iterator[Try]:
    """Each request keeps a state of its own, in a block."""
    if start.engine == "sglang":
        yield from fewer_states(start)
        share = printed_share(start)
        if share is None or share < HIGH_SHARE:
            before = "than it takes by itself" if share is None else f"than {share:g}"
            words = f"{HIGH_SHARE:g} of the card for weights and caches, more {before}"
            yield change(words, f"{SHARES['sglang']} {HIGH_SHARE:g}", starts=False)
        return
    blocks = start.least("blocks")
    if blocks is not None and blocks.value > 0:
        yield change(f"At most {blocks.value:,} requests at once", f"--max-num-seqs {blocks.value}")


def _memory(start: Start) -> Iterator[Try]:
    """With the cache in its place what else is asked for lies outside of its share, which is then too large.

    What was asked for may not be the last: none of these is sure.
    """
    if start.engine in LLAMA_CPP:
        yield from buffer_changes(start)
    if start.engine == "vllm" and stage_of(start) is Stage.TRIAL_PASS:
        yield change(f"Long prompts in steps of {STEP_TOKENS:,} tokens at most", STEP, starts=False)
        yield _fewer_requests(start)
    if start.engine in FREE_SHARES:
        yield from smaller_free_share(start)
    if start.engine not in SHARES or stage_of(start) is not Stage.AFTER_POOL:
        yield from half_the_weights(start)
        yield from twice_the_cards(start)
        return
    card, share, missing = start.most("card"), printed_share(start), shortage_bytes(start)
    if (size := set_pool(start)) is not None:
        yield from printed_smaller_pool(start, size)
    elif card is not None and share is not None and missing is not None:
        lower = share_below(share - missing / card.value - MARGIN)
        more = format_bytes(round((share - lower) * card.value))
        option = f"{SHARES[start.engine]} {lower:g}"
        yield change(f"{lower:g} of the card instead of {share:g}: {more} more beside it", option, starts=False)
    elif start.engine == "sglang":
        words = f"{LOWER_SHARE:g} of the card for weights and cache, as the engine says"
        yield change(words, f"{SHARES['sglang']} {LOWER_SHARE:g}", starts=False, says=ENGINE)
    if start.engine == "vllm":
        yield _fewer_requests(start)
    if start.engine == "sglang" and start.settings.get(ALLOCATED) == GRAPHS:
        number = graph_requests(start)
        words = f"CUDA graphs for {number} requests at most, as the engine says"
        yield change(words, f"--cuda-graph-max-bs {number}", starts=False, says=ENGINE)
    if start.settings.get(_GRAPHS[start.engine][0]) != "True":
        yield change("Without CUDA graphs, which is slower", _GRAPHS[start.engine][1], starts=False)


def _fewer_requests(start: Start) -> Try:
    option = f"--max-num-seqs {_fewer_sequences(start)}"
    return change("Fewer requests at once: less for the sampler and graphs", option, starts=False)


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
