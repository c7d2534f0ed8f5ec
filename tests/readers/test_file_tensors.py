"""Checkpoints' own tensors in a config's architecture: bytes equal the files, parameters stay the model's."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.architecture import Architecture, distinct_layers
from planner.errors import BadFile
from planner.formats import QuantScheme
from planner.readers.checkpoint.tensors import with_file_tensors
from planner.readers.hf_config import read_config
from planner.readers.safetensors import read_safetensors
from planner.readers.stored import SERVED_IN_16_BIT
from planner.readers.stored_tensors import StoredTensors, TensorTable
from planner.weights import active_parameters, bytes_by_role, model_bytes, parameters, parameters_by_role
from tests.readers.knowledge import FORMATS, KNOWLEDGE
from tests.readers.safetensors_files import Shapes, write, write_index
from tests.readers.stored_summary import summarize

AS_STORED = QuantScheme(format=None, rest=FORMATS["bf16"])
HIDDEN, WIDTH, VOCAB, LAYERS = 128, 256, 512, 3
LLAMA: dict[str, object] = {
    "model_type": "llama",
    "torch_dtype": "bfloat16",
    "hidden_size": HIDDEN,
    "intermediate_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": VOCAB,
    "tie_word_embeddings": False,
}
PROJECTIONS = {
    "self_attn.q_proj": (128, HIDDEN),
    "self_attn.k_proj": (64, HIDDEN),
    "self_attn.v_proj": (64, HIDDEN),
    "self_attn.o_proj": (HIDDEN, 128),
    "mlp.gate_proj": (WIDTH, HIDDEN),
    "mlp.up_proj": (WIDTH, HIDDEN),
    "mlp.down_proj": (HIDDEN, WIDTH),
}
Packing = Callable[[str, int, int], Shapes]


def plain(name: str, rows: int, columns: int) -> Shapes:
    return {f"{name}.weight": ("BF16", (rows, columns))}


def checkpoint(pack: Packing = plain) -> dict[str, tuple[str, tuple[int, ...]]]:
    """A small Llama's tensors, its projections stored as *pack* says."""
    tensors: dict[str, tuple[str, tuple[int, ...]]] = {
        "model.embed_tokens.weight": ("BF16", (VOCAB, HIDDEN)),
        "model.norm.weight": ("BF16", (HIDDEN,)),
        "lm_head.weight": ("BF16", (VOCAB, HIDDEN)),
    }
    for index in range(LAYERS):
        for norm in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"model.layers.{index}.{norm}.weight"] = ("BF16", (HIDDEN,))
        for name, (rows, columns) in PROJECTIONS.items():
            tensors |= pack(f"model.layers.{index}.{name}", rows, columns)
    return tensors


def read(folder: Path, tensors: Shapes, **changes: object) -> tuple[Architecture, Architecture, int]:
    """The config's architecture, the same with the tensors of a file that stores *tensors*, and the file's bytes."""
    size = write(folder / "model.safetensors", tensors)
    config = read_config(LLAMA | changes, KNOWLEDGE, name="small")
    return config, with_file_tensors(config, read_safetensors(folder)), size


def stored_bytes(architecture: Architecture) -> int:
    """Bytes of everything in *architecture*: layers, what is around them, towers, MTP layers."""
    around = (*architecture.tensors, *(tensor for tower in architecture.towers for tensor in tower.tensors))
    return model_bytes(architecture.layers, around, AS_STORED) + model_bytes(architecture.mtp_layers, (), AS_STORED)


def test_an_unquantised_checkpoint_is_its_config(tmp_path: Path) -> None:
    config, found, size = read(tmp_path, checkpoint())
    assert stored_bytes(found) == size
    assert parameters_by_role(found) == parameters_by_role(config)
    assert [layer.mixers for layer in found.layers] == [layer.mixers for layer in config.layers]
    assert [count for _, count in distinct_layers(found.layers)] == [LAYERS]
    assert found.warnings == ()


