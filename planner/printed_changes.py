"""Changes to a failed start that follow from what its log prints alone, whatever the model and the card."""

from collections.abc import Callable, Iterator, Mapping

from planner.log_shortage import Stage, share_above, share_below, shortage_bytes, stage_of
from planner.log_try import ENGINE, PLANNER, Try
from planner.logs.readings import Start
from planner.units import GIB, format_bytes

LARGEST_SHARE = 0.98
MARGIN = 0.01
"""Of the card: what a share is moved further than the printed figures ask for."""
FEWER_SEQUENCES = 64
"""Where the log does not say how many there were."""
USUAL_SHARE = 0.85
"""About what SGLang takes of a card by itself."""
VLLM_LENGTH, VLLM_SHARE = "--max-model-len", "--gpu-memory-utilization"
SHARES = {"vllm": VLLM_SHARE, "sglang": "--mem-fraction-static"}
"""By engine, its option for the share of the card; the setting is called the same."""
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
    found = _BY_KIND.get(start.failure.kind, _nothing)(start)
    return tuple(sorted(found, key=lambda one: not one.starts))


def _change(change: str, option: str, starts: bool = True, says: str = PLANNER, tokens: int | None = None) -> Try:
    return Try(change=change, option=option, says=says, starts=starts, max_context_tokens=tokens)


def _nothing(start: Start) -> Iterator[Try]:
    return iter(())


def _request(start: Start) -> Iterator[Try]:
    """One request is larger than the cache: a shorter one, a larger share, or half the bytes."""
    estimate, tokens = start.most("longest_start"), start.least("pool_tokens")
    option = LENGTHS.get(start.engine, VLLM_LENGTH)
    if estimate is not None and estimate.value > 0:
        said = f"At most {estimate.value:,} tokens a request, as the engine says"
        yield _change(said, f"{option} {estimate.value}", says=ENGINE, tokens=int(estimate.value))
    elif tokens is not None and tokens.value > 0:
        said = f"At most {tokens.value:,} tokens a request, which the cache holds"
        yield _change(said, f"{option} {tokens.value}", tokens=int(tokens.value))
    request, pool = start.most("request"), start.least("pool")
    if start.engine != "vllm" or request is None or pool is None or request.unit != "bytes" or pool.value <= 0:
        return
    asked = start.settings.get("max_model_len", "").replace(",", "")
    if estimate is None and tokens is None and asked.isdigit() and len(asked) < 16:
        about = int(int(asked) * pool.value / request.value) // 16 * 16
        said = f"About {about:,} tokens a request, if every layer keeps each"
        yield _change(said, f"{option} {about}", starts=False, tokens=about)
    yield from _larger_share(start, request.value - pool.value)
    if start.settings.get("kv_cache_dtype", "auto") == "auto" and request.value / 2 <= pool.value:
        is_known = bool(start.model)  # where the log names the model, it names what else was set
        already = "" if is_known else ", unless it is already"
        yield _change(f"Cache in fp8, half the bytes{already}", "--kv-cache-dtype fp8", is_known)


def _pool(start: Start) -> Iterator[Try]:
    """Nothing is left for the cache."""
    pool, least = start.least("pool"), start.most("least_share")
    if least is not None and (share := share_above(least.value + 2 * MARGIN)) <= LARGEST_SHARE:
        said = f"{share:g} of the card for weights and cache: more than {least.value:g}, as the engine says"
        yield _change(said, f"--mem-fraction-static {share:g}", starts=False, says=ENGINE)
        return
    after, before_bytes = start.least("free_after_load"), _free_before(start)
    if start.engine == "sglang" and after is not None and before_bytes:
        # What loading leaves, less the part of what was free that is kept out of the pool, is the pool.
        share = share_above(1 - after.value / before_bytes + 2 * MARGIN)
        if share <= LARGEST_SHARE:
            room = format_bytes(round(after.value - (1 - share) * before_bytes))
            yield _change(
                f"{share:g} of the card for weights and cache: {room} of cache", f"--mem-fraction-static {share:g}"
            )
    elif start.engine == "sglang" and (own := _share(start)) is not None and own < USUAL_SHARE:
        change = f"{USUAL_SHARE:g} of the card for weights and cache instead of {own:g}"
        yield _change(change, f"--mem-fraction-static {USUAL_SHARE:g}", starts=False)
    elif start.engine == "vllm" and pool is not None and pool.value < 0:
        yield from _larger_share(start, GIB - pool.value, starts=False)


