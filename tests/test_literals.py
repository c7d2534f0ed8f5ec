"""Figures that can be checked by hand or against a publisher, through the public planner and the command line alike."""

import json

import pytest

from planner.answers.answer import Answer, answer
from planner.budget import State
from planner.cli import main
from planner.inputs.choices import Choices, choose
from planner.units import GIB

OVERHEAD = "1.5GiB"


def ask(**options: object) -> Answer:
    chosen = choose(Choices(**options))  # type: ignore[arg-type]
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def ask_command(capsys: pytest.CaptureFixture[str], **options: object) -> tuple[int, dict[str, object]]:
    words = [word for key, value in options.items() for word in (f"--{key.replace('_', '-')}", str(value))]
    code = main(["plan", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("model", "memory", "weights", "tokens"),
    [
        # (memory − 1.5 GiB − parameters · bits / 8) // bytes per token
        ("13b-class-mha", "8GiB", "int4-g128", 337),
        ("13b-class-mha", "16GiB", "int8", 3_136),
        ("7b-class", "16GiB", "int8", 65_378),
        ("7b-class", "24GiB", "fp16", 77_508),
        ("7b-class", "8GiB", "int4-g128", 25_710),
        ("llama-2-13b", "8GiB", "int4-g128", 327),
    ],
)
def test_longest_contexts_of_the_8_16_24_table(
    model: str, memory: str, weights: str, tokens: int, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"model": model, "memory": memory, "weights": weights, "overhead": OVERHEAD, "quantize": "all"}
    assert ask(**options).max_context_tokens == tokens
    code, printed = ask_command(capsys, **options)
    assert printed["max_context_tokens"] == tokens
    assert code == (0 if tokens >= 8_192 else 1)


def test_13b_in_8_gib_loads_but_does_not_fit() -> None:
    result = ask(model="13b-class-mha", memory="8GiB", weights="int4-g128", overhead=OVERHEAD)
    assert (result.state, result.loads, result.fits) == (State.TIGHT, True, False)
    assert result.context_tokens == 8_192
    assert result.pool_tokens == 337
    assert result.weights_bytes == 6_703_125_000


def test_real_13b_with_16_bit_embedding_and_head_does_not_load_in_8_gib() -> None:
    result = ask(model="llama-2-13b", memory="8GiB", weights="int4-g128", overhead=OVERHEAD)
    assert (result.state, result.loads) == (State.NO, False)


@pytest.mark.parametrize("memory", ["8GiB", "16GiB", "24GiB"])
@pytest.mark.parametrize("weights", ["fp16", "int8", "int4-g128"])
def test_70b_loads_on_none_of_the_three(memory: str, weights: str) -> None:
    assert not ask(model="70b-class", memory=memory, weights=weights, overhead=OVERHEAD).loads


def test_70b_at_4_125_bits_weighs_33_6_gib() -> None:
    weights_bytes = ask(model="70b-class", memory="80GiB", weights="int4-g128").weights_bytes
    assert weights_bytes == 70 * 10**9 * 66 // 128
    assert round(weights_bytes / GIB, 1) == 33.6


@pytest.mark.parametrize(
    ("model", "bytes_per_token"),
    [("7b-class", 131_072), ("13b-class-mha", 819_200), ("70b-class", 327_680), ("qwen2.5-0.5b", 12_288)],
)
def test_bytes_of_one_token(model: str, bytes_per_token: int) -> None:
    assert ask(model=model, memory="1TiB").kv_bytes_per_token == bytes_per_token


def test_one_user_outweighs_a_7b_model_before_128_000_tokens() -> None:
    result = ask(model="7b-class", memory="80GiB", weights="fp16", context=128_000)
    assert round(result.weights_bytes / GIB, 1) == 13.0
    assert result.kv_request_bytes > result.weights_bytes
    # 14·10⁹ / 131,072 = 106,811.5
    assert ask(model="7b-class", memory="80GiB", context=106_811).kv_request_bytes < result.weights_bytes
    assert ask(model="7b-class", memory="80GiB", context=106_812).kv_request_bytes > result.weights_bytes


def test_qwen_0_5b_by_hand() -> None:
    result = ask(model="qwen2.5-0.5b", memory="8GiB", weights="fp16", context=295)
    assert result.parameters == 494_032_768
    assert result.kv_request_bytes == 3_624_960


@pytest.mark.parametrize(("context", "users"), [(2_048, 32), (1_024, 64), (512, 128)])
def test_only_the_resident_tokens_count(context: int, users: int) -> None:
    result = ask(model="qwen2.5-0.5b", memory="8GiB", context=context, users=users)
    assert users * result.kv_request_bytes == 768 * 2**20


@pytest.mark.parametrize(("weights", "size"), [("fp32", 1_976_131_072), ("fp16", 988_065_536), ("int8", 494_032_768)])
def test_weights_at_4_2_and_1_bytes(weights: str, size: int) -> None:
    assert ask(model="qwen2.5-0.5b", memory="8GiB", weights=weights, quantize="all").weights_bytes == size


@pytest.mark.parametrize(
    ("model", "request_bytes"),
    [
        ("llama-3.1-8b", 1_073_741_824),
        ("deepseek-v3", 575_668_224),
        ("gemma-3-27b", 1_107_296_256),
        ("mixtral-8x7b", 1_073_741_824),
        ("gpt-oss-120b", 306_708_480),
        ("llama-2-13b", 6_710_886_400),
    ],
)
def test_one_request_of_8_192_tokens(model: str, request_bytes: int, capsys: pytest.CaptureFixture[str]) -> None:
    options = {"model": model, "memory": "1TiB", "context": 8_192}
    if model == "deepseek-v3":
        options["kv_cache"] = "bf16"
    assert ask(**options).kv_request_bytes == request_bytes
    assert ask_command(capsys, **options)[1]["kv_request_bytes"] == request_bytes


@pytest.mark.parametrize(
    ("model", "parameters"),
    [("mixtral-8x7b", 46_702_792_704), ("llama-2-13b", 13_015_864_320), ("llama-3.1-8b", 8_030_261_248)],
)
def test_published_parameters(model: str, parameters: int) -> None:
    assert ask(model=model, memory="1TiB").parameters == parameters


def test_gpt_oss_as_published() -> None:
    # MXFP4 expert weights; expert biases and all the rest bf16.
    assert ask(model="gpt-oss-120b", memory="80GiB").weights_bytes == 65_248_815_744
