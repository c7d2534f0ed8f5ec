"""Families whose code lies beside their weights, each against a count of its tensors by hand and a published total."""

from collections.abc import Mapping

import pytest

from planner.kv_cache import bytes_for, model_specs
from planner.readers.hf_config import read_config
from planner.weights import active_parameters, parameters, parameters_by_role
from tests.readers.knowledge import FORMATS, KNOWLEDGE

BF16 = {"torch_dtype": "bfloat16"}

SKYWORK = BF16 | {
    "model_type": "skywork", "hidden_size": 4608, "intermediate_size": 12288, "num_attention_heads": 36,
    "num_hidden_layers": 52, "num_key_value_heads": 36, "tie_word_embeddings": False, "max_position_embeddings": 4096,
}  # fmt: skip
JAIS = {
    "model_type": "jais", "activation_function": "swiglu", "position_embedding_type": "alibi", "vocab_size": 84992,
    "n_embd": 5120, "n_head": 40, "n_inner": 13653, "n_layer": 40, "n_positions": 2048, "torch_dtype": "float32",
}  # fmt: skip
STEP3 = BF16 | {
    "model_type": "step3_text", "hidden_size": 7168, "intermediate_size": 18432, "num_attention_heads": 64,
    "num_attention_groups": 1, "num_hidden_layers": 61, "vocab_size": 128815, "moe_intermediate_size": 5120,
    "moe_num_experts": 48, "moe_top_k": 3, "max_position_embedding": 65536, "share_expert_dim": 5120,
    "share_q_dim": 2048, "head_dim": 256, "moe_layers_enum": ",".join(map(str, range(4, 60))),
}  # fmt: skip
XVERSE_MOE = BF16 | {
    "model_type": "xverse", "hidden_size": 2560, "intermediate_size": 1728, "max_position_embeddings": 8192,
    "num_attention_heads": 32, "num_hidden_layers": 28, "moe_top_k": 6, "num_experts": 64, "num_shared_experts": 2,
    "tie_word_embeddings": False, "vocab_size": 100534,
}  # fmt: skip
CODESHELL = BF16 | {
    "model_type": "kclgpt", "n_embd": 4096, "n_layer": 42, "n_head": 32, "n_inner": 16384, "n_positions": 8192,
    "num_query_groups": 8, "group_query_attention": True, "position_embedding_type": "rope", "vocab_size": 70144,
    "tie_word_embeddings": True,
}  # fmt: skip
PLAMO = BF16 | {
    "model_type": "plamo", "hidden_size": 5120, "intermediate_size": 16640, "max_position_embeddings": 8192,
    "n_shared_head": 8, "num_attention_heads": 40, "num_hidden_layers": 40, "num_key_value_heads": 40,
    "tie_word_embeddings": False, "vocab_size": 50432,
}  # fmt: skip
TELECHAT_12B = BF16 | {
    "model_type": "telechat", "hidden_size": 5120, "n_layer": 38, "n_head": 32, "num_key_value_heads": 32,
    "ffn_hidden_size": 12288, "vocab_size": 120000, "seq_length": 8192, "tie_word_embeddings": False,
    "embed_layernorm": False,
}  # fmt: skip
BLUELM = BF16 | {
    "model_type": "BlueLM", "hidden_size": 4096, "intermediate_size": 11008, "max_position_embeddings": 2048,
    "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32, "tie_word_embeddings": False,
    "vocab_size": 100096, "use_stable_embedding": True,
}  # fmt: skip
PHI2 = {
    "model_type": "phi-msft", "n_embd": 2560, "n_head": 32, "n_head_kv": None, "n_inner": None, "n_layer": 32,
    "n_positions": 2048, "vocab_size": 51200, "tie_word_embeddings": False, "torch_dtype": "float16",
}  # fmt: skip
MINICPM_MOE = BF16 | {
    "model_type": "minicpm", "hidden_size": 2304, "intermediate_size": 5760, "max_position_embeddings": 4096,
    "num_attention_heads": 36, "num_hidden_layers": 40, "num_key_value_heads": 36, "vocab_size": 122753,
    "num_experts": 8, "num_experts_per_tok": 2,
}  # fmt: skip


