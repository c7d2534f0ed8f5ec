"""What tensor and expert parallelism cannot divide is refused wherever the engine refuses it, and never offered."""

from dataclasses import replace
from typing import Any

import pytest

from planner import presets
from planner.advice import fixes
from planner.answers.answer import Answer, answer
from planner.architecture import Architecture, Attention, LatentAttention, Tensor, distinct_layers
from planner.errors import PlannerError, UnevenSplit
from planner.format_presets import formats
from planner.formats import Role
from planner.inputs.choices import Choices, choose
from planner.serving.offers import find_offers
from planner.shares import even
from planner.weights import tensor_bytes
from tests.builders import BF16, attention, latent, layer, model
from tests.shapes import mamba2

SERVERS = ("vllm", "sglang", "tensorrt_llm", "lmdeploy")
PLAIN = attention(16, 16)


def ask(architecture: Architecture | str, engine: str, **options: Any) -> Answer:
    given = {"memory": "640GiB", "context": 1_024, **options}
    name = architecture if isinstance(architecture, str) else ""
    chosen = choose(Choices(model=name, engine=engine, **given), None if name else architecture)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


@pytest.mark.parametrize(
    ("name", "ranks", "heads", "fine", "engine"),
    [
        (*case, engine)
        for engine in SERVERS
        for case in (
            ("qwen2.5-7b-instruct", 8, "28 attention heads", "1, 2, 4"),
            ("qwen2.5-32b", 16, "40 attention heads", "1, 2, 4, 8"),
            ("qwen3-8b", 64, "32 attention heads", "1, 2, 4, 8, 16, 32"),
            ("gemma-3-1b", 8, "4 attention heads", "1, 2, 4"),
            ("deepseek-v3", 7, "128 attention heads", "1, 2, 4, 8"),
        )
        if engine != "lmdeploy" or "qwen" in case[0]
    ],
)
def test_attention_heads_must_divide(engine: str, name: str, ranks: int, heads: str, fine: str) -> None:
    with pytest.raises(UnevenSplit) as error:
        ask(name, engine, tensor_parallel=ranks)
    assert f"tensor_parallel = {ranks} does not go with {heads}:" in str(error.value)
    assert str(error.value).endswith(f"choose one of: {fine}.")
    for good in fine.split(", "):
        ask(name, engine, tensor_parallel=int(good))


@pytest.mark.parametrize("engine", SERVERS)
def test_no_preset_is_planned_with_heads_that_do_not_divide(engine: str) -> None:
    """Of every family one preset, on 3 to 64 ranks: what is planned has a whole number of query heads on each."""
    families = {preset.config.get("model_type"): preset for preset in presets.models()}
    planned = 0
    for preset in families.values():
        architecture = presets.load_preset(preset.name)
        heads = {
            mixer.num_attention_heads
            for found, _ in distinct_layers(architecture.layers)
            for mixer in found.mixers
            if (isinstance(mixer, Attention) and mixer.v_head_dim) or isinstance(mixer, LatentAttention)
        }
        for ranks in (3, 6, 8, 64):
            uneven = [count for count in heads if count % ranks]
            if uneven:
                with pytest.raises(PlannerError):
                    ask(architecture, engine, tensor_parallel=ranks)
                planned += 1
    assert planned > 100


def inner(width: int, stored: str, role: Role = Role.LINEAR) -> Tensor:
    return Tensor(name="mlp.down_proj.weight", role=role, rows=512, columns=width, stored=formats()[stored], active=-1)


@pytest.mark.parametrize("engine", SERVERS)
@pytest.mark.parametrize(
    ("architecture", "ranks", "what"),
    [
        (model(layer(attention(8, 6))), 4, "6 key-value heads"),
        (model(layer(latent(40))), 16, "40 attention heads"),
        (model(layer(PLAIN, tensors=(inner(1_000, "bf16"),))), 16, "an inner width of 1,000"),
    ],
)
def test_so_must_other_heads_and_widths(engine: str, architecture: Architecture, ranks: int, what: str) -> None:
    with pytest.raises(UnevenSplit, match=f"tensor_parallel = {ranks} does not go with {what}"):
        ask(architecture, engine, tensor_parallel=ranks)


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_state_heads_must_divide_and_a_vocabulary_once_it_is_padded(engine: str) -> None:
    hybrid = model(layer(PLAIN), layer(mamba2(8, 64, 128, 1)))
    with pytest.raises(UnevenSplit, match="8 heads or channels of mamba2"):
        ask(hybrid, engine, tensor_parallel=16)
    with pytest.raises(UnevenSplit, match="a vocabulary of 1,024"):  # 1,000 padded to a multiple of 64
        ask(model(layer(attention(12, 12))), engine, tensor_parallel=3)
    ask(model(layer(attention(12, 12))), "tensorrt_llm", tensor_parallel=3)


