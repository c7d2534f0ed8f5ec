"""Models that keep a state beside or instead of keys and values: parameters, and caches as transformers has them."""

import copy
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.architecture import Architecture, Recurrence, distinct_layers
from planner.errors import PlannerError, UnsupportedModel
from planner.kv_cache import bytes_for, bytes_per_token_at, fixed_bytes, model_specs
from planner.readers.hf_config import read_config
from planner.weights import parameters, parameters_by_role
from tests.readers.knowledge import FORMATS, KNOWLEDGE
from tests.readers.test_hf_config import config_of as published_config
from tests.truth import router_buffers

BF16 = FORMATS["bf16"]
MODELS: dict[str, dict[str, object]] = json.loads(
    (Path(__file__).parents[1] / "data" / "hybrids.json").read_text(encoding="utf-8")
)
MEASURED = [name for name in MODELS if "transformers_cache" in MODELS[name]]


def config_of(name: str) -> dict[str, object]:
    config = MODELS[name]["config"]
    assert isinstance(config, dict)
    return dict(config)


def read(name: str, **changes: object) -> Architecture:
    return read_config({**config_of(name), **changes}, KNOWLEDGE)


def cache_bytes(architecture: Architecture, tokens: int) -> int:
    return bytes_for(model_specs(architecture.layers, BF16, BF16), tokens)


def states_bytes(architecture: Architecture, name: str) -> int:
    """All layers' states called *name* in a 16-bit cache."""
    return sum(
        count * (state.format or BF16).bytes_for(state.elements)
        for layer, count in distinct_layers(architecture.layers)
        for mixer in layer.mixers
        if isinstance(mixer, Recurrence)
        for state in mixer.states
        if state.name == name
    )


def convolution_column(architecture: Architecture) -> int:
    """One column of every layer's convolution at 16 bit: the current token's, which transformers keeps as well."""
    return sum(
        count * 2 * state.rows
        for layer, count in distinct_layers(architecture.layers)
        for mixer in layer.mixers
        if isinstance(mixer, Recurrence)
        for state in mixer.states
        if state.name == "conv"
    )


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_the_published_ones(name: str) -> None:
    """transformers leaves a router's correction bias and table out of its count; files store them."""
    architecture = read(name)
    difference = parameters(architecture) - int(str(MODELS[name]["parameters"]))
    assert difference in (0, router_buffers(architecture))
    assert not architecture.assumed


@pytest.mark.parametrize("name", MEASURED)
def test_cache_is_what_transformers_keeps_but_for_a_column(name: str) -> None:
    """The minimum is a convolution's kernel − 1 columns; xLSTM's class counts its tokens in 8 bytes."""
    measured = MODELS[name]["transformers_cache"]
    assert isinstance(measured, Mapping)
    architecture = read(name)
    counter = 8 if architecture.model_type == "xlstm" else 0
    kept = cache_bytes(architecture, measured["tokens"]) + convolution_column(architecture) + counter
    assert kept == measured["bytes"]


def test_qwen3_next_at_8192_tokens() -> None:
    """12 layers grow by 2 heads × 256 × key and value × 2 B; 36 keep 32 × 128 × 128 in 32 bit and 3 columns."""
    architecture = read("Qwen/Qwen3-Next-80B-A3B-Instruct")
    assert parameters(architecture) == 79_674_391_296
    specs = model_specs(architecture.layers, BF16, BF16)
    assert bytes_for(specs, 8192) - fixed_bytes(specs) == 201_326_592 == 12 * 2 * 256 * 2 * 2 * 8192
    assert states_bytes(architecture, "recurrent") == 75_497_472 == 36 * 32 * 128 * 128 * 4
    assert states_bytes(architecture, "conv") == 1_769_472 == 36 * 8192 * 3 * 2
    assert fixed_bytes(specs) == 77_266_944


@pytest.mark.parametrize(
    ("name", "figure", "column"),
    [
        ("KimiLinearConfig()", 102_727_680, 21 * 3 * 32 * 128 * 2),
        ("FalconH1Config()", 1_107_689_472, 32 * (1024 + 2 * 256) * 2),
        ("mistralai/Mamba-Codestral-7B-v0.1", 273_678_336, 64 * (8192 + 2 * 8 * 128) * 2),
    ],
)
def test_transformers_figure_is_the_minimum_and_one_convolution_column(name: str, figure: int, column: int) -> None:
    assert cache_bytes(read(name), 8192) + column == figure


