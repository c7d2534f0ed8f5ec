"""The single changes that would make a plan fit, each tried with the planner itself: enough first, cheapest first."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice

from planner import presets
from planner.answers.answer import Answer, answer, fits
from planner.architecture import Architecture
from planner.budget import TIGHT_TOKENS, budget_for, prepare
from planner.catalogue.downloads import checkpoint_id
from planner.catalogue.native_files import weight_bits
from planner.catalogue.quality import quality_words
from planner.deployment import CPU, MAX_PARALLEL, MINIMUM, Device
from planner.engines import ENGINES, find_engine
from planner.engines.llama_cpp.options import PLACEMENT, is_placed
from planner.errors import PlannerError
from planner.fit import over_cards
from planner.inputs.choices import Choices, choose, choose_cards
from planner.inputs.named_cards import choose_device
from planner.launch import LAUNCHERS, settable
from planner.records import dataclass
from planner.search import largest
from planner.tried_formats import MADE_WHILE_LOADING, how_to_get
from planner.tuning import larger_pool, tunings, with_setting, without_settings
from planner.units import format_bytes

WEIGHT_STEPS = ("bf16", "int8", "int4-g128")
"""The first helps checkpoints in 32 bits alone."""
CACHE_STEPS = ("fp8", "q4_0")
PUBLISHED_INSTEAD = {"iq3_m": "q3_k_m"}
"""What is offered in place of a file that nobody is known to publish, where this one is."""
GGUF_STEPS = {"weights": ("q6_k", "q4_k_m", "iq3_m"), "cache": ("q8_0", "q4_0")}
"""In place of these for engines that read GGUF files."""
QUANT_POLICIES = ("8", "4")
"""The bits that LMDeploy keeps keys and values in, by a setting and not by a format."""
DOUBLINGS = (2, 4, 8)
"""How many times the cards are tried: beyond that another card or format is the better advice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """One change: what changes, what it brings, whether it is *enough* alone, and the plan with it."""

    change: str
    result: str
    enough: bool
    choices: Choices


def fixes(choices: Choices, architecture: Architecture, before: Answer, tunes: bool = True) -> tuple[Fix, ...]:
    """Every single change that helps a plan that does not fit, those that are enough first.

    Within each group by what it costs: a setting, then a smaller wish, then a smaller format, then another card.
    Of settings only what is enough, and none without *tunes*.
    """
    found: list[Fix] = []
    if tunes and not before.no_build:
        found += _tuned(choices, architecture, before)
    for change, changed in _changes(choices, architecture, before):
        fix = _tried(change, changed, architecture, before)
        if fix is not None:
            found.append(fix)
    return tuple(sorted(found, key=lambda fix: not fix.enough))


def _tuned(choices: Choices, architecture: Architecture, before: Answer) -> Iterator[Fix]:
    """Of every setting that leaves more room the smallest change that is enough."""
    larger = list(larger_pool(choices, architecture, -before.free_bytes))
    for _, changes in (("pool", larger), *tunings(choices, architecture)):
        tried = (_tried(change, changed, architecture, before) for change, changed in changes)
        yield from islice((fix for fix in tried if fix is not None and fix.enough), 1)


def _changes(choices: Choices, architecture: Architecture, before: Answer) -> Iterator[tuple[str, Choices]]:
    if before.no_build:
        yield from _engines(choices)
        return
    known = presets.engine_data(choices.engine).settings
    reads_gguf = "n_gpu_layers" in known
    chosen_by_fit = fitted = as_fit_chooses(choices, architecture) if reads_gguf else None
    if before.margin_bytes and fitted:  # It does so by itself.
        yield fitted
        fitted = None
    longest = before.max_context_tokens
    if longest is not None and longest >= TIGHT_TOKENS:
        yield f"{longest:,} tokens per user instead of {before.context_tokens:,}", replace(choices, context=longest)
    if before.users > 1 and before.max_users:
        users = "1 user" if before.max_users == 1 else f"{before.max_users:,} users"
        yield f"{users} at once instead of {before.users:,}", replace(choices, users=before.max_users)
    if choices.draft_model is not None:
        yield (
            f"No draft by {choices.draft_model}",
            replace(choices, draft_model=None, draft_tokens=None, draft_weights=None),
        )
    if before.loads and not find_engine(choices.engine).cache_as_weights:
        # llama.cpp keeps a quantised cache with flash attention alone, which older versions have to be told to use.
        asks = reads_gguf and choose(choices, architecture).deployment.settings.text("flash_attn") == "off"
        asked, how = (with_setting(choices, "flash_attn", "on"), ", with flash attention") if asks else (choices, "")
        for name in GGUF_STEPS["cache"] if reads_gguf else CACHE_STEPS:
            yield f"Cache in {name}{how}", replace(asked, kv_cache=name, kv_cache_k=None, kv_cache_v=None)
        if "quant_policy" in known:
            others = tuple(text for text in choices.set if not text.startswith("quant_policy"))
            for bits in QUANT_POLICIES:
                yield f"Cache in {bits} bits", replace(choices, set=(*others, f"quant_policy={bits}"))
    yield from _smaller_weights(choices, architecture, reads_gguf)
    if fitted:
        yield fitted
    elif reads_gguf and chosen_by_fit is None and not before.on_cpu and before.deciding.spare_bytes < 0:
        yield _placed_anew(choices, architecture)
    yield from _cards(choices, architecture, before)
    if choices.pipeline_parallel is None:
        yield from _more_cards(choices, architecture, before)


