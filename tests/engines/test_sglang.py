"""SGLang's arithmetic on layers that can be worked out on paper, and the share that its releases choose."""

from dataclasses import replace
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.answers.answer import Answer, answer
from planner.architecture import Architecture
from planner.engines.sglang.fraction import Model, static_fraction
from planner.engines.sglang.runtime import BESIDE, CONTEXT
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.units import GIB, MIB
from tests.builders import attention, latent, layer, linear, model, state
from tests.shapes import shape

# 4 layers keep 2 · 2 heads · 64 · 2 bytes = 512 a token: 2,048 bytes.
DENSE = model(*[layer(attention())] * 4)
WINDOWED = replace(
    model(*[layer(attention())] * 2, *[layer(attention(window_tokens=100))] * 6), model_type="gpt_oss", name="windowed"
)
# 4 layers of 2,048 bytes a token, and 4 of 1,000 fp32 elements: a state of 16,000 bytes.
HYBRID = model(*[layer(attention())] * 4, *[layer(state())] * 4)


def ask(architecture: Architecture, *settings: str, **options: object) -> Answer:
    given = {"memory": "2GiB", "overhead": "0", "kv_cache": "bf16", "context": 1_000, **options}
    share = () if any(text.startswith("mem_fraction_static") for text in settings) else ("mem_fraction_static=0.5",)
    choices = Choices(model="", engine="sglang", set=(*settings, *share), **given)  # type: ignore[arg-type]
    chosen = choose(choices, architecture)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


@pytest.mark.parametrize(
    ("version", "mib", "options", "share"),
    [
        ("0.3.6", 81_559, {"tensor_parallel": 8}, 0.82),
        ("0.4.5", 81_559, {"tensor_parallel": 8}, 0.81),
        # (24,576 − 2.9 · 1,024) / 24,576
        ("0.4.9", 24_576, {}, 0.879),
        # (81,559 − (9.5 + 8 / 2) · 1,024) / 81,559
        ("0.5.2", 81_559, {"tensor_parallel": 8}, 0.831),
        # 512 + 1.5 · 2,048 + 2 · 16 + 1,024 / 8 = 3,744
        ("0.5.4", 24_576, {}, 0.848),
        # 2 · 24 instead of 2 · 16
        ("0.5.6", 24_576, {}, 0.847),
        # 512 + 1.5 · 4,096 + 2 · 32 + 128 = 6,848: an L40S that printed 44.00 GiB free, 15.09 loaded and 22.36 of cache
        ("0.5.6", 46_068, {}, 0.851),
        # 42 graphs of prompts up to 2,048 tokens, 8 MiB each
        ("0.5.12", 24_576, {}, 0.833),
        # 512 + 1.5 · 8,192 + 2 · 512 + 8 · 128 = 14,848, and 58 graphs of prompts
        ("0.5.17", 81_559, {"tensor_parallel": 8}, 0.812),
        # data-parallel attention: 512 · 8 · 4.5 more, and no graphs of prompts
        ("0.5.17", 143_771, {"data_parallel": 8, "expert_parallel": 8}, 0.769),
        # a large card keeps 10 GiB at least
        ("0.5.17", 81_559, {"set": ("chunked_prefill_size=1024", "cuda_graph_max_bs=1")}, 0.874),
        # a step of 4,096 tokens with graphs of 48: 512 + 6,144 + 96 + 128, and 50 graphs of prompts
        ("0.5.20", 24_576, {}, 0.704),
    ],
)
def test_the_share_is_the_one_that_each_release_chooses(
    version: str, mib: int, options: dict[str, object], share: float
) -> None:
    choices = Choices(model="", memory=f"{mib}MiB", engine="sglang", engine_version=version, **options)  # type: ignore[arg-type]
    deployment = choose(choices, DENSE).deployment
    assert static_fraction(Model(model_type="llama", is_latent=False, tower=None), deployment) == pytest.approx(share)


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        # 24 layers, since its config calls them depth, of 1,280: 1.5625 times ViT-L.
        ("qwen2.5-vl-7b", 0.95 * (1 - 0.1 * 0.5625)),
        # 27 layers of 1,152: 1.4238 times ViT-L.
        ("minicpm-v-2.6", 0.95 * (1 - 0.1 * 0.423828125)),
    ],
)
def test_a_vision_tower_takes_its_part_of_the_share(name: str, factor: float) -> None:
    chosen = choose(Choices(model=name, memory="80GiB", engine="sglang", set=("disable_piecewise_cuda_graph=true",)))
    tower = next(tower for tower in chosen.architecture.towers if tower.kind == "vision")
    with_tower, without = (
        static_fraction(
            Model(model_type=chosen.architecture.model_type, is_latent=False, tower=each), chosen.deployment
        )
        for each in (tower, None)
    )
    assert with_tower == pytest.approx(without * factor)