def test_attention_layers_alone_grow() -> None:
    """LFM2-2.6B: 8 of its 30 layers attend, each with 8 heads × 64 × key and value × 2 B a token."""
    architecture = read("LiquidAI/LFM2-2.6B")
    grown = cache_bytes(architecture, 8192) - cache_bytes(architecture, 0)
    assert grown == 8 * 8 * 64 * 2 * 2 * 8192 == 134_217_728


def test_pure_state_space_costs_the_same_at_any_length() -> None:
    architecture = read("tiiuae/falcon-mamba-7b")
    assert cache_bytes(architecture, 1) == cache_bytes(architecture, 1_000_000) == 64 * 8192 * (16 * 4 + 3 * 2)


def test_model_class_counts_where_the_type_lies() -> None:
    """Mamba-Codestral says mamba; its class, and its keys, are Mamba-2's."""
    name = "mistralai/Mamba-Codestral-7B-v0.1"
    architecture = read(name, model_type="mamba", architectures=["Mamba2ForCausalLM"])
    assert parameters(architecture) == parameters(read(name))


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", 81_324_862_720),
        ("Qwen/Qwen3.5-2B", 2_274_069_824),
        ("inclusionAI/Ling-3.0-Flash", 127_486_405_600),
        ("deepseek-ai/DeepSeek-V4-Flash", 290_944_616_402),
    ],
)
def test_published_total_holds_the_prediction_layer(name: str, published: int) -> None:
    roles = parameters_by_role(read(name))
    assert sum(roles.values()) == published


def test_shared_block_weighs_once_and_caches_in_every_layer() -> None:
    """Zamba2-2.7B: 2 blocks of 170,401,280 for 9 layers, each of which keeps 32 heads × 160 × key and value × 2 B."""
    two, three = (read("Zyphra/Zamba2-2.7B", num_mem_blocks=blocks) for blocks in (2, 3))
    assert parameters(three) - parameters(two) == 170_401_280
    assert cache_bytes(two, 1) - cache_bytes(two, 0) == 9 * 32 * 160 * 2 * 2


def test_deepseek_v4_minimum_is_the_class_figure_and_named_amounts() -> None:
    """transformers' default layout at 8,192 tokens: 23 layers with blocks of 128, 20 with overlapping blocks of 4.

    The class keeps one window token less and counts it in 8 bytes; the blocks that wait to be full are empty at 8,192.
    """
    layouts = ["heavily_compressed_attention", "compressed_sparse_attention"]
    layer_types = layouts[:1] * 2 + [layouts[index % 2] for index in range(41)]
    architecture = read("deepseek-ai/DeepSeek-V4-Flash", layer_types=layer_types)
    window_token, counters = 43 * 512 * 2, 43 * 8
    waiting = 23 * 127 * 512 * 2 * 2 + 20 * 3 * 2 * (512 + 128) * 2 * 2
    assert cache_bytes(architecture, 8192) == 59_835_736 + window_token - counters + waiting


def test_compressed_layers_add_an_entry_a_block() -> None:
    """Past the window, 128 tokens more: 32 entries of 512 and 128 in each of 21 layers, one of 512 in each of 20."""
    architecture = read("deepseek-ai/DeepSeek-V4-Flash")
    added = cache_bytes(architecture, 8192 + 128) - cache_bytes(architecture, 8192)
    assert added == 21 * 32 * (512 + 128) * 2 + 20 * 512 * 2
    specs = model_specs(architecture.layers, BF16, BF16)
    assert bytes_per_token_at(specs, 8192) == added / 128


def test_nemotron_super_keeps_49_of_80_attention_blocks() -> None:
    """31 are no-op; the others group 8 heads of 64: 8 key-value heads × 128 × key and value × 2 B."""
    architecture = read("nvidia/Llama-3_3-Nemotron-Super-49B-v1")
    assert sum(not layer.mixers for layer in architecture.layers) == 31
    assert cache_bytes(architecture, 8192) == 49 * 8 * 128 * 2 * 2 * 8192


