"""Families of unlike layers whose code lies beside their weights: totals by hand, and what a request keeps."""

from collections.abc import Mapping

import pytest

from planner.kv_cache import bytes_for, model_specs
from planner.readers.hf_config import read_config
from planner.weights import parameters, parameters_by_role
from tests.readers.knowledge import FORMATS, KNOWLEDGE
from tests.readers.test_remote_families import STEP3

BF16 = {"torch_dtype": "bfloat16"}

PLAMO2 = BF16 | {
    "model_type": "plamo2", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16,
    "num_key_value_heads": 1, "hidden_size_per_head": 128, "max_position_embeddings": 10485760,
    "attention_window_size": 2048, "mamba_d_state": 64, "mamba_d_conv": 4, "mamba_num_heads": 32, "mamba_step": 2,
    "mamba_enabled": True, "intermediate_size": 8192, "vocab_size": 100000,
}  # fmt: skip
RWKV7 = BF16 | {
    "model_type": "rwkv7", "hidden_size": 2048, "num_hidden_layers": 24, "vocab_size": 65536, "intermediate_size": None,
    "hidden_ratio": 4, "decay_low_rank_dim": 96, "a_low_rank_dim": 96, "v_low_rank_dim": 64, "gate_low_rank_dim": 256,
    "head_dim": 64, "attn": None,
}  # fmt: skip
RING = BF16 | {
    "model_type": "bailing_moe_linear", "first_k_dense_replace": 1, "head_dim": 128, "hidden_size": 2048,
    "intermediate_size": 5120, "layer_group_size": 5, "max_position_embeddings": 131072, "moe_intermediate_size": 512,
    "num_attention_heads": 16, "num_experts": 256, "num_experts_per_tok": 8, "num_hidden_layers": 20,
    "num_key_value_heads": 4, "num_shared_experts": 1, "use_qk_norm": True, "vocab_size": 157184,
}  # fmt: skip
BAICHUAN_M1 = BF16 | {
    "model_type": "baichuan_m1", "vocab_size": 133120, "hidden_size": 5120, "intermediate_size": 17408,
    "num_hidden_layers": 40, "num_attention_heads": 20, "num_key_value_heads": 2, "num_swa_attention_heads": 40,
    "num_swa_key_value_heads": 8, "sliding_window": 8192, "sliding_window_layers": list(range(1, 40, 2)),
    "conv_window": 2, "max_position_embeddings": 32768,
}  # fmt: skip
SMALLTHINKER = BF16 | {
    "model_type": "smallthinker", "head_dim": 128, "hidden_size": 1536, "max_position_embeddings": 32768,
    "moe_ffn_hidden_size": 768, "moe_num_active_primary_experts": 4, "moe_num_primary_experts": 32,
    "num_attention_heads": 12, "num_hidden_layers": 32, "num_key_value_heads": 2, "sliding_window_size": 4096,
    "sliding_window_layout": [0] * 32, "tie_word_embeddings": True, "vocab_size": 151936,
}  # fmt: skip
LONGCAT_LITE = BF16 | {
    "model_type": "longcat_flash_ngram", "vocab_size": 131072, "hidden_size": 3072, "ffn_hidden_size": 6144,
    "expert_ffn_hidden_size": 1024, "num_layers": 14, "num_attention_heads": 32, "kv_lora_rank": 512,
    "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "n_routed_experts": 256,
    "moe_topk": 12, "zero_expert_num": 128, "ngram_vocab_size_ratio": 78, "emb_neighbor_num": 4, "emb_split_num": 4,
    "max_position_embeddings": 327680,
}  # fmt: skip
IQUEST_LOOP = BF16 | {
    "model_type": "iquestloopcoder", "hidden_size": 5120, "num_hidden_layers": 80, "intermediate_size": 27648,
    "num_attention_heads": 40, "vocab_size": 76800, "head_dim": 128, "num_key_value_heads": 8, "loop_num": 2,
    "loop_window_size": 64, "max_position_embeddings": 131072, "tie_word_embeddings": False,
}  # fmt: skip


def plamo2() -> int:
    """Eight Mamba layers and eight of attention, norms on queries and keys by head, four norms a layer, a tied head."""
    hidden, inner, state, rank = 2048, 32 * 128, 64, 128
    mamba = hidden * 2 * inner + inner * 4 + inner * (rank + 2 * state) + rank * 32 + 3 * 32
    mamba += rank + 2 * state + inner * hidden
    attention = hidden * (16 + 2) * 128 + (16 + 1) * 128 + 16 * 128 * hidden
    return 8 * (mamba + attention) + 16 * (3 * hidden * 8192 + 4 * hidden) + 100000 * hidden + hidden


