"""What GGUF models cache, by public readings of llama.cpp and sums that can be done by hand."""

from pathlib import Path

import pytest

from planner import presets
from planner.architecture import Attention, LatentAttention, Recurrence, SharedCache
from planner.errors import UnsupportedModel
from planner.readers.hf_config import read_config
from planner.units import MIB
from tests.readers.gguf_files import (
    LLAMA,
    NOTHING,
    bytes_per_token,
    kinds,
    model,
    read,
    state_bytes,
)


def test_key_and_value_lengths_come_before_an_even_share(tmp_path: Path) -> None:
    keys = LLAMA | {"attention__key_length": 24, "attention__value_length": 16}
    found = read(tmp_path, model("llama", 1, {"attn_k": (64, 48)}, **keys))
    assert bytes_per_token(found) == 2 * (24 + 16) * 2


def test_layers_have_their_own_heads_or_none(tmp_path: Path) -> None:
    """DeciLM (Nemotron-NAS): attention was removed from some layers."""
    heads = {"attention__head_count": [8, 0, 8], "attention__head_count_kv": [2, 0, 4]}
    found = read(tmp_path, model("deci", 3, [{"attn_k": (64, 16)}, NOTHING, {"attn_k": (64, 32)}], **heads))
    assert kinds(found) == "fnf"
    assert [layer.mixers == () for layer in found.layers] == [False, True, False]
    assert bytes_per_token(found) == (2 + 4) * 8 * 2 * 2


W = {"attention__sliding_window": 16}
WINDOWS: dict[str, tuple[str, int, dict[str, object], str]] = {
    "gemma2": ("gemma2", 4, {}, "sfsf"),
    "gemma3, 34 layers": ("gemma3", 34, W, "sssssf" * 5 + "ssss"),
    "gemma3 without a window": ("gemma3", 6, {}, "ffffff"),
    "gpt-oss": ("gpt-oss", 4, W, "sfsf"),
    "a period in the file": ("gpt-oss", 4, W | {"attention__sliding_window_pattern": 4}, "sssf"),
    "a pattern in the file": (
        "gpt-oss",
        4,
        W | {"attention__sliding_window_pattern": [True, True, False, False]},
        "ssff",
    ),
    "llama4": ("llama4", 5, {}, "cccfc"),
    "cohere2": ("cohere2", 4, W, "sssf"),
    "cohere2moe, the first full": ("cohere2moe", 5, W, "fsssf"),
    "smallthinker": ("smallthinker", 5, {}, "fsssf"),
    "laguna": ("laguna", 4, W, "fsss"),
    "laguna without a window": ("laguna", 4, {"attention__sliding_window": 0}, "ffff"),
    "exaone4 32B": ("exaone4", 64, {}, "sssf" * 16),
    "exaone4 1.2B": ("exaone4", 30, {}, "f" * 30),
    "exaone-moe": ("exaone-moe", 4, {}, "sssf"),
    "olmo2": ("olmo2", 4, {}, "ffff"),
    "olmo3 calls itself olmo2": ("olmo2", 4, W, "sssf"),
    "plamo3": ("plamo3", 8, W, "sssssssf"),
    "phi3, whose window llama.cpp does not trust": ("phi3", 4, W, "ffff"),
    "mimo2": ("mimo2", 3, W | {"attention__sliding_window_pattern": [False, True, True]}, "fss"),
}


@pytest.mark.parametrize(("architecture", "layers", "keys", "pattern"), WINDOWS.values(), ids=WINDOWS)
def test_windows(tmp_path: Path, architecture: str, layers: int, keys: dict[str, object], pattern: str) -> None:
    found = read(tmp_path, model(architecture, layers, NOTHING, **LLAMA, **keys))  # type: ignore[arg-type]
    assert kinds(found) == pattern
    windowed = sum(kind in "sc" for kind in pattern)
    per_layer = 2 * 8 * 2 * 2
    assert bytes_per_token(found) == layers * per_layer
    assert bytes_per_token(found, at=10_000) == (layers - windowed) * per_layer
    assert found.warnings == ()


def test_window_widths_are_the_files_or_the_architectures(tmp_path: Path) -> None:
    assert read(tmp_path, model("gemma2", 2, NOTHING, **LLAMA)).layers[0].mixers[0].window_tokens == 4096  # type: ignore[union-attr]
    assert read(tmp_path, model("gemma2", 2, NOTHING, **LLAMA, **W)).layers[0].mixers[0].window_tokens == 16  # type: ignore[union-attr]
    found = read(tmp_path, model("llama4", 2, NOTHING, **LLAMA)).layers[0].mixers[0]
    assert (found.window_tokens, found.window_kind) == (8192, "chunked")  # type: ignore[union-attr]