def llama(hidden: int, inner: int, layers: int, keys: int, vocabulary: int) -> int:
    """Separate embedding and head, no biases: *keys* is the width of keys and of values."""
    layer = 2 * hidden * hidden + 2 * hidden * keys + 3 * hidden * inner + 2 * hidden
    return 2 * vocabulary * hidden + layers * layer + hidden


def skywork_moe() -> int:
    hidden, inner = 4608, 12288
    layer = 4 * hidden * hidden + 16 * 3 * hidden * inner + 16 * hidden + 2 * hidden
    return 2 * 65532 * hidden + 52 * layer + hidden


def jais() -> int:
    """Three biased matrices of a gated MLP, a biased qkv and output, LayerNorms with biases, a tied head, ALiBi."""
    hidden, inner = 5120, 13653
    attention = hidden * 3 * hidden + 3 * hidden + hidden * hidden + hidden
    mlp = 2 * (hidden * inner + inner) + inner * hidden + hidden
    return 84992 * hidden + 40 * (attention + mlp + 4 * hidden) + 2 * hidden


def step3() -> int:
    """Queries of 64 · 256 through rank 2048, one head of keys and values, 56 layers of 48 experts and one shared."""
    hidden, width, rank = 7168, 64 * 256, 2048
    attention = hidden * rank + rank + rank * width + 2 * hidden * 256 + width * hidden
    dense, expert = 3 * hidden * 18432, 3 * hidden * 5120
    layers = 61 * (attention + 2 * hidden) + 5 * dense + 56 * (48 * expert + expert + 48 * hidden)
    return 2 * 128815 * hidden + layers + hidden


def xverse_moe() -> int:
    hidden, expert = 2560, 3 * 2560 * 1728
    layer = 4 * hidden * hidden + (64 + 2) * expert + 64 * hidden + 2 * hidden
    return 2 * 100534 * hidden + 28 * layer + hidden


def codeshell() -> int:
    """Eight groups of 128 share keys and values; two biased MLP matrices, LayerNorms with biases, a tied head."""
    hidden, keys = 4096, 8 * 128
    qkv = hidden * (hidden + 2 * keys) + hidden + 2 * keys
    layer = qkv + hidden * hidden + hidden + 2 * hidden * 16384 + 16384 + hidden + 4 * hidden
    return 70144 * hidden + 42 * layer + 2 * hidden


def plamo() -> int:
    """Eight query heads share a head of keys and values, and attention and MLP one norm."""
    hidden = 5120
    layer = 2 * hidden * hidden + 2 * hidden * 5 * 128 + 3 * hidden * 16640 + hidden
    return 2 * 50432 * hidden + 40 * layer + hidden


def telechat() -> int:
    """A bias only where attention and MLP write their results; the index of 12B-V2 states twice this in bytes."""
    return llama(5120, 12288, 38, 5120, 120000) + 38 * 2 * 5120


def minicpm_moe() -> int:
    hidden, expert = 2304, 3 * 2304 * 5760
    return 122753 * hidden + 40 * (4 * hidden * hidden + 8 * (expert + hidden) + 2 * hidden) + hidden


FAMILIES: dict[str, tuple[Mapping[str, object], int, float]] = {
    "Skywork-13B": (SKYWORK | {"vocab_size": 65519}, llama(4608, 12288, 52, 4608, 65519), 13.85e9),
    "Skywork-MoE": (SKYWORK | {"vocab_size": 65532, "num_experts": [16]}, skywork_moe(), 146e9),
    "jais-13b": (JAIS, jais(), 13.0e9),
    "Step3": (STEP3, step3(), 316e9),
    "XVERSE-MoE-A4.2B": (XVERSE_MOE, xverse_moe(), 25.8e9),
    "CodeShell-7B": (CODESHELL, codeshell(), 7.69e9),
    "plamo-13b": (PLAMO, plamo(), 13.1e9),
    "TeleChat-12B-V2": (TELECHAT_12B, telechat(), 12_386_432_000),
    "phi-2 as it was first": (PHI2, 2_779_683_840, 2.78e9),
    "MiniCPM-MoE-8x2B": (MINICPM_MOE, minicpm_moe(), 13.87e9),
    "BlueLM-7B": (BLUELM, llama(4096, 11008, 32, 4096, 100096) + 2 * 4096, 7.3e9),
}  # fmt: skip


