"""What is tried of a start of vLLM that failed, by how far it had come; another server's share beside the pool."""

from collections.abc import Iterator

from planner.advice import fixes
from planner.answers.answer import Answer
from planner.engines.vllm.options import options
from planner.inputs.choices import Choices, choose
from planner.logs.readings import ALLOCATED, GRAPHS, Start
from planner.startups.larger_shares import Change, named_share
from planner.startups.printed_figures import graph_requests
from planner.startups.set_pools import most_pool_bytes, pool_changes, size_planned, smaller_pool
from planner.startups.shortage import free_share, share_below, shortage_bytes
from planner.startups.trial import ENGINE, PLANNER, Failed, card_of
from planner.tuning import SEQUENCES, SET_POOL, UTILISATIONS, pool_words, rounded_pool, with_setting
from planner.units import GIB, format_bytes

STEPS = (8192, 4096, 2048, 1024, 512)
UNCOUNTED = "CUDA graphs not counted beforehand: they come out of what the share leaves"
MARGIN = 0.01
"""Of the card, left free beside what was missing when memory ran out outside of vLLM's share."""


def vllm_changes(start: Start, failed: Failed, before: Answer) -> Iterator[Change]:
    """What only vLLM has."""
    settings = choose(failed.choices, failed.architecture).deployment.settings
    share, blocks, free, card = settings.number("gpu_memory_utilization"), *_figures(start)
    if start.failure is not None and start.failure.kind == "states" and blocks:
        yield (
            "sequences",
            f"At most {blocks:,} requests at once, as the engine says",
            ENGINE,
            _with_sequences(failed, blocks),
        )
    memory_bytes = card or before.memory_bytes
    context_bytes = settings.rule("context_at_start_gib")["high"] * GIB
    limit = (free or memory_bytes - context_bytes) / memory_bytes
    yield from pool_changes(start, failed, before)
    for higher in () if size_planned(failed) else UTILISATIONS:
        if share < higher <= limit:
            yield "share", f"{higher:g} of the card instead of {share:g}", PLANNER, _with_share(failed, higher)
    asked = settings.integer("max_num_seqs")
    for number in () if failed.peaks_with_a_prompt() else SEQUENCES:
        if asked is None or number < asked:
            requests = "1 request" if number == 1 else f"{number} requests"
            yield "sequences", f"At most {requests} at once", PLANNER, _with_sequences(failed, number)
    if settings.flag("estimate_cudagraphs") and not settings.flag("enforce_eager"):
        eager = with_setting(failed.choices, "enforce_eager", "true")
        yield "eager", "Without CUDA graphs, which is slower", PLANNER, eager
        if start.most("graph_estimate") is not None:
            uncounted = with_setting(failed.choices, "estimate_cudagraphs", "false")
            yield "estimate_graphs", UNCOUNTED, PLANNER, uncounted


def free_share_changes(start: Start, failed: Failed) -> Iterator[Change]:
    """The share that is free when the engine starts; a cache whose size is set has to fit into what is free too."""
    if lower := free_share(start):
        lowered, words = _with_share(failed, lower), f"{lower:g} of the card, which is free"
        size, before = size_planned(failed), failed.ask(lowered)
        if size is not None:
            most = rounded_pool(most_pool_bytes(start, before), up=False)
            if most < size:
                lowered, words = with_setting(lowered, SET_POOL, most), f"{words}, and {pool_words(most, size)}"
            else:
                words = f"{words}: the cache stays as large as it is set"
        yield "share", words, PLANNER, lowered
        if not failed.fits(lowered):
            for fix in fixes(lowered, failed.architecture, failed.ask(lowered), tunes=False):
                if card_of(fix.choices) == card_of(lowered):
                    yield fix.change, f"{words}, and {fix.change[:1].lower()}{fix.change[1:]}", PLANNER, fix.choices


def beside_the_share(start: Start, failed: Failed, before: Answer) -> Iterator[Change]:
    """A smaller share leaves more for graphs, trial passes and samplers; these take less with fewer requests."""
    name, share, whole = named_share(failed)
    card, missing = start.most("card"), shortage_bytes(start)
    card_bytes = before.memory_bytes if card is None else card.value
    if failed.choices.engine == "vllm" and size_planned(failed):
        yield from smaller_pool(start, failed)
    elif missing is not None:
        lower = share_below(share - missing / card_bytes - MARGIN)
        room = format_bytes(round((share - lower) * card_bytes))
        words = f"{lower:g} {whole} instead of {share:.3g}: {room} more beside it"
        yield "share", words, PLANNER, with_setting(failed.choices, name, lower)
    if failed.choices.engine == "sglang" and start.settings.get(ALLOCATED) == GRAPHS:
        number = graph_requests(start)
        changed = with_setting(failed.choices, "cuda_graph_max_bs", number)
        yield "graphs", f"CUDA graphs for {number} requests at most", PLANNER, changed
    if failed.choices.engine != "vllm":
        return
    settings = choose(failed.choices, failed.architecture).deployment.settings
    left, asked = start.least("left"), start.most("allocation")
    sequences = settings.integer("max_num_seqs")
    part = 0.5 if left is None or asked is None else left.value / asked.value
    for number in SEQUENCES:
        if sequences is None or number <= part * sequences:
            yield "sequences", f"At most {number} requests at once", PLANNER, _with_sequences(failed, number)
            break
    if not settings.flag("enforce_eager"):
        eager = with_setting(failed.choices, "enforce_eager", "true")
        yield "eager", "Without CUDA graphs, which is slower", PLANNER, eager


def _figures(start: Start) -> tuple[int | None, float | None, float | None]:
    """Blocks for states, free memory and the card's, as printed."""
    readings = start.least("blocks"), start.least("free"), start.most("card")
    blocks, free, card = (None if reading is None else reading.value for reading in readings)
    return None if blocks is None else int(blocks), free, card


def _with_share(failed: Failed, share: float) -> Choices:
    return with_setting(failed.choices, "gpu_memory_utilization", share)


def _with_sequences(failed: Failed, number: int) -> Choices:
    return with_setting(failed.choices, "max_num_seqs", number)


def smaller_step(failed: Failed) -> Iterator[Change]:
    """The pass that shows what a step takes ran out of memory: a shorter step, or fewer requests to sample for."""
    chosen = options(choose(failed.choices, failed.architecture).deployment)
    for tokens in STEPS:
        if tokens < chosen.max_num_batched_tokens:
            shorter = with_setting(failed.choices, "max_num_batched_tokens", tokens)
            yield "step", f"Steps of {tokens:,} tokens instead of {chosen.max_num_batched_tokens:,}", PLANNER, shorter
    for number in SEQUENCES:
        if number < chosen.max_num_seqs:
            yield "sequences", f"At most {number} requests at once", PLANNER, _with_sequences(failed, number)
