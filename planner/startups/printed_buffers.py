"""Changes to a start of llama.cpp that its log alone suggests: by the buffer that there was no room for.

Source: common/arg.cpp; Ollama docs/modelfile.md and docs/faq.md.
"""

from collections.abc import Iterator, Mapping
from math import ceil

from planner.logs.devices import cards
from planner.logs.readings import ALLOCATED, CACHE, COMPUTE, WEIGHTS, Start
from planner.startups.printed_figures import change, printed_number
from planner.startups.shortage import shortage_bytes
from planner.startups.trial import Try
from planner.units import GIB, format_bytes

LEFT_FREE = GIB
"""Of a card, beside its layers: for the cache and for a step's own memory."""
ROUNDED_TO = 256
"""Cells of a cache."""
SMALL_STEP = 128
"""Tokens of a step where the log does not say how many it has."""
_LLAMA_CPP = {
    "n_ctx": "--ctx-size {}",
    "cache": "--flash-attn on --cache-type-k q8_0 --cache-type-v q8_0",
    "flash_attn": "--flash-attn on",
    "n_ubatch": "--ubatch-size {}",
    "n_gpu_layers": "--n-gpu-layers {}",
    "cpu_moe": "--cpu-moe",
}
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "llama_cpp": {**_LLAMA_CPP, "fit": "--fit on"},
    "ik_llama_cpp": {**_LLAMA_CPP, "attn_max_b": "--attention-max-batch 512"},
    "ollama": {
        "n_seq_max": "OLLAMA_NUM_PARALLEL={}",
        "n_ctx": "PARAMETER num_ctx {}",
        "cache": "OLLAMA_FLASH_ATTENTION=1 OLLAMA_KV_CACHE_TYPE=q8_0",
        "flash_attn": "OLLAMA_FLASH_ATTENTION=1",
        "n_ubatch": "PARAMETER num_batch {}",
        "n_gpu_layers": "PARAMETER num_gpu {}",
        "no_layers": "PARAMETER num_gpu 0",
    },
}
"""By engine, what it is told by; what it has no option for is not suggested."""
UNQUANTIZED = ("f16", "bf16", "f32", "")


def buffer_changes(start: Start) -> Iterator[Try]:
    """What takes less of the buffer that failed; of each kind where the log does not say which it was."""
    part = _part(start)
    parts = ((WEIGHTS, _weights), (CACHE, _cache), (COMPUTE, _compute))
    every = [each for kind, found in parts if part in (kind, "") for each in found(start)]
    options = OPTIONS[start.engine]
    known = [each for each in every if each[0] in options]
    for name, words, value in known or [("no_layers", "All layers in main memory, which is much slower", "")]:
        if name in options:
            yield change(words, options[name].format(value), starts=False)


def _part(start: Start) -> str:
    """What the memory was for: as it is said, or what comes after that which is printed."""
    said = start.settings.get(ALLOCATED, "")
    if said or start.failure is None or start.failure.kind == "buffer":
        return said or COMPUTE
    if any(start.least(name) is not None for name in ("cache", "cache_total", "states")):
        return COMPUTE
    return CACHE if start.least("weights") is not None else ""


def _weights(start: Start) -> Iterator[tuple[str, str, object]]:
    """Fewer layers on the card: as many as were free, where layers, buffer and what was free are printed."""
    layers, asked = start.most("offloadable"), start.most("allocation")
    free = [reading.value for reading in cards(start, "free").values()]
    if layers is not None and asked is not None and len(free) == 1 and asked.value > 0:
        number = int(layers.value * (free[0] - LEFT_FREE) / asked.value)
        if 0 < number < layers.value:
            words = f"About {number} of {layers.value} layers on the card, as many as were free"
            yield "n_gpu_layers", words, number
    yield "fit", "As many layers on the card as there is room for, without --n-gpu-layers", ""
    if start.settings.get("n_expert") != "0":
        yield "cpu_moe", "Experts in main memory, where the model has any", ""


def _cache(start: Start) -> Iterator[tuple[str, str, object]]:
    """Fewer cells, or fewer bytes in each."""
    slots, tokens = printed_number(start, "n_seq_max") or 1, printed_number(start, "n_ctx")
    if slots > 1 and start.engine == "ollama":
        yield "n_seq_max", f"One request at once instead of {slots}", 1
    if tokens is not None:
        each = tokens // slots if start.engine == "ollama" else tokens
        fewer = int(each * _part_left(start)) // ROUNDED_TO * ROUNDED_TO
        if fewer:
            yield "n_ctx", f"{fewer:,} tokens instead of {each:,}", fewer
    if start.settings.get("cache_type_k", "") in UNQUANTIZED:
        yield "cache", "Cache in q8_0, about half the bytes", ""
    yield from _fewer_layers(start)


def _fewer_layers(start: Start) -> Iterator[tuple[str, str, object]]:
    """So many layers less on the card that what failed has room, and one more for what is allocated after it."""
    layers, offloaded = start.most("offloadable"), start.most("offloaded")
    missing, allocated = shortage_bytes(start), start.most("allocation")
    placed = [sum(reading.value for reading in cards(start, name).values()) for name in ("weights", "cache", "states")]
    if layers is None or offloaded is None or allocated is None or not offloaded.value or not placed[0]:
        return
    if _part(start) == CACHE:
        placed.append(allocated.value)  # A layer's part of it goes with the layer.
    each = sum(placed) / offloaded.value
    fewer = ceil((missing or allocated.value) * max(1, len(cards(start, "weights"))) / each) + 1
    if fewer < offloaded.value:
        number = int(offloaded.value) - fewer
        yield "n_gpu_layers", f"{number} of {layers.value} layers on the card instead of {offloaded.value}", number


def _part_left(start: Start) -> float:
    """The part of the failed buffer that there was room for; half where that is not printed."""
    asked, missing = start.most("allocation"), shortage_bytes(start)
    if asked is None or missing is None or not 0 < missing < asked.value or len(cards(start, "free")) != 1:
        return 0.5
    return 1 - missing / asked.value


def _compute(start: Start) -> Iterator[tuple[str, str, object]]:
    """Less for a step: fewer tokens at once, or no scores of all of them."""
    if start.settings.get("flash_attn", "0") in ("0", "off", "disabled", "false", "False"):
        yield "flash_attn", "Flash attention, which keeps no scores", ""
    step = printed_number(start, "n_ubatch")
    fewer = SMALL_STEP if step is None else step // 4
    if fewer:
        yield "n_ubatch", f"{fewer} tokens in a step{'' if step is None else f' instead of {step}'}", fewer
    yield "attn_max_b", "Scores in parts of 512 MiB", ""
    yield from _fewer_layers(start)


def main_memory_changes(start: Start) -> Iterator[Try]:
    """The host has less free than the model wants."""
    wanted, free = start.most("main_memory"), start.least("main_memory_free")
    if wanted is not None and free is not None and wanted.value > free.value:
        more = format_bytes(round(wanted.value - free.value))
        yield change(f"End other programs until {more} more of main memory are free", "")
        yield change(f"A model or a format that is {more} smaller", "", starts=False)
    for name, words, value in _cache(start):
        if name in OPTIONS[start.engine]:
            yield change(words, OPTIONS[start.engine][name].format(value), starts=False)
