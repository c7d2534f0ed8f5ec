"""What stands in the sidebar's fields, and the plan it asks for: one mapping in each direction, without any widget.

Fields are called as the command line's options, so that a link, a command and a widget's key share one name. Models and
cards stand there by their titles; a link may also say their names or aliases.
"""

from collections.abc import Mapping
from functools import cache
from itertools import chain
from typing import Any

from planner import format_presets, presets
from planner.catalogue.library_names import OLLAMA
from planner.catalogue.native_files import READ_GGUF
from planner.deployment import CPU, MINIMUM
from planner.draft import EAGLE, MTP, NGRAM
from planner.engines import ENGINES, find_engine
from planner.formats import CHECKPOINT, NumberFormat
from planner.inputs.choices import Choices
from planner.inputs.profile_files import profile_paths
from ui.words import AS_PUBLISHED

State = Mapping[str, Any]

ANOTHER_SIZE = "Another size"
OTHER = "other"
COMMON_WEIGHTS = (AS_PUBLISHED, "int8", "int4-g128", OTHER)
SIXTEEN_BIT = "16 bit"
COMMON_CACHES = (SIXTEEN_BIT, "fp8", "q4_0", OTHER)
SAME = "same"
USUAL = "usual"
QUANTIZE = (USUAL, "linear", "all")
USUAL_OVERHEAD = "1.5GiB"
"""What is counted beside weights and cache where an engine has no items of its own."""
NONE = "none"
"""What a field says where nothing at all is to be counted, or used."""
DRAFTS = (NONE, MTP, EAGLE, NGRAM)
"""What may draft beside a smaller model."""
OPTIONAL = ("device_count", "tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel")
"""Numbers that a plan leaves out where they are 1."""

DEFAULTS: State = {
    "model": "Llama-3.1-8B",
    "device": "GeForce RTX 4090",
    "memory": "8GiB",
    "weights": AS_PUBLISHED,
    "weights_format": "fp16",
    "quantize": USUAL,
    "kv_cache": SIXTEEN_BIT,
    "kv_cache_format": "q8_0",
    "kv_cache_k": SAME,
    "kv_cache_v": SAME,
    "context": 8_192,
    "users": 4,
    "engine": MINIMUM,
    "engine_version": "",
    "set": "",
    "profile": NONE,
    "device_count": 1,
    "overhead": "",
    "host_memory": "",
    "custom": "",
    "devices": "",
    "tensor_parallel": 1,
    "pipeline_parallel": 1,
    "data_parallel": 1,
    "expert_parallel": 1,
    "replicas": 1,
    "interconnect": USUAL,
    "bandwidth": "",
    "display": False,
    "draft": NONE,
    "draft_pass": 4,
    "draft_weights": AS_PUBLISHED,
}
"""Every field with the value it has when a link says nothing."""


def defaults(engine: str) -> State:
    """The same where *engine* runs the model: what runs on one's own machine answers one at a time."""
    return {**DEFAULTS, "users": 1} if engine in READ_GGUF else DEFAULTS


@cache
def model_names() -> Mapping[str, str]:
    """Every model's name by its title."""
    return {preset.title: preset.name for preset in presets.models()}


@cache
def device_names() -> Mapping[str, str]:
    """Every card's name by its title."""
    return {device.title: device.name for device in presets.devices().values()}


@cache
def format_names(use: str) -> tuple[str, ...]:
    """Every format for *use* (``weights`` or ``cache``) once, for weights GGUF's file types too."""
    formats = (f.name for f in format_presets.formats().values() if getattr(f, use))
    return tuple(dict.fromkeys(chain(formats, format_presets.mix_names() if use == "weights" else ())))


def engine_names() -> tuple[str, ...]:
    """Every engine that the planner has rules for."""
    return tuple(ENGINES)


def profile_names() -> tuple[str, ...]:
    """No profile, and every kept one."""
    return (NONE, *profile_paths())


def split_settings(text: str) -> tuple[str, ...]:
    """The settings in *text*, one a line, or parted by semicolons as a link may have them."""
    return tuple(filter(None, (part.strip() for line in text.splitlines() for part in line.split(";"))))


def shares_layers(state: State) -> bool:
    """Whether several cards share every layer, so that what joins them counts."""
    return any(state.get(name, 1) > 1 for name in ("device_count", "tensor_parallel"))


def to_choices(state: State, own_cache: NumberFormat | None = None) -> Choices:
    """The plan that *state* asks for. *own_cache* is what its checkpoint keeps the cache in, if that is known."""
    fields = {**DEFAULTS, **state}
    listed = fields["devices"].strip() or None
    stated = listed is None and fields["device"] == ANOTHER_SIZE
    return Choices(
        model=model_names().get(fields["model"], fields["model"]),
        device=None if stated or listed else device_names()[fields["device"]],
        memory=fields["memory"] if stated else None,
        devices=listed,
        **{name: None if fields[name] == 1 else fields[name] for name in OPTIONAL},
        replicas=fields["replicas"],
        interconnect=fields["interconnect"] if fields["interconnect"] != USUAL and shares_layers(fields) else None,
        bandwidth=fields["bandwidth"].strip() or None,
        display=fields["display"],
        **_draft(fields),
        weights=_weights(fields),
        quantize=None if fields["quantize"] == USUAL or _weights(fields) is None else fields["quantize"],
        **_caches(fields, own_cache),
        engine=fields["engine"],
        engine_version=fields["engine_version"].strip() or None,
        set=split_settings(fields["set"]),
        profile=None if fields["profile"] == NONE else fields["profile"],
        context=fields["context"],
        users=fields["users"],
        overhead=_overhead(fields),
        host_memory=fields["host_memory"].strip() or None,
    )