@pytest.mark.parametrize(
    ("name", "per_token"),
    [
        ("moonshotai/Kimi-K3", 24 * (512 + 64) * 2),  # 24 of 93 layers are latent, the others keep a state
        (
            "zai-org/GLM-5.3-Flash",
            11 * (512 + 2 * 128 + 1) * 2,
        ),  # 11 of 45, whose indexer keeps keys, weights and a flag
    ],
)
def test_latent_layers_of_a_hybrid_grow_alone(name: str, per_token: int) -> None:
    assert bytes_per_token_at(model_specs(read(name).layers, BF16, BF16), 8192) == per_token


def test_latent_layers_need_no_head_dim() -> None:
    """GLM-5.3-Flash's class gives its rotary width there, which is 0."""
    name = "zai-org/GLM-5.3-Flash"
    assert read(name, head_dim=0).layers == read(name).layers


def test_filtered_attention_keeps_two_hidden_states_a_layer() -> None:
    """Yuan2-2B: 24 layers with 32 heads × 64, and the last two tokens' 2,048 numbers each."""
    specs = model_specs(read("IEITYuan/Yuan2-2B-hf").layers, BF16, BF16)
    assert fixed_bytes(specs) == 24 * 2 * 2048 * 2
    assert bytes_per_token_at(specs, 0) == 24 * 32 * 64 * 2 * 2


def test_layer_with_two_attentions_caches_both() -> None:
    """LongCat-Flash: 28 layers, each with two latent caches of 512 and a rotary 64."""
    specs = model_specs(read("meituan-longcat/LongCat-Flash-Chat").layers, BF16, BF16)
    assert bytes_per_token_at(specs, 0) == 28 * 2 * (512 + 64) * 2


def test_images_keys_do_not_grow_with_the_text() -> None:
    """Llama-3.2-11B-Vision: 4 tiles of 40 × 40 patches and one token each, for 8 of 40 layers."""
    architecture = read_config(published_config("meta-llama/Llama-3.2-11B-Vision-Instruct"), KNOWLEDGE)
    specs = model_specs(architecture.layers, BF16, BF16)
    assert fixed_bytes(specs) == 8 * 4 * (40 * 40 + 1) * 8 * 128 * 2 * 2 == 209_846_272
    assert bytes_per_token_at(specs, 0) == 32 * 8 * 128 * 2 * 2
    assert any("one image" in warning for warning in architecture.warnings)