def rwkv7() -> int:
    """Sixteen vectors a layer, four square projections, four low ranks, two matrices of 4 · hidden, and a head."""
    hidden = 2048
    values = 2 * 64 * hidden + hidden
    ranks = 2 * (2 * 96 * hidden + hidden) + values + 2 * 256 * hidden
    layer = 16 * hidden + 4 * hidden * hidden + ranks + 2 * 4 * hidden * hidden
    return 2 * 65536 * hidden + 24 * layer - values + 2 * 2 * hidden


def ring() -> int:
    """Sixteen linear layers with a gate and a norm on what they give, four full ones, one dense feed-forward part."""
    hidden = 2048
    linear = 5 * hidden * hidden + hidden + 2 * 128
    full = hidden * (16 + 2 * 4) * 128 + hidden * hidden + 2 * 128
    experts = (256 + 1) * 3 * hidden * 512 + 256 * hidden + 256
    return 2 * 157184 * hidden + 16 * linear + 4 * full + 3 * hidden * 5120 + 19 * experts + 41 * hidden


def baichuan_m1() -> int:
    hidden = 5120
    full, windowed = hidden * (2 * hidden + 2 * 512) + 2 * 2 * 2, hidden * (2 * hidden + 2 * 1024) + 2 * 2 * 8
    return 2 * 133120 * hidden + 20 * (full + windowed) + 40 * (3 * hidden * 17408 + 2 * hidden) + hidden


def smallthinker() -> int:
    hidden = 1536
    layer = 2 * hidden * hidden + 2 * hidden * 256 + 32 * 3 * hidden * 768 + 32 * hidden + 2 * hidden
    return 151936 * hidden + 32 * layer + hidden


def longcat_lite() -> int:
    """Two latent attentions and two dense parts a layer beside its experts; twelve tables of n-grams, 31.4 billion."""
    hidden, heads, rank = 3072, 32, 512
    attention = hidden * 1536 + 1536 + 1536 * heads * 192 + hidden * (rank + 64) + rank + rank * heads * 256
    attention += heads * 128 * hidden
    experts = 256 * 3 * hidden * 1024 + (256 + 128) * hidden + 256 + 128
    layer = 2 * (attention + 3 * hidden * 6144) + experts + 4 * hidden
    ngrams = sum(78 * 131072 + 2 * index + 1 for index in range(12)) * 256 + 12 * 256 * hidden
    return 2 * 131072 * hidden + 14 * layer + hidden + ngrams


def iquest_loop() -> int:
    hidden = 5120
    layer = 2 * hidden * hidden + 2 * hidden * 1024 + 3 * hidden * 27648 + 2 * hidden + 40 * (128 + 1)
    return 2 * 76800 * hidden + 80 * layer + hidden


FAMILIES: dict[str, tuple[Mapping[str, object], int, float]] = {
    "plamo-2-1b": (PLAMO2, plamo2(), 1.29e9),
    "RWKV7-Goose-World3-1.5B": (RWKV7, rwkv7(), 1.53e9),
    "Ring-mini-linear-2.0": (RING, ring(), 16.4e9),
    "Baichuan-M1-14B": (BAICHUAN_M1, baichuan_m1(), 14.5e9),
    "SmallThinker-4BA0.6B": (SMALLTHINKER, smallthinker(), 4.0e9),
    "LongCat-Flash-Lite": (LONGCAT_LITE, longcat_lite(), 68.5e9),
    "IQuest-Coder-V1-40B-Loop": (IQUEST_LOOP, iquest_loop(), 40e9),
}


@pytest.mark.parametrize(("config", "by_hand", "published"), FAMILIES.values(), ids=FAMILIES)
def test_totals(config: Mapping[str, object], by_hand: int, published: float) -> None:
    architecture = read_config(config, KNOWLEDGE)
    assert not architecture.assumed
    assert parameters(architecture) == by_hand
    assert by_hand == pytest.approx(published, rel=0.01)


