"""Settings of servers that leave more for what is asked, each a single change: nothing asked for becomes smaller."""

from collections.abc import Iterator
from dataclasses import replace
from math import ceil, floor

from planner.architecture import Architecture
from planner.inputs.choices import Choices, choose
from planner.units import GIB, format_bytes

SHARES = {
    "vllm": "gpu_memory_utilization",
    "sglang": "mem_fraction_static",
    "tensorrt_llm": "free_gpu_memory_fraction",
    "lmdeploy": "cache_max_entry_count",
}
"""By engine, the option for the share that its cache gets."""
OF_THE_CARD = ("vllm", "sglang")
"""Engines whose share is of the whole card; others' is of what is free after loading."""
UTILISATIONS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.92, 0.95, 0.98)
HIGHEST = 0.95
"""Where nothing is known of what else lies on the card, a share above leaves too little for it."""
CHUNKING = 8.0
"""The compute capability from which the first of vLLM's engines can compute prompts in several steps."""
SEQUENCES = (128, 64, 32, 16, 8, 4, 1)
SET_POOL = "kv_cache_memory_bytes"
"""vLLM's size of the pool itself, whatever its share of the card."""
POOLS = (SET_POOL, "num_gpu_blocks_override", "max_total_tokens", "max_tokens")
"""Settings that give the pool a size, or cap it."""
_POOL_STEP_BYTES = GIB // 100
"""Sizes that are offered are whole hundredths of a GiB, as vLLM prints them."""


def tunings(choices: Choices, architecture: Architecture) -> Iterator[tuple[str, list[tuple[str, Choices]]]]:
    """By setting, its changes from the smallest on, in words and choices."""
    if choices.engine not in SHARES:
        return
    deployment = choose(choices, architecture).deployment
    settings, name = deployment.settings, SHARES[choices.engine]
    pools = sorted(settings.given.intersection(POOLS))
    for pool in pools:
        yield pool, [(f"Without {pool}", without_settings(choices, pool))]
    share = share_of(choices, architecture)
    if share >= 1 or (choices.engine == "vllm" and share > HIGHEST and name in settings.given):
        yield name, [(f"Without {name}", without_settings(choices, name))]
    elif choices.engine == "sglang":
        # What SGLang chooses leaves what a step and its graphs need: no larger share is known to start.
        if name in settings.given:
            yield name, [(f"Without {name}", without_settings(choices, name))]
    elif not pools:
        words = f"{name} {{:g}} instead of {share:.3g}"
        higher = [number for number in UTILISATIONS if share < number <= HIGHEST]
        yield name, [(words.format(number), with_setting(choices, name, number)) for number in higher]
    chunks = with_setting(choices, "enable_chunked_prefill", "true")
    if _may_chunk(choices, architecture) and not choose(chunks, architecture).deployment.settings.lacking:
        yield "enable_chunked_prefill", [("Long prompts in several steps: enable_chunked_prefill", chunks)]
    if (most := _sequences(choices, architecture)) is not None:
        users = -(-choices.users // (deployment.replicas * deployment.data_parallel))
        fewer = [number for number in SEQUENCES if users <= number < most]
        said = "max_num_seqs {:,} instead of {:,}"
        yield "max_num_seqs", [(said.format(n, most), with_setting(choices, "max_num_seqs", n)) for n in fewer]


def larger_pool(choices: Choices, architecture: Architecture, more_bytes: int) -> Iterator[tuple[str, Choices]]:
    """vLLM's pool by *more_bytes* larger, where its size is set."""
    size = choose(choices, architecture).deployment.settings.values.get(SET_POOL)
    if size is not None and more_bytes > 0:
        larger = rounded_pool(size + more_bytes)
        yield pool_words(larger, size), with_setting(choices, SET_POOL, larger)


def pool_words(size: int, before: int) -> str:
    """The change from a pool of *before* bytes to one of *size*."""
    return f"{SET_POOL} {format_bytes(size)} instead of {format_bytes(before)}"


def rounded_pool(size: float, up: bool = True) -> int:
    """A size of the pool in the hundredths of a GiB in which it is offered.

    >>> rounded_pool(1_000_000_000) / 10_737_418, rounded_pool(1_000_000_000, up=False) / 10_737_418
    (94.0, 93.0)
    """
    return (ceil if up else floor)(size / _POOL_STEP_BYTES) * _POOL_STEP_BYTES


def share_of(choices: Choices, architecture: Architecture) -> float:
    """The share that the engine of *choices* gives its cache, as set or by default; SGLang's follows the card."""
    deployment = choose(choices, architecture).deployment
    if choices.engine != "sglang":
        return deployment.settings.number(SHARES[choices.engine])
    from planner.engines.sglang.engine import Sglang  # only where SGLang is asked for
    from planner.engines.sglang.fraction import named_fraction

    return named_fraction(Sglang().ranks(architecture, deployment)[0].model, deployment)


def _sequences(choices: Choices, architecture: Architecture) -> int | None:
    """What vLLM profiles its peak and its graphs for; ``None`` for others."""
    if choices.engine != "vllm":
        return None
    from planner.engines.vllm.options import options  # only where vLLM is asked for

    return options(choose(choices, architecture).deployment).max_num_seqs


def _may_chunk(choices: Choices, architecture: Architecture) -> bool:
    """Whether vLLM computes a prompt in one step and could do so in several: not on cards before CHUNKING.

    Source of the cards: https://github.com/vllm-project/vllm/issues/5533.
    """
    if choices.engine != "vllm":
        return False
    from planner.engines.vllm.options import bars_chunks, computes_whole  # only where vLLM is asked for

    chosen = choose(choices, architecture)
    deployment, capability = chosen.deployment, chosen.deployment.device.compute_capability
    return (
        computes_whole(architecture, deployment, chosen.workload.context_tokens)
        and not bars_chunks(architecture, deployment)
        and (capability is None or capability >= CHUNKING)
    )


def with_setting(choices: Choices, name: str, value: object) -> Choices:
    """*choices* with one of the engine's settings in place of what it was."""
    return replace(without_settings(choices, name), set=(*without_settings(choices, name).set, f"{name}={value}"))


def without_settings(choices: Choices, *names: str) -> Choices:
    """*choices* with the engine's defaults for these settings."""
    kept = (text for text in choices.set if text.partition("=")[0].strip().replace("-", "_") not in names)
    return replace(choices, set=tuple(kept))
