"""What a model is, layer by layer: kinds, growth, parameters by role."""

from collections.abc import Iterable

from planner.architecture import Architecture, Layer
from planner.formats import NumberFormat
from planner.kv_cache import KVCacheSpec, bytes_per_token_at, fixed_bytes, layer_specs
from planner.records import dataclass
from planner.weights import MTP, active_parameters, parameters, parameters_by_role


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerGrowth:
    """How one layer's cache grows for one request, from its first token.

    *max_tokens* is where it stops growing; ``None``: it never does, or it never grows at all.
    """

    index: int
    kind: str
    parameters: int
    kv_fixed_bytes: int
    kv_bytes_per_token: int | float
    max_tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """The contract of ``inspect --json``. Bytes are for the cache format that was asked, or the model's own.

    *parameters_by_role* adds up to *parameters* and *not_loaded_parameters*, those of its role ``mtp``.
    """

    model: str
    model_type: str
    parameters: int
    active_parameters: int
    parameters_by_role: dict[str, int]
    not_loaded_parameters: int
    model_limit_tokens: int | None
    stored_as: str
    stored_doubt: str
    layers: tuple[LayerGrowth, ...]
    warnings: tuple[str, ...]


def inspect_model(architecture: Architecture, key_format: NumberFormat, value_format: NumberFormat) -> Inspection:
    """Everything that follows from the architecture alone."""
    by_role = parameters_by_role(architecture)
    return Inspection(
        model=architecture.title,
        model_type=architecture.model_type,
        parameters=parameters(architecture),
        active_parameters=active_parameters(architecture),
        parameters_by_role=by_role,
        not_loaded_parameters=by_role.get(MTP, 0),
        model_limit_tokens=architecture.max_position_embeddings,
        stored_as=architecture.stored_as,
        stored_doubt=architecture.stored_doubt,
        layers=tuple(
            layer_growth(index, layer, key_format, value_format) for index, layer in enumerate(architecture.layers)
        ),
        warnings=architecture.warnings,
    )


def layer_growth(index: int, layer: Layer, key_format: NumberFormat, value_format: NumberFormat) -> LayerGrowth:
    """How *layer*, which stands at *index*, grows."""
    specs = layer_specs(layer, key_format, value_format)
    return LayerGrowth(
        index=index,
        kind=layer.kind,
        parameters=sum(tensor.elements for tensor in layer.tensors),
        kv_fixed_bytes=fixed_bytes(specs),
        kv_bytes_per_token=bytes_per_token_at(specs, 0),
        max_tokens=_last_growth(specs),
    )


def _last_growth(specs: Iterable[KVCacheSpec]) -> int | None:
    limits = [spec.max_tokens for spec in specs if spec.bytes_per_entry]
    bounded = [limit for limit in limits if limit is not None]
    return max(bounded) if bounded and len(bounded) == len(limits) else None