def _smaller_weights(choices: Choices, architecture: Architecture, reads_gguf: bool) -> Iterator[tuple[str, Choices]]:
    """Formats of fewer bits than now: another rounding to as many costs quality for next to nothing."""
    now = weight_bits(choose(choices, architecture).deployment.weights, architecture)
    # Engines that load a checkpoint have weights and cache in full alike, or neither.
    is_full = choices.weights == choices.kv_cache == "fp32" and choices.engine in LAUNCHERS and not reads_gguf
    asked = replace(choices, kv_cache=None) if is_full else choices
    for name in _file_steps(choices) if reads_gguf else _weight_steps(choices):
        changed = replace(asked, weights=name)
        with suppress(PlannerError):
            if weight_bits(choose(changed, architecture).deployment.weights, architecture) < now:
                yield f"Weights in {name}", changed


def _file_steps(choices: Choices) -> Iterator[str]:
    """Smaller files: of two alike the one that can be had."""
    for name in GGUF_STEPS["weights"]:
        other = PUBLISHED_INSTEAD.get(name, name)
        yield other if how_to_get(choices.engine, choices.model, other) else name


def _weight_steps(choices: Choices) -> Iterator[str]:
    """Smaller formats: what the engine makes while it loads in place of int8, and formats with a checkpoint."""
    for name in WEIGHT_STEPS:
        made = MADE_WHILE_LOADING.get(choices.engine) if name == "int8" else None
        alike = (other for other in (name, f"{name}-asym") if checkpoint_id(choices.model, other))
        yield made or next(alike, name)


def _engines(choices: Choices) -> Iterator[tuple[str, Choices]]:
    """Others that run on the cards, with their own settings."""
    cards = choose_cards(choices)
    for name in ENGINES:
        data = presets.engine_data(name)
        if name != MINIMUM and all(data.runs_on(card.name, card.vendor) for card in cards):
            yield f"Engine {name}", replace(choices, engine=name, engine_version=None, set=(), profile=None)


def as_fit_chooses(choices: Choices, architecture: Architecture) -> tuple[str, Choices] | None:
    """What llama.cpp's --fit would choose, with a margin on the card.

    ``None`` without a card, and where the user set one of the two.
    """
    deployment = choose(choices, architecture).deployment
    settings = deployment.settings
    if deployment.on_cpu or is_placed(settings) or (settings.values["fit"] is False and "fit" in settings.given):
        return None
    change, changed = _placed(choices, architecture)
    return f"{change}, as --fit would choose", changed


def _placed_anew(choices: Choices, architecture: Architecture) -> tuple[str, Choices]:
    """Where the user placed layers or experts: other places, as --fit would have chosen them."""
    return _placed(without_settings(choices, *PLACEMENT), architecture)


def _placed(choices: Choices, architecture: Architecture) -> tuple[str, Choices]:
    """Layers or experts in main memory, until the margin that --fit keeps is left on the card."""
    deployment = choose(choices, architecture).deployment
    margin_bytes = deployment.settings.integer("fit_target") or 0
    if deployment.pipeline_parallel > 1:
        return over_cards(choices, architecture, margin_bytes)

    def leaves_room(changed: Choices) -> bool:
        chosen = choose(changed, architecture)
        return budget_for(prepare(architecture, chosen.deployment), chosen.workload).free_bytes >= margin_bytes

    return offload(choices, architecture, leaves_room)


