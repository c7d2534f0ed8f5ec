"""Names of published checkpoints and what they are for."""

import pytest

from planner.formats import Role
from planner.readers.checkpoint.roles import Part, Place, place_of, role_of
from planner.readers.stored_tensors import TensorTable

LAYER, OUTER, MTP, TOWER, BUFFER = Part.LAYER, Part.OUTER, Part.MTP, Part.TOWER, Part.BUFFER

NAMES: list[tuple[str, int, Part, int, Role | str]] = [
    ("model.embed_tokens.weight", 2, OUTER, 0, Role.EMBEDDING),
    ("model.norm.weight", 1, OUTER, 0, Role.NORM),
    ("lm_head.weight", 2, OUTER, 0, Role.HEAD),
    ("model.layers.31.self_attn.q_proj.weight", 2, LAYER, 31, Role.LINEAR),
    ("model.layers.31.self_attn.q_proj.bias", 1, LAYER, 31, Role.BIAS),
    ("model.layers.31.self_attn.q_norm.weight", 1, LAYER, 31, Role.NORM),
    ("model.layers.0.self_attn.sinks", 1, LAYER, 0, Role.BIAS),
    ("model.layers.3.mlp.gate_proj.weight", 2, LAYER, 3, Role.LINEAR),
    ("model.layers.3.mlp.gate.weight", 2, LAYER, 3, Role.ROUTER),
    ("model.layers.3.mlp.gate.e_score_correction_bias", 1, LAYER, 3, Role.ROUTER),
    ("model.layers.3.mlp.router.bias", 1, LAYER, 3, Role.BIAS),
    ("model.layers.3.mlp.shared_expert_gate.weight", 2, LAYER, 3, Role.ROUTER),
    ("model.layers.3.mlp.shared_experts.up_proj.weight", 2, LAYER, 3, Role.LINEAR),
    ("model.layers.3.mlp.experts.200.up_proj.weight", 2, LAYER, 3, Role.EXPERT),
    ("model.layers.3.mlp.experts.gate_up_proj", 3, LAYER, 3, Role.EXPERT),
    ("model.layers.3.mlp.experts.gate_up_proj_bias", 2, LAYER, 3, Role.BIAS),
    ("model.layers.3.block_sparse_moe.gate.weight", 2, LAYER, 3, Role.ROUTER),
    ("model.layers.3.block_sparse_moe.experts.7.w2.weight", 2, LAYER, 3, Role.EXPERT),
    ("model.layers.3.block_sparse_moe.input_linear.weight", 3, LAYER, 3, Role.EXPERT),
    ("model.layers.3.block_sparse_moe.router.layer.weight", 2, LAYER, 3, Role.ROUTER),
    ("transformer.blocks.9.norm_attn_norm.attn.Wqkv.weight", 2, LAYER, 9, Role.LINEAR),
    ("transformer.blocks.9.norm_attn_norm.norm_1.weight", 1, LAYER, 9, Role.NORM),
    ("transformer.h.11.ln_1.weight", 1, LAYER, 11, Role.NORM),
    ("transformer.h.11.mlp.c_fc.weight", 2, LAYER, 11, Role.LINEAR),
    ("transformer.ln_f.bias", 1, OUTER, 0, Role.NORM),
    ("transformer.wte.weight", 2, OUTER, 0, Role.EMBEDDING),
    ("transformer.wpe.weight", 2, OUTER, 0, Role.EMBEDDING),
    ("gpt_neox.embed_in.weight", 2, OUTER, 0, Role.EMBEDDING),
    ("embed_out.weight", 2, OUTER, 0, Role.HEAD),
    ("transformer.output_layer.weight", 2, OUTER, 0, Role.HEAD),
    ("transformer.encoder.layers.5.self_attention.query_key_value.weight", 2, LAYER, 5, Role.LINEAR),
    ("model.layers.5.linear_attn.conv1d.weight", 3, LAYER, 5, Role.STATE),
    ("model.layers.5.linear_attn.A_log", 1, LAYER, 5, Role.STATE),
    ("model.layers.5.linear_attn.dt_bias", 1, LAYER, 5, Role.STATE),
    ("model.layers.5.linear_attn.in_proj_qkvz.weight", 2, LAYER, 5, Role.LINEAR),
    ("backbone.layers.5.mixer.D", 1, LAYER, 5, Role.STATE),
    ("model.layers.5.conv.conv.weight", 3, LAYER, 5, Role.STATE),
    ("language_model.model.layers.7.mlp.down_proj.weight", 2, LAYER, 7, Role.LINEAR),
    ("model.layers.7.self_attn.vision_expert_dense.weight", 2, LAYER, 7, Role.LINEAR),
    ("model.mtp.layers.0.mlp.up_proj.weight", 2, MTP, 0, Role.LINEAR),
    ("model.mtp_layers.2.input_layernorm.weight", 1, MTP, 2, Role.NORM),
    ("mtp.fc.weight", 2, MTP, 0, Role.LINEAR),
    ("model.layers.61.shared_head.head.weight", 2, LAYER, 61, Role.HEAD),
    ("model.layers.61.embed_tokens.weight", 2, LAYER, 61, Role.EMBEDDING),
    ("visual.blocks.3.attn.qkv.weight", 2, TOWER, 0, "vision"),
    ("model.visual.merger.mlp.0.weight", 2, TOWER, 0, "vision"),
    ("vision_tower.vision_model.encoder.layers.3.mlp.fc1.weight", 2, TOWER, 0, "vision"),
    ("model.vision_embed_tokens.img_processor.vision_model.post_layernorm.bias", 1, TOWER, 0, "vision"),
    ("multi_modal_projector.linear_1.weight", 2, TOWER, 0, "projector"),
    ("mlp1.0.weight", 2, TOWER, 0, "projector"),
    ("audio_tower.layers.3.fc1.weight", 2, TOWER, 0, "audio"),
    ("thinker.audio_tower.conv1.weight", 3, TOWER, 0, "audio"),
    ("model.layers.0.self_attn.rotary_emb.inv_freq", 1, BUFFER, 0, Role.BIAS),
    ("transformer.h.0.attn.masked_bias", 0, BUFFER, 0, Role.BIAS),
    ("h.0.attn.bias", 4, BUFFER, 0, Role.BIAS),
]


def found(name: str) -> tuple[Place, int]:
    """The place of the tensor called *name*, and its layer's index."""
    table = TensorTable()
    table.add(name, "BF16", ())
    (group,) = table.groups()
    place, ordinal = place_of(group.template)
    return place, 0 if ordinal is None else next(group.numbers(ordinal))


@pytest.mark.parametrize(("name", "dimensions", "part", "index", "what"), NAMES, ids=[row[0] for row in NAMES])
def test_names(name: str, dimensions: int, part: Part, index: int, what: Role | str) -> None:
    place, number = found(name)
    assert (place.part, number) == (part, index)
    if part is Part.TOWER:
        assert (place.kind, role_of(place.part, place.name, dimensions)) == (what, Role.TOWER)
    elif part is not Part.BUFFER:
        assert role_of(place.part, place.name, dimensions) is what


def test_numbers_of_experts_are_no_layers() -> None:
    place, index = found("model.layers.3.mlp.experts.17.up_proj.weight")
    assert (index, place.name) == (3, "mlp.experts.up_proj.weight")


def test_a_name_with_the_mark_that_stands_for_numbers() -> None:
    assert found("model.layers.#.mlp.weight")[0].part is Part.OUTER