@pytest.mark.parametrize(
    ("name", "changes", "sentence"),
    [
        (
            "LiquidAI/LFM2-2.6B",
            {"layer_types": ["spiral"] * 30},
            "model_type 'lfm2': there is a layer 'spiral', a kind that is not understood here.",
        ),
        (
            "nvidia/NVIDIA-Nemotron-Nano-9B-v2",
            {"hybrid_override_pattern": "M*"},
            "model_type 'nemotron_h': hybrid_override_pattern has 2 layers and num_hidden_layers is 56.",
        ),
        (
            "nvidia/NVIDIA-Nemotron-Nano-9B-v2",
            {"hybrid_override_pattern": ""},
            "model_type 'nemotron_h': neither layers_block_type nor hybrid_override_pattern says what the layers are; "
            "add one.",
        ),
        (
            "nvidia/NVIDIA-Nemotron-Nano-9B-v2",
            {"hybrid_override_pattern": "M" * 5000, "num_hidden_layers": None},
            "model_type 'nemotron_h': 5,000 layers are listed; a model has from 1 to 4,096.",
        ),
        (
            "google/recurrentgemma-2b",
            {"block_types": []},
            "model_type 'recurrent_gemma': key 'block_types' is a list of 0; it must be a list of layer kinds.",
        ),
        (
            "tiiuae/Falcon-H1-1.5B-Base",
            {"mamba_d_head": "auto", "mamba_n_heads": 7},
            "model_type 'falcon_h1': 3,072 state-space channels do not divide by 7 heads.",
        ),
        (
            "deepseek-ai/DeepSeek-V4-Flash",
            {"compress_ratios": [0, 4, 128]},
            "model_type 'deepseek_v4': key 'compress_ratios' has 3 entries for 43 layers.",
        ),
        (
            "deepseek-ai/DeepSeek-V4-Flash",
            {"compress_ratios": [16] * 44},
            "model_type 'deepseek_v4': there is a layer '16', a kind that is not understood here.",
        ),
        (
            "nvidia/Llama-3_3-Nemotron-Super-49B-v1",
            {"block_configs": [{"attention": {"n_heads_in_group": 7}, "ffn": {"ffn_mult": 1.0}}] * 80},
            "model_type 'nemotron-nas': key 'block_configs[0].attention.n_heads_in_group' is 7; "
            "it must be a divisor of 64, the number of heads.",
        ),
        (
            "nvidia/Llama-3_3-Nemotron-Super-49B-v1",
            {"block_configs": [7] * 80},
            "model_type 'nemotron-nas': key 'block_configs' is a list of 80; it must be a list of objects.",
        ),
        (
            "state-spaces/mamba-130m-hf",
            {"time_step_rank": "large"},
            "model_type 'mamba': key 'time_step_rank' is 'large'; it must be a whole number from 1 to 16,777,216.",
        ),
        (
            "Zyphra/Zamba2-2.7B",
            {"attention_hidden_size": 10240},
            "model_type 'zamba2': key 'attention_hidden_size' is 10240; it must be 5120: the embedding beside the "
            "layer's input.",
        ),
    ],
)
def test_bad_layout_is_refused_in_one_sentence(name: str, changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(UnsupportedModel) as refusal:
        read(name, **changes)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize("model_type", ["mamba", "falcon_mamba"])
def test_mamba_of_another_width_than_expand_makes(model_type: str) -> None:
    """768 wide, 16 states, rank 48: in, convolution with bias, x, dt with bias, A, D, out for 1,536 channels more."""
    config = {"model_type": model_type, "hidden_size": 768, "num_hidden_layers": 2, "vocab_size": 1000}
    usual = read_config(config, KNOWLEDGE)
    wide = read_config({**config, "intermediate_size": 3072}, KNOWLEDGE)
    assert parameters(read_config({**config, "intermediate_size": 1536}, KNOWLEDGE)) == parameters(usual)
    each = 2 * 768 + (4 + 1) + (48 + 2 * 16) + (48 + 1) + 16 + 1 + 768
    assert parameters(wide) - parameters(usual) == 2 * 1536 * each
    assert cache_bytes(wide, 1) == 2 * cache_bytes(usual, 1)


def test_linear_heads_beside_the_usual_ones() -> None:
    """Ling: 32 heads more in 35 of 42 layers, each 128 wide; and the convolution's width by its newer name."""
    name = "inclusionAI/Ling-3.0-Flash"
    usual, more = read(name), read(name, linear_num_heads=64)
    assert states_bytes(more, "recurrent") == 2 * states_bytes(usual, "recurrent") > 0
    assert parameters(more) > parameters(usual)
    same = read(name, linear_num_heads=32, linear_conv_kernel_dim=4, short_conv_kernel_size=2)
    assert parameters(same) == parameters(usual)


TIED = [name for name in MODELS if KNOWLEDGE.find_family(str(config_of(name)["model_type"])).structure.own_head]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", TIED)
def test_a_class_that_ties_nothing_has_a_head_whatever_the_file_says(name: str) -> None:
    tied = read(name, tie_word_embeddings=True)
    assert parameters(tied) == parameters(read(name, tie_word_embeddings=False))
    assert [warning for warning in tied.warnings if "ties the head" in warning]
    assert not [warning for warning in read(name).warnings if "ties the head" in warning]


_HOSTILE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, 1, 2**31, 2**63, 10**400, float("inf"), float("nan"), -0.5]),
    st.text(max_size=5),
    st.lists(st.one_of(st.integers(-1, 9), st.text(max_size=3), st.none()), max_size=4),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=2),
)


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_hostile_value_gives_a_plan_or_one_sentence(data: st.DataObject) -> None:
    """Law: whatever stands under a key, at any depth, reading ends in an architecture or a PlannerError."""
    config = copy.deepcopy(config_of(data.draw(st.sampled_from(sorted(MODELS)))))
    for _ in range(data.draw(st.integers(1, 3))):
        holder: dict[str, object] | list[object] = config
        while True:
            keys = sorted(holder) if isinstance(holder, dict) else range(len(holder))
            key = data.draw(st.sampled_from(keys))
            inner = holder[key]  # type: ignore[index]
            if not isinstance(inner, (dict, list)) or not inner or data.draw(st.booleans()):
                break
            holder = inner
        holder[key] = data.draw(_HOSTILE)  # type: ignore[index]
    try:
        architecture = read_config(config, KNOWLEDGE)
    except PlannerError as refusal:
        assert "\n" not in str(refusal)
        return
    assert cache_bytes(architecture, 2) >= cache_bytes(architecture, 1) >= 0