@pytest.mark.parametrize(("config", "by_hand", "published"), FAMILIES.values(), ids=FAMILIES)
def test_totals(config: Mapping[str, object], by_hand: int, published: float) -> None:
    architecture = read_config(config, KNOWLEDGE)
    assert not architecture.assumed
    assert parameters(architecture) == by_hand
    assert by_hand == pytest.approx(published, rel=0.004)


def test_active_parameters_of_step3() -> None:
    """38 billion of 316, by its paper, arXiv:2507.19427."""
    assert active_parameters(read_config(STEP3, KNOWLEDGE)) == pytest.approx(38e9, rel=0.03)


@pytest.mark.parametrize(
    ("config", "layers", "elements"),
    [(STEP3, 61, 2 * 256), (PLAMO, 40, 2 * 5 * 128), (CODESHELL, 42, 2 * 8 * 128), (JAIS, 40, 2 * 5120)],
)
def test_caches(config: Mapping[str, object], layers: int, elements: int) -> None:
    specs = model_specs(read_config(config, KNOWLEDGE).layers, FORMATS["bf16"], FORMATS["bf16"])
    assert bytes_for(specs, 1024) == 1024 * layers * elements * 2


TEXT = {
    "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
    "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936, "max_position_embeddings": 65536,
    "tie_word_embeddings": True, "dtype": "bfloat16",
}  # fmt: skip
TEXT_PARAMETERS = 151936 * 1024 + 28 * (2 * 1024 * 2048 + 2 * 1024 * 1024 + 2 * 128 + 3 * 1024 * 3072 + 2 * 1024) + 1024


def test_a_known_wrapper_of_another_form_is_read_where_its_text_model_is() -> None:
    """VILA's file has other keys than transformers writes."""
    tower = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "patch_size": 14}
    vila = {"model_type": "llava_llama", "llm_cfg": TEXT | {"model_type": "qwen3"}, "vision_tower_cfg": tower}
    vila |= {"mm_projector_cfg": {"mm_projector_type": "mlp_downsample"}, "num_video_frames": 8}
    found = read_config(vila, KNOWLEDGE)
    assert parameters(found) == TEXT_PARAMETERS + parameters_by_role(found)["vision"]
    assert found.warnings[0] == (
        "model_type 'llava_llama' has no text_config: its text model is planned as it stands in llm_cfg."
    )


def test_a_level_more_than_the_library_writes_is_opened() -> None:
    """Qwen3-ASR's own file keeps text and sound in a thinker, and says so with every key of every config."""
    noise = {"add_cross_attention": False, "num_beams": 1, "top_k": 50, "pruned_heads": {}, "bad_words_ids": None}
    audio = {"d_model": 896, "encoder_layers": 18, "encoder_ffn_dim": 3584, "encoder_attention_heads": 14}
    inside = {
        "audio_config": audio | {"output_dim": 1024},
        "text_config": TEXT | noise | {"model_type": "qwen3_asr_text"},
    }
    deep = read_config({"model_type": "qwen3_asr", "thinker_config": inside}, KNOWLEDGE)
    flat = read_config({"model_type": "qwen3_asr", **inside}, KNOWLEDGE)
    assert (deep.layers, deep.towers, deep.warnings) == (flat.layers, flat.towers, ())
    assert (
        parameters(deep) - sum(tensor.elements for tower in deep.towers for tensor in tower.tensors) == TEXT_PARAMETERS
    )