@pytest.mark.parametrize(
    ("config", "tokens", "kept"),
    [
        # 8 layers of one head's keys and values, and 8 of states of 32 heads and three columns before the last
        (PLAMO2, 4096, 8 * 2 * 128 * 2 * 4096 + 8 * (32 * 128 * 64 * 4 + 3 * 4096 * 2)),
        (RWKV7, 10**6, 24 * (2 * 2048 * 2 + 32 * 64 * 64 * 4)),
        (RING, 1000, 4 * 2 * 4 * 128 * 2 * 1000 + 16 * 16 * 128 * 128 * 4),
        # full layers have 2 heads of 256, windowed ones 8 of 128, both the last token before their convolutions
        (BAICHUAN_M1, 32768, 20 * 2 * 2 * (512 * 32768 + 1024 * 8192) + 20 * 2 * 2 * (512 + 1024)),
        (LONGCAT_LITE, 1000, 14 * 2 * (512 + 64) * 2 * 1000),
        # the second pass sees 64 tokens of its own beside the first pass's cache
        (IQUEST_LOOP, 1000, 80 * 2 * 1024 * 2 * (1000 + 64)),
        (SMALLTHINKER, 8192, 32 * 2 * 256 * 2 * 8192),
        ({**SMALLTHINKER, "sliding_window_layout": [0, 1] * 16}, 8192, 16 * 2 * 256 * 2 * (8192 + 4096)),
    ],
)
def test_what_a_request_keeps(config: Mapping[str, object], tokens: int, kept: int) -> None:
    specs = model_specs(read_config(config, KNOWLEDGE).layers, FORMATS["bf16"], FORMATS["bf16"])
    assert bytes_for(specs, tokens) == kept


def test_the_first_of_two_classes_with_one_name_has_no_norms_on_queries_and_keys() -> None:
    """Ling-lite's file says nothing of them, and its class is not Ling 2.0's: 28 layers of two norms of 128."""
    config = {key: value for key, value in RING.items() if key not in ("use_qk_norm", "layer_group_size")}
    second = {**config, "model_type": "bailing_moe", "architectures": ["BailingMoeV2ForCausalLM"]}
    first = {**second, "architectures": ["BailingMoeForCausalLM"]}
    gap = parameters(read_config(second, KNOWLEDGE)) - parameters(read_config(first, KNOWLEDGE))
    assert gap == 20 * 2 * 128 + 19 * 256


def test_layers_after_the_last_full_one_are_full() -> None:
    kinds = [layer.kind for layer in read_config({**RING, "num_hidden_layers": 22}, KNOWLEDGE).layers]
    assert [index for index, kind in enumerate(kinds) if kind == "full_attention"] == [4, 9, 14, 19, 20, 21]


def test_step_3_has_a_tower_of_five_billion() -> None:
    """63 layers of 1,792, two convolutions of 4,096 and 8,192, one projection: 321 billion in all, by its paper."""
    vision = {"hidden_size": 1792, "intermediate_size": 15360, "num_hidden_layers": 63, "output_hidden_size": 4096}
    model = read_config(
        {"model_type": "step3_vl", "projector_bias": False, "vision_config": vision, "text_config": STEP3}, KNOWLEDGE
    )
    layer = 4 * (1792 * 1792 + 1792) + 2 * 1792 * 15360 + 15360 + 1792 + 4 * 1792
    outside = 1792 + 1792 * (3 * 14 * 14 + 1) + (52 * 52 + 1) * 1792
    joined = 4096 * (4 * 1792 + 1) + 8192 * (9 * 4096 + 1) + 8192 * 7168
    roles = parameters_by_role(model)
    assert (roles["vision"], roles["projector"]) == (63 * layer + outside, joined)
    assert parameters(model) == pytest.approx(321e9, rel=0.001)
    assert not model.warnings


def test_intern_s1_pro_is_qwen3s_mixture_without_deepstack() -> None:
    """94 layers of 512 experts, 917 billion; what is not counted is said."""
    text = {
        "model_type": "interns1_pro_text", "hidden_size": 4096, "num_hidden_layers": 94, "num_attention_heads": 64,
        "num_key_value_heads": 4, "head_dim": 128, "num_experts": 512, "num_experts_per_tok": 8,
        "moe_intermediate_size": 1536, "intermediate_size": 12288, "vocab_size": 155008, "dtype": "bfloat16",
    }  # fmt: skip
    vision = {"depth": 24, "hidden_size": 1024, "intermediate_size": 4096, "out_hidden_size": 4096}
    model = read_config({"model_type": "interns1_pro", "text_config": text, "vision_config": vision}, KNOWLEDGE)
    layer = 4096 * (64 + 8) * 128 + 64 * 128 * 4096 + 512 * 3 * 4096 * 1536 + 512 * 4096 + 2 * 4096 + 2 * 128
    roles = parameters_by_role(model)
    assert parameters(model) - roles["vision"] == 94 * layer + 2 * 155008 * 4096 + 4096
    assert "not counted" in model.warnings[0]