def test_the_pool_is_the_share_less_weights() -> None:
    heavy = model(layer(attention(), tensors=(linear(1_024, 1_024),)), *[layer(attention())] * 3)
    found = ask(heavy)
    # Half of 2 GiB, less 2 MiB of weights, in tokens of 2,048 bytes.
    assert found.pool_tokens == (GIB - 2 * MIB) // 2_048 == 523_264
    assert found.report is not None
    assert found.report.groups == ("523,264 tokens of 2,048 B, layers that keep all",)


def test_what_is_gone_before_loading_is_not_shared() -> None:
    """pool = 0.5 · (2 GiB − context), less what is loaded beside: half of what the context leaves is outside."""
    found = ask(DENSE, overhead=None)
    context, beside = (next(item for item in found.items if item.name == name) for name in (CONTEXT, BESIDE))
    assert context.low_bytes < context.bytes < context.high_bytes
    left_bytes = 2 * GIB - context.bytes
    assert found.pool_tokens == (left_bytes - beside.bytes - ceil(0.5 * left_bytes)) // 2_048


@pytest.mark.parametrize(("heads", "ranks", "kept"), [(8, 4, 2), (2, 8, 1), (1, 4, 1)])
def test_heads_are_divided_or_repeated(heads: int, ranks: int, kept: int) -> None:
    found = ask(model(layer(attention(8, heads))), tensor_parallel=ranks)
    assert found.kv_bytes_per_token == kept * 2 * 64 * 2


def test_heads_that_do_not_divide_are_refused() -> None:
    with pytest.raises(PlannerError, match="tensor_parallel = 4 does not go with 6 key-value heads"):
        ask(model(layer(attention(8, 6))), tensor_parallel=4)


def test_latent_attention_is_whole_on_every_rank_and_an_indexer_adds_its_key() -> None:
    assert ask(model(layer(latent())), tensor_parallel=8).kv_bytes_per_token == 1_152
    sparse = model(layer(replace(latent(), index_head_dim=128)))
    # 1,152 and 132; with fp8 656 and 132, as GLM-5's 61,464 bytes in 78 layers.
    assert ask(sparse).kv_bytes_per_token == 1_284
    assert 78 * int(ask(sparse, kv_cache="fp8").kv_bytes_per_token) == 61_464
    report = ask(sparse).report
    assert report is not None
    assert report.block_size == 64
    assert report.pool_tokens % 64 == 0