@pytest.mark.parametrize(
    ("engine", "version", "stored", "role", "is_refused"),
    [
        ("vllm", "0.32", "int4-g128", Role.LINEAR, True),
        ("vllm", "0.32", "int4-g128-asym", Role.LINEAR, True),
        ("vllm", "0.32", "int4-g32", Role.LINEAR, False),
        ("vllm", "0.32", "int4-g128", Role.EXPERT, False),
        ("vllm", "0.32", "fp8-block", Role.EXPERT, True),
        ("vllm", "0.32", "fp8", Role.LINEAR, False),
        ("sglang", "0.5.17", "int4-g128", Role.LINEAR, True),
        ("sglang", "0.5.17", "fp8-block", Role.LINEAR, True),
        ("tensorrt_llm", "1.2.1", "int4-g128", Role.LINEAR, True),
        ("tensorrt_llm", "1.2.1", "fp8-block", Role.LINEAR, False),
        ("lmdeploy", "0.16.0", "int4-g128", Role.LINEAR, True),
        ("lmdeploy", "0.13.0", "int4-g128", Role.LINEAR, False),
    ],
)
def test_a_group_of_one_scale_is_not_cut(engine: str, version: str, stored: str, role: Role, is_refused: bool) -> None:
    """29,568 / 8 = 3,696 = 28.875 · 128: the checkpoint's own format is refused, where the engine does so."""
    width = 29_568 if "g32" not in stored else 29_696
    own = model(layer(attention(64, 8), tensors=(inner(width, stored, role),)))
    if not is_refused:
        ask(own, engine, engine_version=version, tensor_parallel=8)
        return
    with pytest.raises(UnevenSplit, match=r"3,696 each are no whole groups of 128"):
        ask(own, engine, engine_version=version, tensor_parallel=8)


def test_a_format_that_is_only_chosen_is_warned_of() -> None:
    """Who makes the checkpoint can pad it, as Qwen2.5-72B's is, to 29,696."""
    found = ask("qwen2.5-72b", "vllm", weights="awq", tensor_parallel=8)
    assert found.fits
    assert any("29,568 in int4-g128-asym on 8 ranks: 3,696 each" in warning for warning in found.warnings)
    assert not any("padded" in warning for warning in ask("qwen2.5-72b", "vllm", weights="awq").warnings)


@pytest.mark.parametrize(("engine", "is_even"), [("vllm", False), ("sglang", True), ("tensorrt_llm", True)])
def test_experts_are_shared_evenly_where_the_engine_wants_it(engine: str, is_even: bool) -> None:
    expert = replace(inner(512, "bf16", Role.EXPERT), count=20, active=2)
    experts = model(layer(attention(16, 16), tensors=(expert,)))
    options = {"tensor_parallel": 8, "expert_parallel": 8}
    if not is_even:
        ask(experts, engine, **options)
        return
    with pytest.raises(UnevenSplit, match=r"expert_parallel = 8 does not go with 20 experts.*: 1, 2, 4, 5, 10\."):
        ask(experts, engine, **options)


def test_keys_and_values_of_one_head_are_whole_on_every_rank_that_has_it() -> None:
    """8 heads of 128 rows on 16 ranks: 128 rows on each, not 64; the queries' 4,096 are divided."""
    keys = Tensor(name="k", role=Role.LINEAR, rows=1_024, columns=4_096, stored=BF16, heads=8)
    bias = Tensor(name="k.bias", role=Role.BIAS, columns=1_024, stored=BF16, heads=8)
    scheme = choose(Choices(model="llama-3.1-8b", memory="1TiB")).deployment.weights
    assert [tensor_bytes(keys, scheme, even(ranks)) for ranks in (2, 8, 16, 32)] == [
        2 * rows * 4_096 for rows in (512, 128, 128, 128)
    ]
    assert [tensor_bytes(bias, scheme, even(ranks)) for ranks in (8, 16)] == [256, 256]


@pytest.mark.parametrize("engine", SERVERS)
def test_llama_on_sixteen_ranks_weighs_the_projections_twice(engine: str) -> None:
    """32 layers · 2 projections · 64 rows · 4,096 · 2 bytes more than an even sixteenth of all matrices."""
    whole, part = (ask("llama-3.1-8b", engine, tensor_parallel=ranks).weights_bytes for ranks in (1, 16))
    norms = 65 * 4_096 * 2
    assert part == (whole - norms) // 16 + norms + 32 * 2 * 64 * 4_096 * 2


def test_neither_advice_nor_offers_name_what_does_not_divide() -> None:
    choices = Choices(model="qwen2.5-7b-instruct", device="rtx-3060-12gb", engine="vllm", context=32_768, users=40)
    chosen = choose(choices)
    before = answer(chosen.architecture, chosen.deployment, chosen.workload)
    assert not before.fits
    for fix in fixes(choices, chosen.architecture, before):
        changed = choose(fix.choices, chosen.architecture).deployment
        assert 28 % changed.tensor_parallel == 0
    found = find_offers(
        Choices(model="qwen2.5-7b-instruct", engine="vllm", context=1_024),
        {"rtx-3090": 0.2},
        speed_engine="vllm",
        prompt_tokens=500,
        output_tokens=100,
    )
    assert found
    assert all(offer.tensor_parallel in (1, 2, 4) for offer in found)


@pytest.mark.parametrize("name", ["deepseek-v4-flash", "deepseek-v4-pro"])
def test_what_waits_for_a_compressed_entry_is_whole_on_every_rank(name: str) -> None:
    """Its entry is shared by all heads: the 3 and 127 tokens that may wait for one are not divided among ranks."""
    alone, shared = (
        ask(name, "vllm", memory="1TiB", kv_cache="fp8", tensor_parallel=ranks, context=8_192) for ranks in (1, 8)
    )
    assert alone.kv_request_bytes == shared.kv_request_bytes


@pytest.mark.parametrize(
    ("engine", "version", "is_refused"),
    [("vllm", "0.13.0", True), ("vllm", "0.32", False), ("sglang", "0.5.17", False)],
)
def test_heads_may_be_cut_where_the_engine_lets_them(engine: str, version: str, is_refused: bool) -> None:
    """MiMo-V2-Flash's four key heads of 192 rows, on a rank each, are one and a half groups of 128."""
    asked = {"engine_version": version, "tensor_parallel": 4}
    if not is_refused:
        ask("mimo-v2-flash", engine, **asked)
        return
    with pytest.raises(UnevenSplit, match=r"192 rows each are no whole groups of 128"):
        ask("mimo-v2-flash", engine, **asked)
