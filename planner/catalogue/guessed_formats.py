"""A checkpoint of which only its name is known: a preset's layers in the format that the name ends with."""

from dataclasses import replace

from planner import format_presets, presets
from planner.architecture import Architecture, Layer, Tensor
from planner.formats import QuantScheme

BY_NAME = "by its name"


def in_format(name: str, model: str, weights: str) -> Architecture | None:
    """The preset *model* as the repository *name* is guessed to store it: every matrix of its layers in *weights*.

    What such a file leaves in 16 bit its name does not say, so that the formats are assumed. ``None`` for a file type
    of GGUF, which is chosen as a format of weights and decides tensor by tensor.
    """
    if format_presets.find_mix(weights) is not None:
        return None
    whole, known = presets.load_preset(model), format_presets.formats()
    chosen = known[weights]
    scheme = QuantScheme(format=chosen, rest=known["fp16" if whole.stored_as == "fp16" else "bf16"])
    built: dict[int, Layer] = {}

    def stored(layer: Layer) -> Layer:
        if id(layer) not in built:
            built[id(layer)] = replace(layer, tensors=_stored(layer.tensors, scheme))
        return built[id(layer)]

    return replace(
        whole,
        name=name,
        title=name,
        layers=tuple(map(stored, whole.layers)),
        mtp_layers=tuple(map(stored, whole.mtp_layers)),
        tensors=_stored(whole.tensors, scheme),
        stored_as=chosen.name,
        stored_assumed=True,
        stored_doubt=BY_NAME,
        source=f"layers of {model} ({whole.source}), all matrices in {chosen.name} {BY_NAME}",
        warnings=(
            *whole.warnings,
            f"{name} is taken as {model} in {chosen.name}, {BY_NAME}: what its files keep in 16 bit is not known and "
            "would add to the weights. With --online its own config is read.",
        ),
    )


def _stored(tensors: tuple[Tensor, ...], scheme: QuantScheme) -> tuple[Tensor, ...]:
    return tuple(replace(each, stored=scheme.format_of(each.role, each.stored)) for each in tensors)