def test_a_window_whose_layers_nobody_knows_is_not_trusted(tmp_path: Path) -> None:
    found = read(tmp_path, model("qwen3", 2, NOTHING, **LLAMA, **W))
    assert kinds(found) == "ff"
    assert found.assumed
    assert found.warnings == (
        "The file names a window of 16 tokens; which layers of 'qwen3' have it is not known, so every layer is counted "
        "with every token.",
    )


def test_a_pattern_that_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModel, match=r"gemma4\.attention\.sliding_window_pattern is missing"):
        read(tmp_path, model("gemma4", 2, NOTHING, **LLAMA, **W))


def test_gemma4_windows_have_their_own_widths_and_late_layers_share(tmp_path: Path) -> None:
    """Full layers: 1 head of 32; windowed: 4 heads of 16; the last two layers read earlier caches."""
    keys = {
        "attention__head_count": 8, "attention__head_count_kv": [4, 4, 1, 4, 1, 4], "attention__sliding_window": 16,
        "attention__key_length": 32, "attention__value_length": 32,
        "attention__key_length_swa": 16, "attention__value_length_swa": 16,
        "attention__sliding_window_pattern": [True, True, False, True, False, True],
        "attention__shared_kv_layers": 2,
    }  # fmt: skip
    found = read(tmp_path, model("gemma4", 6, NOTHING, **keys))  # type: ignore[arg-type]
    assert [type(layer.mixers[0]) for layer in found.layers] == [Attention] * 4 + [SharedCache] * 2
    assert bytes_per_token(found) == (3 * 4 * 16 + 32) * 2 * 2
    assert bytes_per_token(found, at=16) == 32 * 2 * 2


def test_gemma3n_caches_its_first_twenty_layers(tmp_path: Path) -> None:
    found = read(tmp_path, model("gemma3n", 35, NOTHING, **LLAMA, **W))
    assert sum(isinstance(layer.mixers[0], Attention) for layer in found.layers) == 20
    found = read(tmp_path, model("gemma3n", 30, NOTHING, **LLAMA, **W, attention__shared_kv_layers=15))
    assert sum(isinstance(layer.mixers[0], Attention) for layer in found.layers) == 15


DEEPSEEK = {
    "attention__head_count": 128, "attention__head_count_kv": 1, "attention__kv_lora_rank": 512,
    "attention__key_length": 576, "attention__value_length": 512, "rope__dimension_count": 64,
    "attention__key_length_mla": 192, "attention__value_length_mla": 128,
}  # fmt: skip
LATENT = {"attn_kv_a_mqa": (64, 576), "attn_k_b": (128, 512, 128)}


def test_latent_attention_keeps_one_vector(tmp_path: Path) -> None:
    """DeepSeek-V3: 61 layers of 512 + 64 in 16 bit are 70,272 bytes a token."""
    found = read(tmp_path, model("deepseek2", 61, LATENT, **DEEPSEEK))
    assert found.layers[0].mixers == (LatentAttention(num_attention_heads=128, kv_lora_rank=512, qk_rope_head_dim=64),)
    assert bytes_per_token(found) == 70_272


def test_files_from_before_latent_attention_keep_every_head(tmp_path: Path) -> None:
    """4.0 MB a token for DeepSeek-V3, as llama.cpp's logs of such files show: 61 x 128 heads of 192 + 128."""
    old = {"attention__head_count": 128, "attention__key_length": 192, "attention__value_length": 128}
    block = {"attn_kv_a_mqa": (64, 576), "attn_kv_b": (512, 32768)}
    found = read(tmp_path, model("deepseek2", 61, block, **old, attention__kv_lora_rank=512))
    assert bytes_per_token(found) == 61 * 128 * (192 + 128) * 2
    assert found.assumed
    assert len(found.warnings) == 1
    assert "a newer conversion needs far less" in found.warnings[0]


def test_indexers_cache_a_key_of_their_own(tmp_path: Path) -> None:
    """DeepSeek-V3.2: 128 more in every layer that has an indexer."""
    blocks = [LATENT, LATENT | {"indexer.attn_k": (64, 128)}]
    keys = DEEPSEEK | {"attention__indexer__key_length": 128}
    assert bytes_per_token(read(tmp_path, model("deepseek32", 2, blocks, **keys))) == (576 * 2 + 128) * 2
    keys |= {"attention__indexer__types": [1, 0]}  # type: ignore[dict-item]
    blocks = [blocks[1], blocks[1]]
    assert bytes_per_token(read(tmp_path, model("glm-dsa", 2, blocks, **keys))) == (576 * 2 + 128) * 2