def to_state(choices: Choices) -> dict[str, Any]:
    """The fields that ask for *choices*; left out are those of no concern, and a model that is not in the list."""
    state = {
        "weights": AS_PUBLISHED,
        "quantize": choices.quantize or USUAL,
        "kv_cache_k": choices.kv_cache_k or SAME,
        "kv_cache_v": choices.kv_cache_v or SAME,
        "context": choices.context or DEFAULTS["context"],
        "users": choices.users,
        "engine": choices.engine,
        "engine_version": choices.engine_version or "",
        "set": "\n".join(choices.set),
        "profile": choices.profile or NONE,
        **{name: getattr(choices, name) or 1 for name in OPTIONAL},
        "replicas": choices.replicas,
        "interconnect": choices.interconnect or USUAL,
        "bandwidth": choices.bandwidth or "",
        "devices": choices.devices or "",
        "display": choices.display,
        "overhead": "" if choices.overhead == usual_overhead(choices.engine) else choices.overhead or NONE,
        "host_memory": choices.host_memory or "",
    }
    if choices.devices is not None:
        pass
    elif choices.device is None:
        state |= {"device": ANOTHER_SIZE, "memory": choices.memory or ""}
    else:
        state["device"] = _device_title(choices.device)
    titles = {name: title for title, name in model_names().items()}
    if choices.model in titles:
        state["model"] = titles[choices.model]
    return state | weights_state(choices.weights) | cache_state(choices.kv_cache) | _draft_state(choices)


def _device_title(device: str) -> str:
    """Any machine without a card stands for one of which only the memory is said: that has a field of its own."""
    if device != CPU:
        return presets.find_device(device).title
    return next(one.title for one in presets.devices().values() if one.vendor == CPU)


def weights_state(name: str | None) -> dict[str, str]:
    """The fields for one weights format: a common one is named at once, any other under *other*."""
    if name is None or name == "checkpoint":
        return {"weights": AS_PUBLISHED}
    if name in COMMON_WEIGHTS:
        return {"weights": name}
    return {"weights": OTHER, "weights_format": name}


def cache_state(name: str | None) -> dict[str, str]:
    """The fields for one cache format: a common one is named at once, any other under *other*."""
    if name is None or name in ("bf16", "fp16"):
        return {"kv_cache": SIXTEEN_BIT}
    if name in COMMON_CACHES:
        return {"kv_cache": name}
    return {"kv_cache": OTHER, "kv_cache_format": name}


def usual_overhead(engine: str) -> str | None:
    """What is counted beside weights and cache unless the user states a figure; ``None``: the engine's own items."""
    return None if find_engine(engine).has_runtime_items else USUAL_OVERHEAD


def _overhead(fields: State) -> str | None:
    stated: str = fields["overhead"].strip()
    return (None if stated == NONE else stated) if stated else usual_overhead(fields["engine"])


def _weights(fields: State) -> str | None:
    if fields["weights"] == OTHER:
        return fields["weights_format"]
    if fields["weights"] != AS_PUBLISHED:
        return str(fields["weights"])
    # Some presets' own names are Ollama's too, which pulls a file of its library by them.
    name = model_names().get(fields["model"])
    return CHECKPOINT if fields["engine"] == OLLAMA and name is not None and presets.ollama_name(name) else None


def _draft(fields: State) -> dict[str, Any]:
    if fields["draft"] == NONE:
        return {}
    is_model = fields["draft"] not in DRAFTS
    stored = fields["draft_weights"] if is_model and fields["draft_weights"] != AS_PUBLISHED else None
    named = model_names().get(fields["draft"], fields["draft"])
    return {"draft_model": named, "draft_tokens": fields["draft_pass"], "draft_weights": stored}


def _draft_state(choices: Choices) -> dict[str, Any]:
    if choices.draft_model is None:
        return {"draft": NONE}
    titles = {name: title for title, name in model_names().items()}
    return {
        "draft": titles.get(choices.draft_model, choices.draft_model),
        "draft_pass": choices.draft_tokens or DEFAULTS["draft_pass"],
        "draft_weights": choices.draft_weights or AS_PUBLISHED,
    }


def _caches(fields: State, own_cache: NumberFormat | None) -> dict[str, str | None]:
    """16 bit is what most models use unasked, so it is said only to one whose checkpoint says otherwise."""
    both = fields["kv_cache_format"] if fields["kv_cache"] == OTHER else fields["kv_cache"]
    if both == SIXTEEN_BIT:
        both = "bf16" if own_cache is not None and not own_cache.is_unquantized else None
    key, value = (None if fields[name] == SAME else fields[name] for name in ("kv_cache_k", "kv_cache_v"))
    return {"kv_cache": None if key and value else both, "kv_cache_k": key, "kv_cache_v": value}
