"""One user's cache across models, beside the weights, shared, and layer by layer."""

import json

import pytest

from planner.answers.cache_words import attention_words
from planner.answers.layer_kinds import layer_kinds, spans
from planner.cache_comparison import (
    REAL_MODELS,
    cost_of,
    crossing,
    head_variants,
    shared_tokens,
    weights_bytes,
)
from planner.cli import main
from planner.format_presets import formats
from planner.inputs.format_choices import choose_weights
from planner.presets import load_preset

BF16 = formats()["bf16"]
FP8 = formats()["fp8"]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("llama-2-13b", "every head keeps its own (MHA)"),
        ("llama-3.1-8b", "four heads share (GQA)"),
        ("falcon-7b", "all 71 heads share one (MQA)"),
        ("deepseek-v3", "one compressed vector (MLA)"),
        ("deepseek-v4-pro", "tokens are compressed together"),
        ("gemma-3-27b", "52 of 62 layers look back 1,024"),
        ("gpt-oss-120b", "half the layers look back 128"),
        ("mistral-7b-v0.1", "all layers look back 4,096"),
        ("qwen3-next-80b-a3b", "1 layer in 4 keeps every token"),
        ("falcon-h1-3b", "every token and a state in all layers"),
        ("recurrentgemma-2b", "8 of 26 layers look back 2,048, the rest a state"),
        ("falcon-mamba-7b", "a state of fixed size"),
        ("llama-3.2-11b-vision", "four heads share (GQA), 1 layer in 5 sees an image"),
        ("nemotron-super-49b", "eight heads share (GQA), 31 of 80 layers keep nothing"),
        # Its window of 131,072 is its limit.
        ("phi-3.5-moe", "four heads share (GQA)"),
    ],
)
def test_how_a_model_remembers_in_words(model: str, words: str) -> None:
    assert attention_words(load_preset(model)) == words


@pytest.mark.parametrize(
    ("model", "at_8192", "next_token"),
    [
        ("llama-2-13b", 40 * 2 * 40 * 128 * 2 * 8192, 819_200),
        ("llama-3.1-8b", 32 * 2 * 8 * 128 * 2 * 8192, 131_072),
        ("falcon-7b", 32 * 2 * 1 * 64 * 2 * 8192, 8_192),
        ("deepseek-v3", 61 * (512 + 64) * 2 * 8192, 70_272),
        ("gemma-3-27b", (10 * 8192 + 52 * 1024) * 2 * 16 * 128 * 2, 10 * 8_192),
        ("qwen3-next-80b-a3b", 201_326_592 + 77_266_944, 24_576),
    ],
)
def test_one_user_of_8192_tokens(model: str, at_8192: int, next_token: int) -> None:
    cost = cost_of(load_preset(model), 8_192, BF16, BF16)
    assert (cost.bytes, cost.bytes_per_token) == (at_8192, next_token)


def test_every_kind_of_attention_is_among_the_real_models() -> None:
    words = " ".join(attention_words(load_preset(name)) for name in REAL_MODELS)
    for kind in ("MHA", "GQA", "MQA", "MLA", "look back", "keeps every token", "a state of fixed size"):
        assert kind in words


def test_qwen_with_other_heads() -> None:
    """24 layers of 64 wide heads: 14 of their own, 2 shared by seven, 1 for all; a latent vector of 576."""
    found = {cost.attention: cost for cost in head_variants(load_preset("qwen2.5-0.5b"), 1, BF16, BF16)}
    assert [cost.bytes for cost in found.values()] == [86_016, 24 * 576 * 2, 12_288, 6_144]
    assert [name for name, cost in found.items() if cost.is_asked] == ["seven heads share (GQA)"]
    assert found["every head keeps its own (MHA)"].bytes == 7 * 12_288


def test_a_model_whose_heads_keep_their_own_is_shown_grouped_too() -> None:
    found = head_variants(load_preset("llama-2-13b"), 8_192, BF16, BF16)
    assert [cost.attention for cost in found] == [
        "every head keeps its own (MHA)",
        "five heads share (GQA)",
        "one compressed vector (MLA)",
        "all 40 heads share one (MQA)",
    ]
    assert found[0].is_asked


def test_windows_stay_when_heads_change() -> None:
    found = head_variants(load_preset("gemma-3-27b"), 8_192, BF16, BF16)
    assert found[0].bytes == (10 * 8192 + 52 * 1024) * 2 * 32 * 128 * 2


@pytest.mark.parametrize("model", ["deepseek-v3", "falcon-mamba-7b"])
def test_head_counts_mean_nothing_to_a_latent_vector_or_a_state(model: str) -> None:
    assert head_variants(load_preset(model), 8_192, BF16, BF16) == ()


def test_the_cache_of_a_7b_model_outgrows_it_from_106_812_tokens() -> None:
    """14·10⁹ / 131,072 = 106,811.5."""
    architecture = load_preset("7b-class")
    found = crossing(architecture, choose_weights("fp16", None, architecture), BF16, BF16)
    assert (found.weights_bytes, found.tokens) == (14 * 10**9, 106_812)
    assert (106_812, 106_812 * 131_072) in found.points
    assert found.points[0] == (0, 0)
    assert found.points[-1][0] == found.longest_tokens >= 106_812


