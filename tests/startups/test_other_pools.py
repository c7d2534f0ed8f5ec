"""Tokens or blocks that no room for the planned model explains: the plan is of something else, and says no more."""

import pytest

from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.startups.report import LogReport, report_log

TOO_LONG = (
    "ValueError: The model's max seq len ({asked}) is larger than the maximum number of tokens that can be stored in "
    "KV cache ({held}). Try increasing `gpu_memory_utilization` or decreasing `max_model_len`.\n"
)
# https://github.com/vllm-project/vllm/issues/6211: 0.5.1 keeps keys and values of every head, 221,184 B a token and
# card; 0.7.3, by which a log is planned that says no release, a latent of 31,104 B: 22 GiB of 44 would be left over.
EXPANDED = (
    "python3 -m vllm.entrypoints.openai.api_server --dtype float16 --model DeepSeek-Coder-V2-Lite-Instruct "
    "--tensor-parallel-size 2\n" + TOO_LONG.format(asked=163840, held=63040)
)
# https://github.com/vllm-project/vllm/issues/6746
LOADED = (
    "Loading model weights took 57.7520 GB\n" + TOO_LONG.format(asked=131072, held=79392),
    {"model": "llama-3.1-405b", "weights": "fp8", "device": "h100-80gb", "set": ("tensor_parallel_size=8",)},
)
PRINTED = (
    "(EngineCore pid=1) INFO Available KV cache memory: 10.00 GiB\n"
    "INFO GPU KV cache size: {tokens} tokens\n"
    "INFO Maximum concurrency for 8,192 tokens per request: {requests}x\n"
)


def report(log: str, **given: object) -> LogReport:
    return report_log(read_log(log), Choices(**{"model": "", "engine": "vllm"} | given))  # type: ignore[arg-type]


def is_doubted(found: LogReport) -> bool:
    return any("so the plan is of another" in note or "so the cache is of another" in note for note in found.notes)


def test_far_fewer_tokens_than_the_plan_has_room_for_are_of_something_else() -> None:
    found = report(EXPANDED, device="l40")
    assert is_doubted(found)
    assert [one.option for one in found.would_start if one.starts] == ["--max-model-len 63040"]
    assert found.profile is None


def test_what_was_loaded_beyond_the_plan_explains_how_few_there_are() -> None:
    """10 GiB more of weights than counted, and 6 of 80 GiB beside: 3.96 GiB more of 64,512 B are 145,252 tokens."""
    log, given = LOADED
    found = report(log, **given)
    assert not is_doubted(found)
    (share,) = (one for one in found.would_start if one.option == "--gpu-memory-utilization 0.95")
    assert share.max_context_tokens == pytest.approx(145_252, abs=16)


@pytest.mark.parametrize(
    ("tokens", "is_other"),
    [("72,816", False), ("72,800", False), ("145,648", True), ("36,400", True), ("18,000", True), ("95,000", True)],
)
def test_a_printed_pool_holds_what_the_plan_s_cache_takes_of_it(tokens: str, is_other: bool) -> None:
    """10 GiB of Qwen3-8B's 147,456 B are 72,816 tokens."""
    requests = f"{int(tokens.replace(',', '')) / 8192:.2f}"
    log = PRINTED.format(tokens=tokens, requests=requests)
    assert is_doubted(report(log, model="qwen3-8b", device="rtx-5090", engine_version="0.20.0")) is is_other


def test_more_blocks_than_the_card_has_room_for_are_of_something_else() -> None:
    """A card of 24 GiB has room for 0.5 to 4.3 GiB of Qwen3-8B's blocks of 2.25 MiB: 2,000 at most."""
    log = "vllm serve Qwen/Qwen3-8B\n# GPU blocks: {}, # CPU blocks: 1024\n"
    assert is_doubted(report(log.format("9,000"), device="rtx-4090", engine_version="0.7.3"))
    assert not is_doubted(report(log.format("1,500"), device="rtx-4090", engine_version="0.7.3"))


# SGLang with Qwen3.8-27B: 48 layers of 48 heads keep 128 · 128 numbers each; 44 slots take 3.09 GiB in 16 bit.
STATES = (
    "Mamba Cache is allocated. max_mamba_cache_size: 43, conv_state size: 0.12GB, ssm_state size: {}GB\n"
    "KV Cache is allocated. #tokens: 171008, K size: 5.22 GB, V size: 5.22 GB\n"
)


@pytest.mark.parametrize(
    ("printed", "stated", "hint"),
    [
        ("3.09", "", "bfloat16"),
        ("3.09", "bfloat16", ""),
        ("6.19", "", ""),
        ("6.19", "bfloat16", "float32"),
        ("4.00", "", ""),
    ],
)
def test_states_of_another_width_are_said(printed: str, stated: str, hint: str) -> None:
    settings = (f"mamba_ssm_dtype={stated}",) * bool(stated)
    given = {"model": "qwen3.8-27b", "device": "rtx-pro-6000", "engine_version": "0.5.17"}
    notes = report(STATES.format(printed), engine="sglang", set=settings, **given).notes
    said = [note.rpartition("=")[2] for note in notes if "recurrent states" in note]
    assert said == [f"{hint}."] * bool(hint)


def test_far_less_than_the_usual_share_leaves_is_of_another_share() -> None:
    """1.10 GiB where 0.92 of 24 GB leave more than 13 of Qwen2.5-7B in 4 bits: the log does not say its share."""
    log = (
        "{}To serve at least one request with the model's max seq len (32768), (1.75 GiB KV cache is needed, which is "
        "larger than the available KV cache memory (1.10 GiB). Based on the available memory, the estimated maximum "
        "model length is 20512.\n"
    )
    given = {"model": "qwen2.5-7b-instruct", "weights": "int4-g128", "device": "rtx-4090"}
    unsaid = report(log.format(""), **given)
    assert any("so its share of the card was another" in note for note in unsaid.notes)
    assert [one.option for one in unsaid.would_start if one.starts] == ["--max-model-len 20512"]
    said = report(log.format("vllm serve x/y --gpu-memory-utilization 0.35\n"), **given)
    assert not any("so its share of the card was another" in note for note in said.notes)