def test_windows_have_a_pool_of_four_fifths_of_the_tokens() -> None:
    # 2 full layers of 512 bytes and 0.8 · 6 of 512: 3,481.6 bytes a token.
    found = ask(WINDOWED)
    tokens = int(GIB // Fraction(34_816, 10))
    assert found.pool_tokens == tokens == 308_404
    assert found.report is not None
    assert found.report.groups == (
        "308,404 tokens of 1,024 B, layers that keep all",
        f"{int(tokens * 0.8):,} tokens of 3,072 B, windows of 100",
    )
    # A long request is bounded by the full layers, a short one by the windows: 50 tokens of 0.8 · tokens.
    assert found.max_context_tokens == tokens
    assert ask(WINDOWED, context=50).max_users == int(Fraction(8, 10) * GIB / Fraction(34_816, 10) // 50)


def test_only_named_models_have_a_pool_for_windows() -> None:
    assert ask(replace(WINDOWED, model_type="gemma3")).pool_tokens == GIB // 4_096
    assert ask(WINDOWED, "disable_hybrid_swa_memory=true").pool_tokens == GIB // 4_096
    assert ask(WINDOWED, engine_version="0.5.7").pool_tokens == GIB // 4_096


def test_states_take_nine_parts_to_ten_of_tokens() -> None:
    found = ask(HYBRID)
    states = int(Fraction(9, 19) * GIB // 16_000)
    assert found.report is not None
    assert found.report.groups[1] == f"{states:,} states of 16,000 B, 3 a request"
    assert found.pool_tokens == (GIB - states * 16_000) // 2_048
    # 3 states a request: two pools bound the users.
    assert found.max_users == min(states // 3, int(Fraction(10, 19) * GIB // 2_048_000))


def test_a_number_of_states_is_taken_first() -> None:
    found = ask(HYBRID, "max_mamba_cache_size=30", users=11)
    assert next(item.bytes for item in found.items if item.name == "state pool") == 480_000
    assert found.pool_tokens == (GIB - 480_000) // 2_048
    assert found.report is not None
    assert found.report.refusals == (
        "SGLang would run 10 of 11 requests at once: there are 30 states and a request keeps 3; raise "
        "max_mamba_cache_size or mamba_full_memory_ratio.",
    )
    assert ask(HYBRID, "max_mamba_cache_size=30", users=10).fits


def test_without_a_radix_cache_a_request_keeps_one_state() -> None:
    found = ask(HYBRID, "disable_radix_cache=true", "max_running_requests=7")
    assert found.report is not None
    assert found.report.groups[1] == "7 states of 16,000 B, 1 a request"
    assert found.report.max_concurrency == 7


def test_a_buffer_tracks_the_states_of_newer_releases() -> None:
    """360 states for 72 requests: what 27B hybrids print."""
    gdn = replace(shape("gdn-27b"), model_type="qwen3_5")
    found = ask(gdn, "max_mamba_cache_size=360", memory="128GiB", users=72)
    assert found.report is not None
    assert found.report.refusals == ()
    assert ask(gdn, "max_mamba_cache_size=360", memory="128GiB", users=73).report.refusals  # type: ignore[union-attr]


def test_drafted_tokens_have_states_and_a_layer_of_their_own() -> None:
    gdn = shape("gdn-27b")
    drafts = ("speculative_algorithm=nextn", "speculative_num_draft_tokens=4")
    plain, drafting, older = ask(gdn), ask(gdn, *drafts), ask(gdn, *drafts, engine_version="0.5.10")
    assert drafting.kv_bytes_per_token == plain.kv_bytes_per_token * 17 / 16
    assert older.kv_bytes_per_token == plain.kv_bytes_per_token
    assert drafting.kv_fixed_bytes == plain.kv_fixed_bytes // 3 * 7
    # Before 0.5.13 the drafted states of 48 requests were taken off first.
    state_bytes = plain.kv_fixed_bytes // 3
    assert next(item.bytes for item in older.items if item.name == "state pool") == 48 * 4 * state_bytes


def test_a_draft_model_has_a_pool_of_as_many_tokens() -> None:
    # 80 layers of 4 heads and 32 of the draft: 81,920 and 32,768 bytes a token on one of two ranks.
    choices = Choices(
        model="llama-3.1-70b",
        draft_model="llama-3.1-8b",
        draft_tokens=4,
        memory="100GiB",
        device_count=2,
        engine="sglang",
        set=("mem_fraction_static=0.9",),
    )
    chosen = choose(choices)
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    assert found.report is not None
    assert found.pool_tokens == found.report.pool_bytes // (2 * 80 * 4 * 128 * 2 + 2 * 32 * 4 * 128 * 2)


def test_max_total_tokens_caps_the_pool() -> None:
    found = ask(DENSE, "max_total_tokens=900")
    assert (found.pool_tokens, found.max_context_tokens, found.fits) == (900, 900, False)
    assert found.report is not None
    assert "max_total_tokens = 900 is the whole pool" in found.report.refusals[0]


def test_weights_that_are_too_large_name_the_share_that_holds_them() -> None:
    heavy = model(layer(attention(), tensors=(linear(1_024, 1_024, count=600),)))
    found = ask(heavy)
    assert found.report is not None
    # 1,200 MiB of 2,048 are 0.5859.
    assert "raise mem_fraction_static above 0.587" in found.report.refusals[0]
    assert ask(heavy, "mem_fraction_static=0.587").loads


@pytest.mark.parametrize(
    ("settings", "options", "problem"),
    [
        ((), {"engine_version": "0.3.0"}, "older than the rules"),
        ((), {"kv_cache": "q4_0"}, "cannot keep its cache in q4_0"),
        ((), {"kv_cache": None, "kv_cache_k": "bf16", "kv_cache_v": "fp8"}, "in one format"),
        (("speculative_algorithm=nextn",), {}, "speculative_num_draft_tokens"),
        (("speculative_algorithm=nextn", "speculative_num_draft_tokens=2"), {}, "no layers for multi-token prediction"),
    ],
)
def test_what_sglang_cannot_do_is_one_sentence(
    settings: tuple[str, ...], options: dict[str, object], problem: str
) -> None:
    with pytest.raises(PlannerError, match=problem):
        ask(DENSE, *settings, **options)


def test_a_share_that_is_not_known_must_be_stated() -> None:
    deployment = choose(Choices(model="", memory="80GiB", engine="sglang", engine_version="0.4.7"), DENSE).deployment
    with pytest.raises(PlannerError, match="give --set mem_fraction_static="):
        static_fraction(Model(model_type="llama", is_latent=False, tower=None), deployment)


@given(
    tokens=st.integers(min_value=1, max_value=4_000),
    users=st.integers(min_value=1, max_value=50),
    which=st.sampled_from([DENSE, WINDOWED, HYBRID]),
)
def test_more_tokens_and_more_users_never_take_less(tokens: int, users: int, which: Architecture) -> None:
    """Each request fills every pool at least as far as a shorter one."""
    one = ask(which, context=tokens, users=users)
    assert ask(which, context=tokens + 1, users=users).total_bytes >= one.total_bytes
    assert ask(which, context=tokens, users=users + 1).total_bytes >= one.total_bytes
    assert one.max_users is not None
    assert ask(which, context=tokens, users=max(1, one.max_users)).fits
    assert not ask(which, context=tokens, users=one.max_users + 1).fits
