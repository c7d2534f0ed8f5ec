"""TensorRT-LLM and LMDeploy: whole blocks in a share of what is free, on layers that can be worked out on paper."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.answers.answer import Answer, answer
from planner.architecture import Architecture, StateTensor
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.units import GIB, MIB
from tests.builders import attention, latent, layer, linear, model, state

# 4 layers keep 2 · 2 heads · 64 · 2 bytes = 512 a token: 2,048 bytes, 64 KiB a block of 32.
DENSE = model(layer(attention(), tensors=(linear(1_024, 1_024),)), *[layer(attention())] * 3)
ENGINES = ("tensorrt_llm", "lmdeploy")


def ask(architecture: Architecture, engine: str, *settings: str, **options: Any) -> Answer:
    given = {"memory": "1GiB", "overhead": "0", "kv_cache": "bf16", "context": 1_000, **options}
    chosen = choose(Choices(model="", engine=engine, set=settings, **given), architecture)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


@pytest.mark.parametrize(
    ("engine", "version", "share", "block", "rounds_up"),
    [
        ("tensorrt_llm", "1.2", 0.9, 32, False),
        ("tensorrt_llm", "0.17", 0.9, 64, True),
        ("lmdeploy", "0.16", 0.8, 64, False),
    ],
)
def test_the_pool_is_whole_blocks_in_a_share_of_what_is_free(
    engine: str, version: str, share: float, block: int, rounds_up: bool
) -> None:
    found = ask(DENSE, engine, "max_batch_size=1000", engine_version=version)
    blocks, rest = divmod(share * (GIB - 2 * MIB), block * 2_048)
    assert rest
    assert found.report is not None
    assert found.report.num_blocks == int(blocks) + rounds_up
    assert found.pool_tokens == found.report.num_blocks * block
    assert found.max_concurrency == found.report.num_blocks / -(-1_000 // block)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_request_takes_whole_blocks(engine: str) -> None:
    block = 32 if engine == "tensorrt_llm" else 64
    assert ask(DENSE, engine, context=1).kv_request_bytes == block * 2_048
    assert ask(DENSE, engine, context=block + 1).kv_request_bytes == 2 * block * 2_048


def test_a_share_of_1_42_gib_holds_82_blocks_of_64_tokens() -> None:
    """A start of TensorRT-LLM: 1.42 GiB free, 1.28 for the cache, 262,144 bytes a token, 5,248 tokens."""
    thick = model(*[layer(attention(32, 32, 64))] * 32)
    found = ask(thick, "tensorrt_llm", engine_version="0.17", memory="1.42GiB")
    assert found.kv_bytes_per_token == 262_144
    assert found.report is not None
    assert (found.report.num_blocks, found.pool_tokens) == (82, 5_248)


def test_max_tokens_caps_the_blocks() -> None:
    assert ask(DENSE, "tensorrt_llm", "max_tokens=1000").pool_tokens == 31 * 32
    assert ask(DENSE, "tensorrt_llm", "max_tokens=1000", engine_version="0.17").pool_tokens == 16 * 64


def test_an_entry_count_above_one_is_the_number_of_blocks() -> None:
    found = ask(DENSE, "lmdeploy", "cache_max_entry_count=100", engine_version="0.14")
    assert (found.pool_tokens, found.max_context_tokens) == (6_400, 6_400)


def test_quantised_keys_and_values_have_a_scale_and_a_zero_point_each() -> None:
    # 4 layers · 2 heads · 2 · (64 + 4) bytes, or (32 + 4).
    assert ask(DENSE, "lmdeploy", "quant_policy=8").kv_bytes_per_token == 4 * 2 * 2 * 68
    assert ask(DENSE, "lmdeploy", "quant_policy=4").kv_bytes_per_token == 4 * 2 * 2 * 36


@pytest.mark.parametrize("engine", ENGINES)
def test_heads_are_divided_or_repeated_and_latents_whole(engine: str) -> None:
    assert ask(DENSE, engine, tensor_parallel=2).kv_bytes_per_token == 1_024
    assert ask(DENSE, engine, tensor_parallel=4).kv_bytes_per_token == 1_024
    assert ask(model(layer(latent())), engine, tensor_parallel=8).kv_bytes_per_token == 1_152


def test_an_indexer_adds_its_key() -> None:
    sparse = model(layer(replace(latent(), index_head_dim=128)))
    assert ask(sparse, "tensorrt_llm").kv_bytes_per_token == 1_152 + 132
    with pytest.raises(PlannerError, match="latent attention"):
        ask(sparse, "lmdeploy")


def test_requests_at_once_follow_the_card() -> None:
    small = {"overhead": "0", "memory": None, "context": 64}
    assert ask(DENSE, "lmdeploy", device="h100-sxm", **small).max_concurrency == 1_024
    assert ask(DENSE, "lmdeploy", device="h100-sxm", engine_version="0.9", **small).max_concurrency == 512
    assert ask(DENSE, "lmdeploy", device="rtx-4090", **small).max_concurrency == 128
    assert ask(DENSE, "tensorrt_llm", device="rtx-4090", **small).max_concurrency == 2_048


@pytest.mark.parametrize("engine", ENGINES)
def test_a_request_longer_than_the_pool_is_cut_off_and_says_so(engine: str) -> None:
    found = ask(DENSE, engine, context=1_000_000)
    assert not found.fits
    assert any("would start all the same, and cut every request off at" in text for text in found.warnings)


@pytest.mark.parametrize("engine", ENGINES)
def test_another_maker_s_device_is_counted_and_that_is_said(engine: str) -> None:
    found = ask(DENSE, engine, memory=None, device="rx-7900-xtx")
    assert any("does not run on Radeon RX 7900 XTX" in text for text in found.warnings)
    assert not any("does not run" in text for text in ask(DENSE, engine, memory=None, device="rtx-4090").warnings)


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_left_is_refused(engine: str) -> None:
    found = ask(DENSE, engine, overhead="1GiB")
    assert found.report is not None
    assert "would refuse to start: weights and runtime leave" in found.report.refusals[0]


@pytest.mark.parametrize(
    ("engine", "options", "problem"),
    [
        ("tensorrt_llm", {"engine_version": "0.5"}, "older than the rules"),
        ("lmdeploy", {"engine_version": "0.2.1"}, "older than the rules"),
        ("tensorrt_llm", {"kv_cache": "q8_0"}, "in one format of"),
        ("lmdeploy", {"kv_cache": "fp8"}, "quant_policy"),
        ("tensorrt_llm", {"data_parallel": 2, "tensor_parallel": 2}, "data parallelism of attention alone"),
        ("lmdeploy", {"pipeline_parallel": 2}, "--tensor-parallel alone"),
    ],
)
def test_what_they_cannot_do_is_one_sentence(engine: str, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(PlannerError, match=problem):
        ask(DENSE, engine, **options)


@pytest.mark.parametrize(
    ("engine", "version", "instead"),
    [("tensorrt_llm", "1.2", "minimum"), ("lmdeploy", "0.14", "ask for 0.15 or later")],
)
def test_states_are_refused(engine: str, version: str, instead: str) -> None:
    with pytest.raises(PlannerError, match=f"a Recurrence layer is not known here: .*{instead}"):
        ask(model(layer(attention()), layer(state())), engine, engine_version=version)


def test_lmdeploy_s_states_lie_in_the_pool() -> None:
    """A state of 1,000 elements and a convolution of 100 rows and a kernel of 4, of which 3 wait, in 2 bytes: 2,800.

    A request of 1,000 tokens takes 16 blocks of 64 tokens of 512 bytes beside it.
    """
    conv = StateTensor(name="conv", rows=100, columns=3)
    mixer = replace(state(), states=(*state().states, conv))
    found = ask(model(layer(attention()), layer(mixer)), "lmdeploy", "max_batch_size=9999", engine_version="0.16")
    assert found.kv_request_bytes == 16 * 64 * 512 + 2_800
    assert found.report is not None
    blocks = (found.report.pool_bytes - 2_800) // (64 * 512)
    assert found.report.num_blocks == blocks
    assert found.report.max_concurrency == pytest.approx(found.report.pool_bytes / found.kv_request_bytes, rel=0.001)


@pytest.mark.parametrize(
    ("name", "version", "is_served"),
    [
        ("gemma-3-27b", "0.16", False),
        ("mistral-7b-v0.3", "0.13", True),
        ("mistral-7b-v0.3", "0.14", False),
        ("qwen2-vl-7b", "0.14", False),
        ("qwen2-vl-7b", "0.16", True),
        ("qwen3-8b", "0.7", False),
        ("qwen3.5-27b", "0.16", True),
    ],
)
def test_what_turbomind_does_not_serve_is_refused(name: str, version: str, is_served: bool) -> None:
    """LMDeploy would take its PyTorch engine, by its tables of 0.13.0, 0.14.0 and 0.16.0."""
    choices = Choices(model=name, device="h200-sxm", engine="lmdeploy", engine_version=version, context=1_000)
    chosen = choose(choices)
    if is_served:
        answer(chosen.architecture, chosen.deployment, chosen.workload)
        return
    with pytest.raises(PlannerError, match="with its PyTorch engine, not TurboMind,"):
        answer(chosen.architecture, chosen.deployment, chosen.workload)


@pytest.mark.parametrize(
    ("version", "context", "is_noted"), [("1.2", 8_193, True), ("1.2", 8_192, False), ("0.19", 9_000, False)]
)
def test_tensorrt_llm_takes_no_prompt_longer_than_a_step(version: str, context: int, is_noted: bool) -> None:
    """A step has 8,192 tokens by default, and prompts are not cut unless that is asked for."""
    found = ask(DENSE, "tensorrt_llm", engine_version=version, context=context)
    assert any("prompts of up to max_num_tokens = 8,192" in text for text in found.warnings) is is_noted


def test_latents_were_expanded_before_0_12_2() -> None:
    with pytest.raises(PlannerError, match="latent attention"):
        ask(model(layer(latent())), "lmdeploy", engine_version="0.12.1")


@given(
    engine=st.sampled_from(ENGINES),
    mib=st.integers(min_value=3, max_value=4_096),
    tokens=st.integers(min_value=1, max_value=2_000),
)
def test_printed_tokens_hold_the_longest_context(engine: str, mib: int, tokens: int) -> None:
    """fits(n) up to the printed tokens, and not beyond."""
    found = ask(DENSE, engine, memory=f"{mib}MiB", context=tokens)
    assert found.pool_tokens == found.max_context_tokens
    assert found.fits == (tokens <= (found.pool_tokens or 0))


@pytest.mark.parametrize(
    ("version", "requests", "gib"),
    # 1.2 GiB and 4.4 or 2.1 MiB a request; one size for any batch from 1.0 on
    [("0.17", 2048, 10.0), ("0.17", 64, 1.475), ("0.19", 2048, 5.4), ("1.2", 2048, 1.9), ("1.2", 8, 1.9)],
)
def test_tensorrt_llm_s_buffers_grow_with_the_batch_until_1_0(version: str, requests: int, gib: float) -> None:
    choices = Choices(
        model="llama-3.1-8b",
        device="h100-sxm",
        engine="tensorrt_llm",
        engine_version=version,
        set=(f"max_batch_size={requests}",),
    )
    chosen = choose(choices)
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    buffers = next(item for item in found.items if item.name == "context and buffers")
    assert buffers.bytes / GIB == pytest.approx(gib)