def test_fewer_bits_of_weights_are_outgrown_sooner_and_of_cache_later() -> None:
    architecture = load_preset("llama-3.1-8b")
    bf16, four_bits = (choose_weights(name, None, architecture) for name in ("bf16", "q4_k_m"))
    plain = crossing(architecture, bf16, BF16, BF16)
    assert plain.tokens == 16_060_522_496 // 131_072 + 1
    assert crossing(architecture, bf16, FP8, FP8).tokens == 16_060_522_496 // 65_536 + 1
    assert crossing(architecture, four_bits, BF16, BF16).tokens == weights_bytes(architecture, four_bits) // 131_072 + 1


def test_a_state_never_outgrows_its_model() -> None:
    architecture = load_preset("falcon-mamba-7b")
    found = crossing(architecture, choose_weights(None, None, architecture), BF16, BF16)
    assert found.tokens is None
    assert {size for _, size in found.points} == {cost_of(architecture, 1, BF16, BF16).bytes}


@pytest.mark.parametrize("model", ["qwen2.5-0.5b", "gemma-3-27b", "deepseek-v4-pro", "qwen3-next-80b-a3b"])
def test_the_crossing_is_the_first_token_that_is_too_many(model: str) -> None:
    """cache(n − 1) ≤ weights < cache(n)."""
    architecture = load_preset(model)
    found = crossing(architecture, choose_weights(None, None, architecture), BF16, BF16)
    assert found.tokens is not None
    before, there = (cost_of(architecture, tokens, BF16, BF16).bytes for tokens in (found.tokens - 1, found.tokens))
    assert before <= found.weights_bytes < there


def test_only_the_resident_tokens_count() -> None:
    """32 × 2,048 = 64 × 1,024 = 128 × 512 = 65,536 tokens of 12,288 B."""
    found = shared_tokens(load_preset("qwen2.5-0.5b"), BF16, BF16, (32, 64, 128), 65_536)
    assert [(row.users, row.tokens_each, row.bytes) for row in found] == [
        (32, 2_048, 768 * 2**20),
        (64, 1_024, 768 * 2**20),
        (128, 512, 768 * 2**20),
    ]


def test_each_user_has_windows_of_their_own() -> None:
    """Above its window a long conversation is cheaper than the short ones with as many tokens."""
    found = shared_tokens(load_preset("gemma-3-27b"), BF16, BF16, (32, 64, 128), 65_536)
    assert found[0].bytes == 32 * (10 * 2_048 + 52 * 1_024) * 8_192
    assert found[0].bytes < found[1].bytes == found[2].bytes == 65_536 * 62 * 8_192


def test_layers_by_kind() -> None:
    """Gemma-3-27B: each sixth of 62 layers keeps everything, the others 1,024 tokens of 8,192 B."""
    windows, full = layer_kinds(load_preset("gemma-3-27b"), BF16, BF16, 8_192)
    assert (len(windows.indices), len(full.indices)) == (52, 10)
    assert full.spans == "every 6th, 5 – 59"
    assert windows.spans == "0 – 4, 6 – 10, …, 60 – 61"
    assert (windows.bytes, full.bytes) == (1_024 * 8_192, 8_192 * 8_192)
    assert windows.words == "sliding window of 1,024, two heads share (GQA)"
    assert windows.growth.max_tokens == 1_024


@pytest.mark.parametrize("model", REAL_MODELS)
def test_kinds_add_up_to_the_model(model: str) -> None:
    architecture = load_preset(model)
    kinds = layer_kinds(architecture, BF16, BF16, 8_192)
    assert sorted(index for kind in kinds for index in kind.indices) == list(range(len(architecture.layers)))
    assert sum(len(kind.indices) * kind.bytes for kind in kinds) == cost_of(architecture, 8_192, BF16, BF16).bytes


@pytest.mark.parametrize(
    ("indices", "words"),
    [
        ([0, 2, 4], "every 2nd, 0 – 4"),
        ([2, 13, 24], "every 11th, 2 – 24"),
        ([0, 3, 9, 11, 20], "0, 3, …, 20"),
        ([1, 3], "1, 3"),
    ],
)
def test_places_in_few_words(indices: list[int], words: str) -> None:
    assert spans(indices) == words


def test_the_command_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "7b-class", "--weights", "fp16", "--models", "llama-2-13b,7b-class", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["bytes"], found["bytes_per_token"], found["crossing_tokens"]) == (131_072 * 8_192, 131_072, 106_812)
    assert [cost["model"] for cost in found["other_models"]] == ["Llama-2-13B"]
    main(["cache", "qwen2.5-0.5b"])
    said = capsys.readouterr().out
    assert "32 × 2,048, 64 × 1,024 and 128 × 512 all hold 65,536 tokens, and all cost 0.75 GiB (768 MiB)." in said
    assert "**" not in said


def test_the_command_refuses_no_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "7b-class", "--context", "0"]) == 2
    assert capsys.readouterr().err.startswith("context = 0 is not possible")