def gptq(name: str, rows: int, columns: int) -> Shapes:
    groups = columns // 32
    return {
        f"{name}.qweight": ("I32", (columns // 8, rows)),
        f"{name}.qzeros": ("I32", (groups, rows // 8)),
        f"{name}.scales": ("F16", (groups, rows)),
        f"{name}.g_idx": ("I32", (columns,)),
    }


def gptq_without_order(name: str, rows: int, columns: int) -> Shapes:
    return {key: value for key, value in gptq(name, rows, columns).items() if not key.endswith("g_idx")}


def gptq_three_bits(name: str, rows: int, columns: int) -> Shapes:
    return {
        f"{name}.qweight": ("I32", (columns * 3 // 32, rows)),
        f"{name}.qzeros": ("I32", (1, rows * 3 // 32)),
        f"{name}.scales": ("F16", (1, rows)),
    }


def awq(name: str, rows: int, columns: int) -> Shapes:
    groups = columns // 32
    return {
        f"{name}.qweight": ("I32", (columns, rows // 8)),
        f"{name}.qzeros": ("I32", (groups, rows // 8)),
        f"{name}.scales": ("F16", (groups, rows)),
    }


def fp8_block(name: str, rows: int, columns: int) -> Shapes:
    return {
        f"{name}.weight": ("F8_E4M3", (rows, columns)),
        f"{name}.weight_scale_inv": ("F32", (-(-rows // 128), -(-columns // 128))),
    }


def fp8_tensor(name: str, rows: int, columns: int) -> Shapes:
    return {
        f"{name}.weight": ("F8_E4M3", (rows, columns)),
        f"{name}.weight_scale": ("F32", ()),
        f"{name}.input_scale": ("F32", (1,)),
    }


def int8_row(name: str, rows: int, columns: int) -> Shapes:
    return {f"{name}.weight": ("I8", (rows, columns)), f"{name}.weight_scale": ("BF16", (rows, 1))}


def llm_int8(name: str, rows: int, columns: int) -> Shapes:
    return {
        f"{name}.weight": ("I8", (rows, columns)),
        f"{name}.SCB": ("F32", (rows,)),
        f"{name}.weight_format": ("U8", ()),
    }


def compressed_asymmetric(name: str, rows: int, columns: int) -> Shapes:
    groups = columns // 32
    return {
        f"{name}.weight_packed": ("I32", (rows, columns // 8)),
        f"{name}.weight_scale": ("BF16", (rows, groups)),
        f"{name}.weight_zero_point": ("I32", (rows // 8, groups)),
        f"{name}.weight_shape": ("I64", (2,)),
    }


def compressed_symmetric(name: str, rows: int, columns: int) -> Shapes:
    full = compressed_asymmetric(name, rows, columns)
    return {key: value for key, value in full.items() if not key.endswith("zero_point")}


def compressed_nvfp4(name: str, rows: int, columns: int) -> Shapes:
    return {
        f"{name}.weight_packed": ("U8", (rows, columns // 2)),
        f"{name}.weight_scale": ("F8_E4M3", (rows, columns // 16)),
        f"{name}.weight_global_scale": ("F32", (1,)),
        f"{name}.input_global_scale": ("F32", (1,)),
    }


def modelopt_nvfp4(name: str, rows: int, columns: int) -> Shapes:
    return {
        f"{name}.weight": ("U8", (rows, columns // 2)),
        f"{name}.weight_scale": ("F8_E4M3", (rows, columns // 16)),
        f"{name}.weight_scale_2": ("F32", ()),
        f"{name}.input_scale": ("F32", ()),
    }


def fp4_in_int8(name: str, rows: int, columns: int) -> Shapes:
    return {f"{name}.weight": ("I8", (rows, columns // 2)), f"{name}.scale": ("F8_E8M0", (rows, columns // 32))}


def nf4(name: str, rows: int, columns: int) -> Shapes:
    elements = rows * columns
    return {
        f"{name}.weight": ("U8", (elements // 2, 1)),
        f"{name}.weight.absmax": ("U8", (elements // 64,)),
        f"{name}.weight.nested_absmax": ("F32", (-(-elements // 64 // 256),)),
        f"{name}.weight.nested_quant_map": ("F32", (256,)),
        f"{name}.weight.quant_map": ("F32", (16,)),
        f"{name}.weight.quant_state.bitsandbytes__nf4": ("U8", (83,)),
    }


def hqq(name: str, rows: int, columns: int) -> Shapes:
    return {
        f"{name}.W_q": ("U8", (rows * columns // 128, 64)),
        f"{name}.scale": ("BF16", (rows * columns // 64, 1)),
        f"{name}.zero": ("BF16", (rows * columns // 64, 1)),
    }


def mlx(name: str, rows: int, columns: int) -> Shapes:
    return {
        f"{name}.weight": ("U32", (rows, columns // 8)),
        f"{name}.scales": ("BF16", (rows, columns // 64)),
        f"{name}.biases": ("BF16", (rows, columns // 64)),
    }


def exl3(name: str, rows: int, columns: int) -> Shapes:
    return {
        f"{name}.trellis": ("I16", (columns // 16, rows // 16, 48)),
        f"{name}.suh": ("F16", (columns,)),
        f"{name}.svh": ("F16", (rows,)),
    }


def exl2(name: str, rows: int, columns: int) -> Shapes:
    return {
        f"{name}.q_weight": ("I32", (columns // 8 + 8, rows)),
        f"{name}.q_scale": ("I32", (4, rows // 8)),
        f"{name}.q_scale_max": ("F16", (4,)),
        f"{name}.q_groups": ("I16", (8,)),
        f"{name}.q_invperm": ("I32", (columns,)),
    }


PACKINGS: list[Packing] = [
    gptq, gptq_without_order, gptq_three_bits, awq, fp8_block, fp8_tensor, int8_row, llm_int8, compressed_asymmetric,
    compressed_symmetric, compressed_nvfp4, modelopt_nvfp4, fp4_in_int8, nf4, hqq, mlx, exl3, exl2,
]  # fmt: skip


@pytest.mark.parametrize("pack", PACKINGS, ids=lambda pack: pack.__name__)
def test_a_packed_checkpoint_keeps_its_bytes_and_its_models_parameters(tmp_path: Path, pack: Packing) -> None:
    config, found, size = read(tmp_path, checkpoint(pack))
    assert stored_bytes(found) == size
    assert parameters_by_role(found) == parameters_by_role(config)
    by_role = bytes_by_role(found.layers, found.tensors, AS_STORED)
    assert by_role["embedding"] == by_role["head"] == 2 * VOCAB * HIDDEN
    assert by_role["linear"] == size - 4 * VOCAB * HIDDEN - 2 * HIDDEN * (2 * LAYERS + 1)
    assert found.warnings == ()


def test_a_packed_weight_splits_over_ranks(tmp_path: Path) -> None:
    """Four-bit weights with a scale a group of 32 split evenly: two ranks hold half the bytes each."""
    _, found, _ = read(tmp_path, checkpoint(awq))
    whole = bytes_by_role(found.layers, (), AS_STORED)["linear"]
    assert bytes_by_role(found.layers, (), AS_STORED, tensor_parallel=2)["linear"] == whole // 2


def test_cache_scales_are_bytes_without_parameters(tmp_path: Path) -> None:
    tensors = checkpoint() | {f"model.layers.{i}.self_attn.k_scale": ("F32", (1,)) for i in range(LAYERS)}
    config, found, size = read(tmp_path, tensors)
    assert stored_bytes(found) == size
    assert parameters(found) == parameters(config)


def test_packing_that_nobody_explains_is_said(tmp_path: Path) -> None:
    tensors = checkpoint() | {"model.layers.0.mystery.W_q": ("I32", (7, 9))}
    config, found, size = read(tmp_path, tensors)
    assert stored_bytes(found) == size
    assert parameters(found) == parameters(config) + 63
    assert found.warnings == (
        "model.safetensors: how many parameters mystery.weight pack does not follow from its headers or config; "
        "bytes are exact, the parameter count is too low.",
    )


def test_a_stored_copy_of_a_tied_head_and_buffers_are_not_loaded(tmp_path: Path) -> None:
    tensors = checkpoint() | {f"model.layers.{i}.self_attn.rotary_emb.inv_freq": ("F32", (16,)) for i in range(LAYERS)}
    config, found, size = read(tmp_path, tensors, tie_word_embeddings=True)
    head, buffers = 2 * VOCAB * HIDDEN, LAYERS * 64
    assert stored_bytes(found) == size - head - buffers
    assert parameters(found) == parameters(config)
    assert found.warnings == (
        "model.safetensors stores buffers (192 B) that the model does not load: not counted.",
        "model.safetensors stores a copy of the tied head (0.12 MiB) that the model does not load: not counted.",
    )


def test_layers_beyond_the_models_are_for_prediction(tmp_path: Path) -> None:
    extra = {
        "enorm.weight": (HIDDEN,),
        "eh_proj.weight": (HIDDEN, 2 * HIDDEN),
        "self_attn.q_proj.weight": (128, HIDDEN),
    }
    tensors = checkpoint() | {f"model.layers.{LAYERS}.{name}": ("BF16", shape) for name, shape in extra.items()}
    config, found, size = read(tmp_path, tensors)
    assert stored_bytes(found) == size
    assert parameters(found) == parameters(config)
    assert parameters_by_role(found)["mtp"] == HIDDEN + 2 * HIDDEN * HIDDEN + 128 * HIDDEN
    assert len(found.mtp_layers) == 1


def test_named_prediction_layers_and_what_is_around_them(tmp_path: Path) -> None:
    extra = {
        "mtp.fc.weight": (HIDDEN, 2 * HIDDEN),
        "mtp.norm.weight": (HIDDEN,),
        "mtp.layers.0.mlp.up_proj.weight": (8, HIDDEN),
    }
    _, found, size = read(tmp_path, checkpoint() | {name: ("BF16", shape) for name, shape in extra.items()})
    assert stored_bytes(found) == size
    assert parameters_by_role(found)["mtp"] == 2 * HIDDEN * HIDDEN + HIDDEN + 8 * HIDDEN


def test_towers_are_their_own_whatever_they_name_their_layers(tmp_path: Path) -> None:
    tensors = {name.replace("model.", "model.language_model.", 1): value for name, value in checkpoint().items()}
    tensors |= {f"model.visual.blocks.{i}.attn.qkv.weight": ("BF16", (96, 32)) for i in range(5)}
    tensors |= {
        "model.visual.merger.mlp.0.weight": ("BF16", (32, 32)),
        "audio_tower.conv1.weight": ("BF16", (8, 80, 3)),
    }
    config, found, size = read(tmp_path, tensors)
    assert stored_bytes(found) == size
    assert {tower.kind: sum(t.elements for t in tower.tensors) for tower in found.towers} == {
        "vision": 5 * 96 * 32 + 32 * 32,
        "audio": 8 * 80 * 3,
    }
    assert parameters_by_role(found)["linear"] == parameters_by_role(config)["linear"]


def test_layers_stored_differently_are_different_layers(tmp_path: Path) -> None:
    tensors = checkpoint()
    for name in PROJECTIONS:
        del tensors[f"model.layers.1.{name}.weight"]
        tensors |= awq(f"model.layers.1.{name}", *PROJECTIONS[name])
    config, found, size = read(tmp_path, tensors)
    assert stored_bytes(found) == size
    assert parameters(found) == parameters(config)
    assert [count for _, count in distinct_layers(found.layers)] == [2, 1]


QWEN3_MOE = LLAMA | {
    "model_type": "qwen3_moe", "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64, "head_dim": 32,
}  # fmt: skip


def mixture(pack: Packing) -> Shapes:
    tensors = {name: value for name, value in checkpoint().items() if ".mlp." not in name}
    for index in range(LAYERS):
        layer = f"model.layers.{index}"
        tensors[f"{layer}.mlp.gate.weight"] = ("BF16", (8, HIDDEN))
        tensors |= {f"{layer}.self_attn.{norm}.weight": ("BF16", (32,)) for norm in ("q_norm", "k_norm")}
        for expert in range(8):
            for name, (rows, columns) in {"gate": (64, HIDDEN), "up": (64, HIDDEN), "down": (HIDDEN, 64)}.items():
                tensors |= pack(f"{layer}.mlp.experts.{expert}.{name}_proj", rows, columns)
    return tensors


@pytest.mark.parametrize("pack", [plain, gptq, modelopt_nvfp4], ids=lambda pack: pack.__name__)
def test_experts_are_counted_and_a_token_uses_two(tmp_path: Path, pack: Packing) -> None:
    config, found, size = read(tmp_path, mixture(pack), **QWEN3_MOE)
    assert stored_bytes(found) == size
    assert parameters_by_role(found) == parameters_by_role(config)
    assert active_parameters(found) == active_parameters(config)
    experts = [tensor for tensor in found.layers[0].tensors if tensor.role == "expert"]
    assert [(tensor.count, tensor.active) for tensor in experts] == [(8, 2)] * 3


def test_one_expert_stored_differently_changes_bytes_only(tmp_path: Path) -> None:
    tensors = dict(mixture(gptq))
    for part in ("qweight", "qzeros", "scales", "g_idx"):
        del tensors[f"model.layers.0.mlp.experts.3.up_proj.{part}"]
    config, found, size = read(
        tmp_path, tensors | plain("model.layers.0.mlp.experts.3.up_proj", 64, HIDDEN), **QWEN3_MOE
    )
    assert stored_bytes(found) == size
    assert parameters(found) == parameters(config)
    assert active_parameters(found) == active_parameters(config)


def test_stacked_experts_in_microscaling_blocks(tmp_path: Path) -> None:
    """gpt-oss: two 4-bit elements a byte in blocks of 32, one scale byte a block, all experts in one tensor."""
    tensors = {name: value for name, value in mixture(plain).items() if ".experts." not in name}
    for index in range(LAYERS):
        experts = f"model.layers.{index}.mlp.experts"
        for name, (rows, columns) in {"gate_up_proj": (128, HIDDEN), "down_proj": (HIDDEN, 64)}.items():
            tensors[f"{experts}.{name}_blocks"] = ("U8", (8, rows, columns // 32, 16))
            tensors[f"{experts}.{name}_scales"] = ("U8", (8, rows, columns // 32))
    config, found, size = read(tmp_path, tensors, **QWEN3_MOE)
    assert stored_bytes(found) == size
    assert parameters(found) == parameters(config)
    assert active_parameters(found) == active_parameters(config)
    expert_bytes = bytes_by_role(found.layers, (), AS_STORED)["expert"]
    assert expert_bytes == parameters_by_role(config)["expert"] * 17 // 32


def test_a_scale_for_all_stacked_experts_is_bytes_without_parameters(tmp_path: Path) -> None:
    tensors = {name: value for name, value in mixture(plain).items() if ".experts." not in name}
    for index in range(LAYERS):
        experts = f"model.layers.{index}.mlp.experts"
        for name, (rows, columns) in {"gate_up_proj": (128, HIDDEN), "down_proj": (HIDDEN, 64)}.items():
            tensors[f"{experts}.{name}"] = ("F8_E4M3", (8, rows, columns))
            tensors[f"{experts}.{name}_scale"] = ("BF16", (1,))
    config, found, size = read(tmp_path, tensors, **QWEN3_MOE)
    assert stored_bytes(found) == size
    assert parameters(found) == parameters(config)
    assert active_parameters(found) == active_parameters(config)


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"has no tensors of layer 3, and small has 4 layers"):
        read(tmp_path, checkpoint(), num_hidden_layers=4)


def test_more_layers_than_the_config_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"has tensors of layer 2, and small has 2 layers: config and weights are not of"):
        read(tmp_path, checkpoint(), num_hidden_layers=2)


def test_no_more_prediction_layers_than_the_config_has(tmp_path: Path) -> None:
    layer = {name.replace(".0.", ".{}."): value for name, value in checkpoint().items() if ".layers.0." in name}
    one, two = ({name.format(LAYERS + more): value for name, value in layer.items()} for more in (0, 1))
    mimo = {"model_type": "mimo", "num_nextn_predict_layers": 1}
    assert len(read(tmp_path, checkpoint() | one, **mimo)[1].mtp_layers) == 1
    with pytest.raises(BadFile, match=r"has tensors of layer 4, and small has 3 layers"):
        read(tmp_path, checkpoint() | one | two, **mimo)


@pytest.mark.parametrize("pack", [plain, gptq, awq, fp8_block, compressed_asymmetric, modelopt_nvfp4, exl3])
@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"num_key_value_heads": 4}, r"layer 0 .* 8,192 elements in self_attn\.k_proj, .* make 16,384"),
        ({"num_attention_heads": 8, "head_dim": 32}, r"in self_attn\.[qo]_proj"),
        ({"intermediate_size": 512}, r"in mlp\.gate_proj"),
        ({"vocab_size": 1024}, r"in (embed_tokens|lm_head), .* make 131,072"),
    ],
)
def test_shapes_that_the_config_does_not_make_are_refused(
    pack: Packing, changes: dict[str, object], place: str, tmp_path: Path
) -> None:
    with pytest.raises(BadFile, match=place + r".*config and weights are not of one model"):
        read(tmp_path, checkpoint(pack), **changes)


@pytest.mark.parametrize("pack", [nf4, hqq, mlx, compressed_symmetric])
def test_packed_weights_of_hidden_shapes_have_bits_that_a_format_can_have(pack: Packing, tmp_path: Path) -> None:
    """Four bits of four times the elements would be sixteen."""
    with pytest.raises(BadFile, match=r"layer 0 .* in self_attn\.[qkvo]_proj"):
        read(tmp_path, checkpoint(pack), head_dim=8)


def test_fused_projections_are_compared_by_their_sum(tmp_path: Path) -> None:
    apart = ("q_proj.weight", "k_proj.weight", "v_proj.weight")
    tensors = {name: value for name, value in checkpoint().items() if not name.endswith(apart)}
    for index in range(LAYERS):
        tensors[f"model.layers.{index}.self_attn.qkv_proj.weight"] = ("BF16", (128 + 64 + 64, HIDDEN))
    assert read(tmp_path, tensors)[1].tensors
    with pytest.raises(BadFile, match=r"32,768 elements in self_attn\.q_proj, .* make 49,152"):
        read(tmp_path, tensors, num_key_value_heads=4)


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("lm_head.weight", "has no head, and the config's is not tied to the embedding: it is not the whole model"),
        ("model.embed_tokens.weight", "has no embedding: it is not the whole model"),
        ("model.layers.1.mlp.up_proj.weight", r"has mlp\.up_proj in some layers only"),
        ("model.layers.0.self_attn.k_proj.weight", r"has self_attn\.k_proj in some layers only"),
    ],
)
def test_a_part_of_a_model_is_not_taken_for_all_of_it(missing: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=said):
        read(tmp_path, {name: value for name, value in checkpoint().items() if name != missing})


def test_a_file_that_is_one_of_several_stands_for_all(tmp_path: Path) -> None:
    tensors = checkpoint()
    names = list(tensors)
    files = [tmp_path / f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    write(files[0], {name: tensors[name] for name in names[:20]})
    write(files[1], {name: tensors[name] for name in names[20:]})
    config = read_config(LLAMA, KNOWLEDGE, name="small")
    whole = [with_file_tensors(config, read_safetensors(path)) for path in (tmp_path, *files)]
    assert [parameters(found) for found in whole] == [parameters(config)] * 3
    files[1].unlink()
    for path in (tmp_path, files[0]):
        with pytest.raises(BadFile, match=r"is incomplete: model-00002-of-00002\.safetensors not found"):
            with_file_tensors(config, read_safetensors(path))


@pytest.mark.parametrize(("dtype", "name"), [("BF16", "bf16"), ("F16", "fp16"), ("F32", "fp32"), ("F8_E4M3", "fp8")])
@pytest.mark.parametrize("said", ["bfloat16", "float32"])
def test_what_is_stored_is_what_the_headers_say(dtype: str, name: str, said: str, tmp_path: Path) -> None:
    tensors = {key: (dtype, shape) for key, (_, shape) in checkpoint().items()}
    _, found, _ = read(tmp_path, tensors, torch_dtype=said)
    assert (found.stored_as, found.source) == (name, "headers of model.safetensors")
    assert (SERVED_IN_16_BIT in found.warnings) == (name == "fp32")


def test_an_incomplete_checkpoint_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "x.safetensors", checkpoint())
    write_index(tmp_path / "model.safetensors.index.json", {"model.norm.weight": "x.safetensors", "b": "y.safetensors"})
    with pytest.raises(BadFile, match=r"is incomplete: y\.safetensors not found"):
        with_file_tensors(read_config(LLAMA, KNOWLEDGE), read_safetensors(tmp_path))


_PARTS = (
    "weight", "bias", "qweight", "qzeros", "scales", "g_idx", "weight_packed", "weight_scale", "weight_zero_point",
    "weight.absmax", "weight.quant_map", "W_q", "q_weight", "q_invperm", "trellis", "suh", "svh", "SCB", "k_scale",
)  # fmt: skip
_MODULES = ("self_attn.odd_proj", "mlp.experts.3.odd_proj", "mlp.experts", "mlp.gate", "input_layernorm", "linear_attn")
_SHAPES = st.lists(st.integers(0, 5), max_size=4).map(tuple)


@given(st.dictionaries(st.tuples(st.sampled_from(_MODULES), st.sampled_from(_PARTS)), _SHAPES), st.data())
@settings(max_examples=300, deadline=1000)
def test_odd_parts_never_lose_a_byte(parts: dict[tuple[str, str], tuple[int, ...]], data: st.DataObject) -> None:
    """Whatever companions a weight has, and whatever their shapes: an architecture of exactly these bytes."""
    dtypes = st.sampled_from(["BF16", "I32", "U8", "I8", "F8_E8M0", "I16"])
    table = TensorTable()
    for name, shape in [
        *((f"{name}.weight", (VOCAB, HIDDEN)) for name in ("model.embed_tokens", "lm_head")),
        *((f"model.layers.0.{m}.{p}", s) for (m, p), s in parts.items()),
    ]:
        table.add(name, data.draw(dtypes), shape)
    config = read_config({**QWEN3_MOE, "num_hidden_layers": 1}, KNOWLEDGE, name="small")
    stored = StoredTensors(source="x", groups=table.groups())
    try:
        found = with_file_tensors(config, stored)
    except BadFile:
        assert not parts
        return
    assert stored_bytes(found) == stored.bytes


def test_headers_alone_tell_bytes_by_role_and_most_parameters(tmp_path: Path) -> None:
    tensors = checkpoint(awq) | {"mtp.norm.weight": ("BF16", (HIDDEN,)), "visual.patch.weight": ("BF16", (8, 8))}
    size = write(tmp_path / "model.safetensors", tensors | {"h.0.attn.bias": ("U8", (1, 1, 4, 4))})
    found = summarize(read_safetensors(tmp_path))
    projections = LAYERS * sum(rows * columns for rows, columns in PROJECTIONS.values())
    assert sum(found.bytes_by_role.values()) == size
    assert found.bytes_by_role["embedding"] == found.bytes_by_role["head"] == 2 * VOCAB * HIDDEN
    assert (found.bytes_by_role["mtp"], found.bytes_by_role["tower"], found.bytes_by_role["buffer"]) == (256, 128, 16)
    assert found.parameters == 2 * VOCAB * HIDDEN + HIDDEN * (2 * LAYERS + 1) + projections + HIDDEN + 64
    assert found.unknown == ()
    write(tmp_path / "model.safetensors", mlx("q_proj", 64, 64))
    assert summarize(read_safetensors(tmp_path)).unknown == ("q_proj.weight",)