def offload(
    choices: Choices, architecture: Architecture, leaves_room: Callable[[Choices], bool]
) -> tuple[str, Choices]:
    """Experts to main memory, as few layers' as *leaves_room* allows, else whole layers, in words and choices."""
    number = len(architecture.layers)

    def placed(setting: str) -> Choices:
        return replace(choices, set=(*choices.set, setting))

    has_experts = any(tensor.active >= 0 for layer in architecture.layers for tensor in layer.tensors)
    if has_experts and leaves_room(placed(f"n_cpu_moe={number}")):
        kept = largest(lambda count: leaves_room(placed(f"n_cpu_moe={number - count}")), number)
        name, value, what = "n_cpu_moe", number - kept, f"Experts of {number - kept} of {number} layers in main memory"
    else:
        kept = largest(lambda count: leaves_room(placed(f"n_gpu_layers={count}")), number)
        name, value, what = "n_gpu_layers", kept, f"{kept} of {number + 1} layers on the card"
    option = f" ({name}={value})" if settable(choices.engine, name) else ""
    return f"{what}{option}", placed(f"{name}={value}")


def _cards(choices: Choices, architecture: Architecture, before: Answer) -> Iterator[tuple[str, Choices]]:
    """The smallest card that is enough: of the same make, or of the sizes that cards are sold in."""
    elsewhere = replace(choices, profile=None, devices=None, host_memory=None if before.on_cpu else choices.host_memory)
    if choices.device is None:
        sizes = sorted(
            {
                int(d.nominal_gb)
                for d in presets.devices().values()
                if d.nominal_gb and not d.unified and d.vendor != CPU
            }
        )
        options = [(f"A {size} GiB card", replace(elsewhere, memory=f"{size}GiB")) for size in sizes]
    else:
        alike = _alike(choose_cards(choices)[0])
        options = [(device.title, replace(elsewhere, device=device.name)) for device in alike]
    bigger = (
        (change, changed)
        for change, changed in options
        if choose_device(changed.device, changed.memory).memory_bytes > before.memory_bytes
    )
    yield from islice(((change, changed) for change, changed in bigger if _fits(changed, architecture)), 1)


def _more_cards(choices: Choices, architecture: Architecture, before: Answer) -> Iterator[tuple[str, Choices]]:
    """The fewest cards of the same kind that are enough, by doublings; twice as many where none of these is."""
    if choices.devices is not None or choose_cards(choices)[0].vendor == CPU:
        return
    counts = [before.device_count * factor for factor in DOUBLINGS if before.device_count * factor <= MAX_PARALLEL]
    options = [
        (f"{count} × {before.device}", replace(choices, device_count=count, tensor_parallel=None, profile=None))
        for count in counts
    ]
    enough = ((change, changed) for change, changed in options if _fits(changed, architecture))
    yield from islice(chain(enough, options), 1)


def _fits(choices: Choices, architecture: Architecture) -> bool:
    try:
        chosen = choose(choices, architecture)
        return fits(architecture, chosen.deployment, chosen.workload)
    except PlannerError:
        return False


def _alike(device: Device) -> list[Device]:
    """Devices that could take its place, smallest first: the same make, and a card for a card."""
    others = (d for d in presets.devices().values() if d.vendor == device.vendor and d.unified == device.unified)
    return sorted(others, key=lambda other: other.memory_bytes)


def _tried(change: str, changed: Choices, architecture: Architecture, before: Answer) -> Fix | None:
    """The change with its outcome; ``None`` where it brings nothing or cannot be made."""
    try:
        chosen = choose(changed, architecture)
        after = answer(architecture, chosen.deployment, chosen.workload)
    except PlannerError:
        return None
    is_less = after.deciding.spare_bytes <= before.deciding.spare_bytes
    if is_less and not before.no_build and (before.fits or not after.fits):
        return None
    return Fix(change=change, result=_result(after, before), enough=after.fits, choices=changed)


def _result(after: Answer, before: Answer) -> str:
    if not after.loads:
        return f"Still {format_bytes(-after.free_bytes)} short"
    cost = "" if after.weights == before.weights else _quality(after)
    if after.max_context_tokens is None:
        return f"Room for any length{cost}"
    tokens = f"{after.max_context_tokens:,} tokens" + (" each" if after.users > 1 else "")
    ratio = after.max_context_tokens / before.context_tokens
    return (f"{tokens}, {ratio:,.1f} × what you asked" if ratio >= 1.05 else tokens) + cost


def _quality(after: Answer) -> str:
    """What other weights cost, by published readings; a model as it is published costs nothing."""
    words, read_on = quality_words(after.weights, after.parameters)
    if words == "none":
        return ""
    return f"; quality: {words} ({read_on})" if read_on else f"; quality: {words}"
