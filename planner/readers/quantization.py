"""A checkpoint's own quantisation: which of its tensors are stored in which format."""

from collections.abc import Mapping
from dataclasses import replace

from planner.architecture import Architecture, Layer
from planner.formats import NumberFormat, Role
from planner.units import shorten


def apply_quantization(
    architecture: Architecture, quantization: Mapping[str, object], formats: Mapping[str, NumberFormat]
) -> Architecture:
    """*architecture* with its tensors as a ``quantization_config`` stores them."""
    method = quantization.get("quant_method")
    if method != "mxfp4":
        name = shorten(str(method))
        note = f"The checkpoint's own quantisation ({name}) is not counted yet: its weights are counted unquantised."
        return replace(architecture, warnings=(*architecture.warnings, note))
    stored = {id(layer): _mxfp4(layer, formats["mxfp4"]) for layer in architecture.layers}
    return replace(architecture, layers=tuple(stored[id(layer)] for layer in architecture.layers), stored_as="mxfp4")


def _mxfp4(layer: Layer, mxfp4: NumberFormat) -> Layer:
    """Expert weights in MXFP4; their biases and everything else as they are.

    Source: OCP Microscaling Formats v1.0; the published gpt-oss files.
    """
    tensors = (replace(t, stored=mxfp4) if t.role is Role.EXPERT else t for t in layer.tensors)
    return replace(layer, tensors=tuple(tensors))