def ssm(inner: int, groups: int, **keys: object) -> dict[str, object]:
    sizes = {"conv_kernel": 4, "inner_size": inner, "state_size": 128, "group_count": groups}
    return {f"ssm__{key}": number for key, number in sizes.items()} | keys


DELTA = {"attn_qkv": (64, 64), "ssm_conv1d": (4, 64), "ssm_out": (64, 64)}
FULL_QWEN = {"attn_q": (64, 64), "ssm_": (1,)}


@pytest.mark.parametrize(
    ("architecture", "layers", "heads", "inner", "state_mib", "token_bytes"),
    [
        # Buffer lines of llama-server, one sequence, f16 cache: R 5.62 + S 144.00 MiB; 8,192 MiB for 131,072 tokens.
        ("qwen35", 64, 4, 6144, 149.625, 65_536),
        # 251.25 MiB for four sequences; 40 MiB for 2,048 tokens.
        ("qwen35moe", 40, 2, 4096, 251.25 / 4, 20_480),
        # 301.5 MiB for four sequences; 3,072 MiB for 131,072 tokens.
        ("qwen3next", 48, 2, 4096, 301.5 / 4, 24_576),
    ],
)
def test_every_fourth_layer_is_attention_and_the_rest_keep_a_state(
    tmp_path: Path, architecture: str, layers: int, heads: int, inner: int, state_mib: float, token_bytes: int
) -> None:
    blocks = [{"attn_k": (64, heads * 256)} if index % 4 == 3 else DELTA for index in range(layers)]
    keys = {"attention__head_count": 16, "attention__head_count_kv": heads, "attention__key_length": 256}
    keys |= ssm(inner, 16, attention__value_length=256)  # type: ignore[arg-type]
    found = read(tmp_path, model(architecture, layers, blocks, **keys))  # type: ignore[arg-type]
    assert state_bytes(found) == state_mib * MIB
    assert bytes_per_token(found) == token_bytes
    assert kinds(found) == "gggf" * (layers // 4)


def test_nemotron_h_has_one_part_a_layer(tmp_path: Path) -> None:
    """Nemotron 3 Ultra, 48 Mamba-2 layers of 108: 1,576.5 MiB of state for four sequences; 12 attention layers."""
    mamba = {"ssm_in": (64, 64), "ssm_conv1d": (4, 64), "ssm_out": (64, 64)}
    blocks = [*[mamba] * 48, *[{"attn_k": (64, 256)}] * 12, *[NOTHING] * 48]
    heads = [0] * 48 + [2] * 12 + [0] * 48
    keys = {"attention__head_count": 64, "attention__head_count_kv": heads, "attention__key_length": 128}
    keys |= ssm(16384, 8, attention__value_length=128)  # type: ignore[arg-type]
    found = read(tmp_path, model("nemotron_h_moe", 108, blocks, **keys))  # type: ignore[arg-type]
    assert state_bytes(found) == 1576.5 / 4 * MIB
    assert bytes_per_token(found) == 12 * 2 * 256 * 2


def test_falcon_h1_has_both_in_every_layer(tmp_path: Path) -> None:
    block = {"attn_k": (64, 16), "ssm_in": (64, 64), "ssm_conv1d": (4, 64)}
    found = read(tmp_path, model("falcon-h1", 3, block, **LLAMA, **ssm(256, 1)))  # type: ignore[arg-type]
    assert [type(mixer) for mixer in found.layers[0].mixers] == [Attention, Recurrence]
    assert bytes_per_token(found) == 3 * 64
    assert state_bytes(found) == 3 * 4 * (3 * (256 + 256) + 128 * 256)


def test_mamba_has_no_heads(tmp_path: Path) -> None:
    keys = {f"ssm__{key}": number for key, number in {"conv_kernel": 4, "inner_size": 128, "state_size": 16}.items()}
    found = read(
        tmp_path, model("mamba", 2, {"ssm_in": (64, 256), "ssm_conv1d": (4, 128)}, attention__head_count=0, **keys)
    )
    assert state_bytes(found) == 2 * 4 * (3 * 128 + 16 * 128)
    assert bytes_per_token(found) == 0


def test_short_convolutions_keep_two_columns(tmp_path: Path) -> None:
    """LFM2-1.2B: 10 of 16 layers keep 2 x 2,048 in 32 bit, the other 6 have 8 heads of 64."""
    convolution = {"shortconv.conv": (3, 2048), "shortconv.in_proj": (2048, 6144)}
    blocks = [convolution] * 10 + [{"attn_k": (2048, 512)}] * 6
    heads = [0] * 10 + [8] * 6
    keys = {"embedding_length": 2048, "attention__head_count": 32, "attention__head_count_kv": heads}
    found = read(tmp_path, model("lfm2", 16, blocks, shortconv__l_cache=3, **keys))  # type: ignore[arg-type]
    assert state_bytes(found) == 10 * 2 * 2048 * 4
    assert bytes_per_token(found) == 6 * 8 * 64 * 2 * 2


def test_kimi_linear_mixes_latent_attention_and_states(tmp_path: Path) -> None:
    delta = {"attn_q": (64, 64), "attn_k": (64, 64), "ssm_conv1d_q": (4, 1, 64), "ssm_a": (1, 32)}
    keys = DEEPSEEK | {"attention__head_count": 32, "attention__head_count_kv": [0, 0, 0, 1]}
    keys |= {"kda__head_dim": 128, "ssm__conv_kernel": 4}
    found = read(tmp_path, model("kimi-linear", 4, [delta] * 3 + [LATENT], **keys))  # type: ignore[arg-type]
    assert state_bytes(found) == 3 * 4 * (3 * 3 * 32 * 128 + 32 * 128 * 128)
    assert bytes_per_token(found) == 576 * 2


def test_rwkv_keeps_the_token_before_and_a_square_a_head(tmp_path: Path) -> None:
    keys = {"wkv__head_size": 16, "attention__head_count": 0}
    assert state_bytes(read(tmp_path, model("rwkv7", 2, {"time_mix_key": (64, 64)}, **keys))) == 2 * 4 * (
        2 * 64 + 64 * 16
    )
    keys |= {"token_shift_count": 1}
    assert state_bytes(read(tmp_path, model("arwkv7", 2, {"time_mix_key": (64, 64)}, **keys))) == 2 * 4 * (64 + 64 * 16)


def test_lightning_attention_is_full_in_every_eighth_layer(tmp_path: Path) -> None:
    keys = LLAMA | {"attention__key_length": 8, "attention__value_length": 8}
    found = read(tmp_path, model("minimax-01", 16, NOTHING, **keys))
    assert kinds(found) == "lllllllf" * 2
    assert state_bytes(found) == 14 * 4 * 8 * 8 * 8
    found = read(tmp_path, model("minimax-01", 2, NOTHING, **keys, attention__recurrent_layers=[False, True]))
    assert kinds(found) == "fl"


def test_deepseek_v4_keeps_what_its_config_says(tmp_path: Path) -> None:
    """The same layers from a GGUF file and from a config.json: a window, short blocks and long ones."""
    config = {
        "model_type": "deepseek_v4", "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 8,
        "head_dim": 32, "qk_rope_head_dim": 8, "compress_ratios": [0, 4, 128], "sliding_window": 16,
        "index_head_dim": 12, "index_n_heads": 2, "q_lora_rank": 16, "o_lora_rank": 16, "o_groups": 2,
        "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "vocab_size": 100,
        "torch_dtype": "bfloat16",
    }  # fmt: skip
    keys = LLAMA | {
        "attention__key_length": 32, "rope__dimension_count": 8, "attention__sliding_window": 16,
        "attention__compress_ratios": [0, 4, 128], "attention__indexer__key_length": 12,
    }  # fmt: skip
    found = read(tmp_path, model("deepseek4", 3, NOTHING, **keys))
    expected = read_config(config, presets.knowledge())
    assert [layer.kind for layer in found.layers] == [layer.kind for layer in expected.layers]
    assert [layer.mixers for layer in found.layers] == [layer.mixers for layer in expected.layers]


def test_minimax_m3_keeps_a_key_more_where_it_has_experts(tmp_path: Path) -> None:
    """2 heads × 8 for keys and for values in 3 layers, and in the last 2 an index key of 12, all of 2 bytes."""
    keys = LLAMA | {
        "leading_dense_block_count": 1,
        "attention__indexer__key_length": 12,
        "attention__indexer__head_count": 4,
    }
    found = read(tmp_path, model("minimax-m3", 3, {"attn_k": (64, 16)}, **keys))
    assert [layer.kind for layer in found.layers] == ["full_attention", "sparse_attention", "sparse_attention"]
    assert bytes_per_token(found) == (3 * 2 * 2 * 8 + 2 * 12) * 2
