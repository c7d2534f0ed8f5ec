"""Vision and audio towers of multimodal models, and the projectors into the text model, counted from their configs."""

from collections.abc import Callable, Iterator, Mapping

from planner.architecture import Tensor, Tower
from planner.formats import NumberFormat, Role
from planner.readers.family import Family, TowerRule
from planner.readers.values import Values

_Sizes = Iterator[tuple[str, int, int, int]]
"""Name, rows, columns and how many: ``("q_proj.weight", 1152, 1152, 27)``."""


def read_towers(
    config: Mapping[str, object], family: Family, hidden_size: int, stored: NumberFormat
) -> tuple[tuple[Tower, ...], tuple[str, ...]]:
    """The towers that *family* says stand beside a text model of *hidden_size*, and warnings for uncounted ones."""
    towers, warnings = [], []
    for rule in family.towers:
        table = config.get(rule.config)
        if not isinstance(table, Mapping) or rule.layout not in _LAYOUTS:
            if table is not None or rule.config not in config:
                warnings.append(f"The {rule.kind} part is not counted: its size does not follow from this config.")
            continue
        towers.append(_tower(table, rule, family, hidden_size, stored))
    return tuple(towers), tuple(dict.fromkeys(warnings))


def _tower(
    table: Mapping[str, object], rule: TowerRule, family: Family, hidden_size: int, stored: NumberFormat
) -> Tower:
    values = Values(table, f"{family.model_type}: {rule.config}", defaults=rule.defaults)
    return Tower(
        kind=rule.kind,
        tensors=tuple(
            Tensor(name=name, role=Role.TOWER, rows=rows, columns=columns, count=count, stored=stored)
            for name, rows, columns, count in _LAYOUTS[rule.layout](values, hidden_size)
        ),
    )


def _linear(name: str, rows: int, columns: int, count: int) -> _Sizes:
    yield f"{name}.weight", rows, columns, count
    yield f"{name}.bias", 1, rows, count


def _layer_norm(name: str, size: int, count: int) -> _Sizes:
    yield f"{name}.weight", 1, size, count
    yield f"{name}.bias", 1, size, count


def _encoder(hidden: int, intermediate: int, layers: int) -> _Sizes:
    """The usual pre-norm transformer encoder with biases everywhere."""
    for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
        yield from _linear(f"encoder.self_attn.{name}", hidden, hidden, layers)
    yield from _layer_norm("encoder.layer_norm1", hidden, layers)
    yield from _layer_norm("encoder.layer_norm2", hidden, layers)
    yield from _linear("encoder.mlp.fc1", intermediate, hidden, layers)
    yield from _linear("encoder.mlp.fc2", hidden, intermediate, layers)


def _siglip(values: Values, hidden_size: int) -> _Sizes:
    """SigLIP, with its attention-pooling head unless the config leaves it out."""
    hidden, patch = values.integer("hidden_size"), values.integer("patch_size")
    patches = (values.integer("image_size") // patch) ** 2
    yield from _linear("embeddings.patch_embedding", hidden, 3 * patch * patch, 1)
    yield "embeddings.position_embedding.weight", patches, hidden, 1
    yield from _encoder(hidden, values.integer("intermediate_size"), values.integer("num_hidden_layers"))
    yield from _layer_norm("post_layernorm", hidden, 1)
    if values.get("vision_use_head") is not False:
        yield "head.probe", 1, hidden, 1
        yield from _linear("head.attention.in_proj", 3 * hidden, hidden, 1)
        yield from _linear("head.attention.out_proj", hidden, hidden, 1)
        yield from _layer_norm("head.layernorm", hidden, 1)
        yield from _linear("head.mlp.fc1", values.integer("intermediate_size"), hidden, 1)
        yield from _linear("head.mlp.fc2", hidden, values.integer("intermediate_size"), 1)


def _gemma3_projector(values: Values, hidden_size: int) -> _Sizes:
    hidden = values.integer("hidden_size")
    yield "mm_input_projection_weight", hidden_size, hidden, 1
    yield "mm_soft_emb_norm.weight", 1, hidden, 1


_LAYOUTS: dict[str, Callable[[Values, int], _Sizes]] = {
    "siglip": _siglip,
    "gemma3_projector": _gemma3_projector,
}
