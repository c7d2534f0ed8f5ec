"""The planner's formula of a forward pass of transformers, for models of plain attention layers."""

from collections.abc import Mapping
from typing import Any

from planner.architecture import Architecture
from planner.engines.forward_pass import Shape, pass_bytes, plain_shape, score_matrix_bytes

__all__ = ["Shape", "pass_bytes", "score_matrix_bytes", "shape_of"]


def shape_of(architecture: Architecture, config: Mapping[str, Any], element_bytes: int) -> Shape | None:
    """The shape of a plain model; ``None`` too where its *config* names no single inner width."""
    return plain_shape(architecture, element_bytes) if isinstance(config.get("intermediate_size"), int) else None
