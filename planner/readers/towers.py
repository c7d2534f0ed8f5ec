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


def _qwen3_vision(values: Values, hidden_size: int) -> _Sizes:
    """Qwen3's encoder of patches in space and time, and its mergers into the text model: one, and one a deep stack."""
    hidden, intermediate = values.integer("hidden_size"), values.integer("intermediate_size")
    layers, patch = values.integer("depth"), values.integer("patch_size")
    merged = hidden * values.integer("spatial_merge_size") ** 2
    pixels = values.integer("in_channels") * values.integer("temporal_patch_size") * patch * patch
    yield from _linear("patch_embed.proj", hidden, pixels, 1)
    yield "pos_embed.weight", values.integer("num_position_embeddings"), hidden, 1
    yield from _linear("blocks.attn.qkv", 3 * hidden, hidden, layers)
    yield from _linear("blocks.attn.proj", hidden, hidden, layers)
    yield from _linear("blocks.mlp.linear_fc1", intermediate, hidden, layers)
    yield from _linear("blocks.mlp.linear_fc2", hidden, intermediate, layers)
    yield from _layer_norm("blocks.norm", hidden, 2 * layers)
    stacks = len(values.integers("deepstack_visual_indexes")) if values.has("deepstack_visual_indexes") else 0
    out = values.optional_integer("out_hidden_size") or hidden_size
    yield from _layer_norm("merger.norm", hidden, 1)
    for name, width, count in (("merger", merged, 1), ("deepstack_merger_list", merged, stacks)):
        yield from _linear(f"{name}.linear_fc1", width, width, count)
        yield from _linear(f"{name}.linear_fc2", out, width, count)
    yield from _layer_norm("deepstack_merger_list.norm", merged, stacks)


_LAYOUTS: dict[str, Callable[[Values, int], _Sizes]] = {
    "siglip": _siglip,
    "gemma3_projector": _gemma3_projector,
    "qwen3_vision": _qwen3_vision,
}