def _free_before(start: Start) -> float:
    """What was free before loading: as printed, or what was loaded and what was left by then."""
    before, weights, after = start.least("free"), start.most("weights"), start.least("free_after_load")
    if before is not None:
        return before.value
    return 0 if weights is None or after is None else weights.value + after.value


def _larger_share(start: Start, more_bytes: float, starts: bool = True) -> Iterator[Try]:
    card, share = start.most("card"), _share(start)
    if card is None or share is None:
        return
    higher = share_above(share + more_bytes / card.value)
    free = start.least("free")
    limit = LARGEST_SHARE if free is None else min(LARGEST_SHARE, free.value / card.value)
    if higher <= limit:
        more = format_bytes(round((higher - share) * card.value))
        yield _change(f"{higher:g} of the card instead of {share:g}: {more} more", f"{VLLM_SHARE} {higher:g}", starts)


def _free(start: Start) -> Iterator[Try]:
    """Others hold a part of the card: no more than the rest."""
    free, card = start.least("free"), start.most("card")
    if free is not None and card is not None and card.value > 0:
        share = share_below(free.value / card.value)
        yield _change(f"{share:g} of the card, which is free", f"{VLLM_SHARE} {share:g}")
        yield _change(freed_words(card.value - free.value), "", starts=False)


def taken_by_others(start: Start) -> float | None:
    """Bytes of the card that were not free when the engine wanted more; ``None`` where that was not why it failed."""
    free, card = start.least("free"), start.most("card")
    if start.failure is None or start.failure.kind != "free" or free is None or card is None:
        return None
    return card.value - free.value


def freed_words(taken_bytes: float) -> str:
    """The change that leaves the command as it is."""
    size = format_bytes(round(taken_bytes))
    return f"End what else is on the card, of which {size} were not free: nvidia-smi or rocm-smi lists the programs"


def _states(start: Start) -> Iterator[Try]:
    """Each request keeps a state of its own, in a block."""
    blocks = start.least("blocks")
    if blocks is not None and blocks.value > 0:
        yield _change(f"At most {blocks.value:,} requests at once", f"--max-num-seqs {blocks.value}")


def _memory(start: Start) -> Iterator[Try]:
    """With the cache in its place what else is asked for lies outside of its share, which is then too large.

    What was asked for may not be the last: none of these is sure.
    """
    if start.engine not in SHARES or stage_of(start) is not Stage.AFTER_POOL:
        return
    card, share, missing = start.most("card"), _share(start), shortage_bytes(start)
    if card is not None and share is not None and missing is not None:
        lower = share_below(share - missing / card.value - MARGIN)
        more = format_bytes(round((share - lower) * card.value))
        option = f"{SHARES[start.engine]} {lower:g}"
        yield _change(f"{lower:g} of the card instead of {share:g}: {more} more beside it", option, starts=False)
    if start.engine == "vllm":
        number = _fewer_sequences(start)
        yield _change(
            "Fewer requests at once: less for the sampler and graphs", f"--max-num-seqs {number}", starts=False
        )
    if start.settings.get(_GRAPHS[start.engine][0]) != "True":
        yield _change("Without CUDA graphs, which is slower", _GRAPHS[start.engine][1], starts=False)


def _fewer_sequences(start: Start) -> int:
    """As large a part of the requests at once as was left of what was asked for, in powers of two."""
    asked, left, wanted = start.settings.get("max_num_seqs", ""), start.least("left"), start.most("allocation")
    if not asked.isdigit() or len(asked) > 8 or left is None or wanted is None or left.value >= wanted.value:
        return FEWER_SEQUENCES
    return 1 << max(0, int(int(asked) * left.value / wanted.value).bit_length() - 1)


def _share(start: Start) -> float | None:
    """The engine's share of the card, as printed."""
    name = SHARES.get(start.engine, "").removeprefix("--").replace("-", "_")
    try:
        share = float(start.settings.get(name, ""))
    except ValueError:
        return None
    return share if 0 < share <= 1 else None


_BY_KIND: Mapping[str, Callable[[Start], Iterator[Try]]] = {
    "request": _request,
    "pool": _pool,
    "free": _free,
    "states": _states,
    "memory": _memory,
}
"""By the kind of failure."""
