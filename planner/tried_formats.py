"""Which formats are worth trying, by engine and device, and what a model in one of them is pulled by."""

from collections.abc import Sequence
from contextlib import suppress

from planner import presets
from planner.catalogue.downloads import checkpoint_id, gguf_repository, hub_id, pull_name
from planner.catalogue.native_files import HALVED, READ_GGUF, TO_HALVE, tried_names
from planner.deployment import MINIMUM, Device
from planner.engines import ENGINES
from planner.errors import UnknownName
from planner.formats import CHECKPOINT

WEIGHTS = (CHECKPOINT, "int8", "int4-g128")
AWQ = "int4-g128-asym"
"""Of the same bits as the last of these but for zero points: many models are had in it alone."""
MADE_WHILE_LOADING = {"vllm": "fp8", "sglang": "fp8"}
"""By engine, the format that it makes of any checkpoint while it loads."""
GGUF_WEIGHTS = ("q8_0", "q6_k", "q5_k_m", "q4_k_m", "iq4_xs", "q3_k_m", "iq2_m")
ALL_WEIGHTS = (CHECKPOINT, "int8", *GGUF_WEIGHTS[:4], "int4-g128", *GGUF_WEIGHTS[4:])
"""The better first: the first that fits is the one to take."""


def default_weights(engine: str, device: Device | None = None) -> tuple[str, ...]:
    """What is tried when no format is named: what *engine* reads, the file types of GGUF among it or alone.

    Without an engine it is what those read that run on *device*.
    """
    if engine in READ_GGUF:
        return (CHECKPOINT, *GGUF_WEIGHTS)
    if engine != MINIMUM:
        made = MADE_WHILE_LOADING.get(engine)
        return (CHECKPOINT, *((made,) if made else ()), *WEIGHTS[1:], AWQ)
    engines = engines_on(device)
    # transformers reads checkpoints on every device; it is the kernels of servers that their formats need.
    served = [name for name in engines if name not in (*READ_GGUF, "transformers")]
    read = {CHECKPOINT, *(GGUF_WEIGHTS if set(READ_GGUF) & set(engines) else ()), *(WEIGHTS if served else ())}
    return tuple(name for name in ALL_WEIGHTS if name in read)


def engines_on(device: Device | None) -> tuple[str, ...]:
    """The engines that run on *device*, every one where nothing is known of it."""
    return tuple(name for name in ENGINES if name != MINIMUM and (device is None or runs_on(name, device)))


def runs_on(engine: str, device: Device, version: str | None = None) -> bool:
    """Whether there is a build of *engine* for *device*, of its newest release where no *version* is given."""
    data = presets.engine_data(engine)
    return data.runs_on(device.name, device.vendor) and data.takes(device.compute_capability, version)


def preset_names(engine: str, preset: presets.ModelPreset, weights: Sequence[str]) -> tuple[str, ...]:
    """``tried_names`` for a preset, which is read only where its checkpoint is quantised."""
    if engine in READ_GGUF and "quantization_config" not in str(preset.config):
        return tuple(name for name in weights if name != CHECKPOINT)
    return tried_names(engine, presets.load_preset(preset.name), weights)


def how_to_get(engine: str, model: str, weights: str) -> str:
    """What *engine* pulls *model* in *weights* by; empty where that is not known."""
    loaded = weights in (CHECKPOINT, MADE_WHILE_LOADING.get(engine)) or _is_halved(model, weights)
    if loaded and engine not in READ_GGUF:
        found = hub_id(model)
        return found if "/" in found else ""
    if engine in ("ollama", MINIMUM):
        return pull_name(model, weights) or (checkpoint_id(model, weights) or "" if engine == MINIMUM else "")
    repository = gguf_repository(model, weights)
    if engine in ("llama_cpp", "ik_llama_cpp"):
        return repository or ""
    return checkpoint_id(model, weights) or ""


def _is_halved(model: str, weights: str) -> bool:
    """Whether it is the checkpoint itself, loaded in 16 bit though stored in 32."""
    if weights == HALVED:
        with suppress(UnknownName):
            return presets.load_preset(model).stored_as == TO_HALVE
    return False
