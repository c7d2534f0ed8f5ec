"""Settings and formats that an engine itself refuses, by version: one sentence that names the setting and what goes."""

from typing import Any

import pytest

from planner import format_presets, presets
from planner.answers.answer import Answer, answer
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from tests.builders import attention, latent, layer, linear, model
from tests.shapes import gated_delta_net

DENSE = model(layer(attention()))
WEIGHED = model(layer(attention(), tensors=(linear(1_024, 1_024),)))
HYBRID = model(layer(attention()), layer(gated_delta_net(8, 8)))
SERVERS = ("vllm", "sglang", "tensorrt_llm", "lmdeploy")
BY_SETTING = ("settings_one_of", "settings_multiple_of", "settings_at_least", "settings_below")
LISTS = ("settings_powers_of_two", "not_with_pipeline")


def ask(engine: str, version: str, *settings: str, architecture: Any = DENSE, **options: Any) -> Answer:
    if "weights" in options:
        architecture = WEIGHED
    given = {"context": 1_024, **({} if "device" in options else {"memory": "80GiB"}), **options}
    chosen = choose(Choices(model="", engine=engine, engine_version=version, set=settings, **given), architecture)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


@pytest.mark.parametrize(
    ("engine", "version", "settings", "options", "said"),
    [
        ("vllm", "0.10.0", ("max_num_batched_tokens=1",), {}, "at least max_num_seqs = 1,024"),
        ("vllm", "0.32", ("max_num_batched_tokens=8", "max_num_seqs=16"), {}, "at least max_num_seqs = 16"),
        (
            "vllm",
            "0.32",
            ("max_num_seqs=10000",),
            {},
            "max_num_batched_tokens = 8,192: it must be at least max_num_seqs",
        ),
        ("vllm", "0.11.0", ("block_size=17",), {}, "choose one of: 1, 8, 16, 32, 64, 128"),
        ("vllm", "0.11.0", ("block_size=256",), {}, "block_size = 256"),
        ("vllm", "0.32", ("block_size=17",), {}, "block_size = 17: it must be a multiple of 16"),
        ("vllm", "0.19.1", (), {"device": "v100-32gb", "weights": "fp8"}, "weights in fp8 on .*V100.* 7.5 and later"),
        ("vllm", "0.13.0", (), {"device": "t4", "weights": "fp8"}, "weights in fp8 on .*T4.* 8.0 and later"),
        ("vllm", "0.5.0", (), {"device": "a100-80gb-sxm", "weights": "fp8"}, "weights in fp8 on .*A100.* 8.9"),
        ("vllm", "0.7.3", (), {"device": "v100-32gb", "weights": "int4-g128-asym"}, "on .*V100.* 7.5 and later"),
        (
            "vllm",
            "0.8.5",
            (),
            {"device": "h100-sxm", "weights": "nvfp4"},
            "weights in nvfp4 on .*H100.* 10.0 and later",
        ),
        ("vllm", "0.32", (), {"device": "t4", "weights": "mxfp4"}, "weights in mxfp4 on .*T4.* 8.0 and later"),
        ("vllm", "0.24", (), {"device": "t4", "kv_cache": "fp8"}, "a cache in fp8 on .*T4.* 7.5"),
        ("vllm", "0.32", (), {"device": "t4", "kv_cache": "nvfp4-kv"}, "8.x, 9.x, 10.x, 12.x alone"),
        ("vllm", "0.32", (), {"architecture": model(layer(latent())), "kv_cache": "nvfp4-kv"}, "latent attention"),
        ("sglang", "0.5.17", ("page_size=7", "chunked_prefill_size=2048"), {}, "a multiple of page_size = 7"),
        (
            "sglang",
            "0.5.17",
            ("speculative_algorithm=ngram", "speculative_num_draft_tokens=4"),
            {"pipeline_parallel": 2, "architecture": model(layer(attention()), layer(attention()))},
            "with pipeline_parallel = 2",
        ),
        ("tensorrt_llm", "1.2.1", ("tokens_per_block=3",), {}, "a power of two"),
        ("tensorrt_llm", "1.2.1", (), {"device": "h100-sxm", "kv_cache": "nvfp4-kv"}, "of compute capability 9.0"),
        ("lmdeploy", "0.16.0", ("cache_block_seq_len=17",), {}, "a multiple of 32"),
        (
            "sglang",
            "0.5.17",
            ("attention_backend=trtllm_mla",),
            {"device": "b200"},
            "for models without latent attention",
        ),
        ("sglang", "0.5.17", ("attention_backend=trtllm_mha",), {"device": "h100-sxm"}, "kernels for 10.x alone"),
        ("sglang", "0.5.17", ("attention_backend=fa3",), {"device": "rtx-5090"}, "of compute capability 12.0"),
        ("sglang", "0.5.17", ("attention_backend=aiter",), {"device": "h100-sxm"}, "for AMD's cards"),
        ("lmdeploy", "0.5.0", (), {"tensor_parallel": 3}, "tensor_parallel = 3: it must be a power of two"),
        ("lmdeploy", "0.9.2", ("cache_max_entry_count=4000",), {}, "must be below 1"),
        ("lmdeploy", "0.15.0", ("cache_max_entry_count=4000",), {}, "cache_max_entry_count = 4000: it must be below 1"),
    ],
)
def test_what_the_engine_refuses(
    engine: str, version: str, settings: tuple[str, ...], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(PlannerError, match=rf" {version} refuses .*{said}"):
        ask(engine, version, *settings, **options)


@pytest.mark.parametrize(
    ("engine", "version", "settings", "options"),
    [
        ("vllm", "0.10.1", ("max_num_batched_tokens=1",), {}),  # max_num_seqs follows
        ("vllm", "0.32", ("block_size=48",), {}),
        ("vllm", "0.11.2", ("block_size=256",), {}),
        ("vllm", "0.19.1", (), {"device": "v100-32gb", "kv_cache": "fp8"}),
        ("vllm", "0.14.0", (), {"device": "t4", "weights": "fp8"}),
        ("vllm", "0.19.1", (), {"device": "v100-32gb", "weights": "int4-g128"}),  # GPTQ's kernels are for 6.0
        ("vllm", "0.9", (), {"device": "a100-80gb-sxm", "weights": "nvfp4"}),
        ("vllm", "0.32", (), {"device": "rtx-3090", "kv_cache": "nvfp4-kv"}),
        ("vllm", "0.32", (), {"kv_cache": "nvfp4-kv"}),  # a card that is only a size
        ("sglang", "0.5.17", ("page_size=64", "chunked_prefill_size=-1"), {}),
        ("sglang", "0.5.17", ("attention_backend=fa3",), {"device": "rtx-4090"}),
        ("sglang", "0.5.17", ("attention_backend=trtllm_mha",), {"device": "b200"}),
        ("sglang", "0.5.17", ("attention_backend=aiter",), {"device": "mi300x"}),
        ("tensorrt_llm", "1.2.1", ("tokens_per_block=128",), {}),
        ("lmdeploy", "0.14.0", ("cache_max_entry_count=100",), {}),
    ],
)
def test_what_it_does_not(engine: str, version: str, settings: tuple[str, ...], options: dict[str, Any]) -> None:
    assert ask(engine, version, *settings, **options).fits


@pytest.mark.parametrize("engine", SERVERS)
def test_every_rule_is_about_a_setting_or_a_format_that_there_is(engine: str) -> None:
    data = presets.engine_data(engine)
    formats = {name for entry in data.rules["cache_formats"] for name in entry.value}
    for rule in (*BY_SETTING, *LISTS):
        for entry in data.rules.get(rule, ()):
            assert entry.source
            assert set(entry.value) <= set(data.settings)
            if rule in BY_SETTING:
                assert {other for other in entry.value.values() if isinstance(other, str)} <= set(data.settings)
    for rule in ("cache_capability", "cache_not_latent"):
        assert all(set(entry.value) <= formats for entry in data.rules.get(rule, ()))
    for entry in data.rules.get("weights_capability", ()):
        assert set(entry.value) <= format_presets.formats().keys()


@pytest.mark.parametrize(("version", "runs"), [("0.19.1", True), ("0.20", False), ("0.32", False)])
def test_a_card_that_a_release_has_no_build_for(version: str, runs: bool) -> None:
    """vLLM from 0.20 on is for compute capability 7.5 and later, and a V100 has 7.0."""
    found = ask("vllm", version, device="v100-32gb", context=512)
    assert found.fits is runs
    said = "vLLM does not run on NVIDIA V100 SXM2 32 GB; give an earlier --engine-version, or choose one of: "
    assert found.no_build.startswith(said) is not runs
    assert "vllm" not in found.no_build


def test_every_nvidia_card_says_what_its_kernels_can_do() -> None:
    cards = presets.devices().values()
    assert all((card.compute_capability is not None) == (card.vendor == "nvidia") for card in cards)
    by_name = {card.name: card.compute_capability for card in cards}
    assert (by_name["v100-32gb"], by_name["t4"], by_name["rtx-3090"], by_name["rtx-4090"]) == (7.0, 7.5, 8.6, 8.9)
    assert (by_name["h100-sxm"], by_name["b200"], by_name["rtx-5090"], by_name["dgx-spark"]) == (9.0, 10.0, 12.0, 12.1)


@pytest.mark.parametrize(("tokens", "context", "is_refused"), [(512, 1_024, True), (2_048, 1_024, False)])
def test_a_prompt_of_one_step_needs_room_in_it(tokens: int, context: int, is_refused: bool) -> None:
    found = ask("vllm", "0.6", f"max_num_batched_tokens={tokens}", context=context)
    assert found.fits is not is_refused
    assert any("computes a prompt in one step; leave it out" in warning for warning in found.warnings) is is_refused
    assert ask("vllm", "0.9", f"max_num_batched_tokens={tokens}", "max_num_seqs=256", context=context).fits


def test_a_state_mode_that_does_not_go_with_prefix_caching_gives_way() -> None:
    """From 0.16 on ``none`` becomes ``align`` while prefixes are cached, and ``align`` none while they are not."""

    def request_bytes(version: str, mode: str, caching: str) -> int:
        settings = (f"mamba_cache_mode={mode}", f"enable_prefix_caching={caching}", "max_num_seqs=1")
        return ask("vllm", version, *settings, architecture=HYBRID).kv_request_bytes

    assert request_bytes("0.26", "none", "true") == request_bytes("0.26", "align", "true")
    assert request_bytes("0.26", "align", "false") == request_bytes("0.26", "none", "false")
    assert request_bytes("0.26", "none", "false") < request_bytes("0.26", "align", "true")
