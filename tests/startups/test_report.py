"""Logs against the planner: predictions beside readings, and the flag that makes a failed start succeed."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from planner.answers.answer import answer
from planner.answers.figures import room_bytes
from planner.cli import main
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.launch import launch, parse_launch
from planner.logs.read import read_log
from planner.startups.cards import device_named
from planner.startups.choices import choices_from_log
from planner.startups.report import LogReport, report_log
from planner.startups.trial import Try
from planner.startups.words import log_title, tries_words
from planner.units import GIB, parse_bytes
from tests.logs.writer import vllm_lines
from tests.vllm_readings import Reading, readings

NOTHING_GIVEN = Choices(model="", engine="")
FAILED = (
    "(APIServer pid=1) INFO 08-13 11:29:38 vLLM API server version 0.11.0\n"
    "(APIServer pid=1) INFO 08-13 11:29:38 non-default args: {'model': 'Qwen/Qwen3-8B', 'max_model_len': 131072, "
    "'gpu_memory_utilization': 0.85, 'max_num_seqs': 128}\n"
    "(EngineCore_DP0 pid=72) INFO 08-13 Free memory on device (23.2/23.64 GiB) on startup. Desired GPU memory "
    "utilization is (0.85, 20.09 GiB).\n"
    "(EngineCore_DP0 pid=72) INFO 08-13 Model loading took 15.2683 GiB and 3.1 seconds\n"
    "(EngineCore_DP0 pid=72) INFO 08-13 Available KV cache memory: 3.99 GiB\n"
    "(EngineCore_DP0 pid=72) ERROR 08-13 ValueError: To serve at least one request with the models's max seq len "
    "(131072), (18.00 GiB KV cache is needed, which is larger than the available KV cache memory (3.99 GiB). Based on "
    "the available memory, the estimated maximum model length is 29040. Try increasing it.\n"
)


def report(log: str, given: Choices = NOTHING_GIVEN, number: int | None = None) -> LogReport:
    return report_log(read_log(log), given, number)


def test_a_refused_start_says_what_would_start_and_is_right() -> None:
    found = report(FAILED)
    first, second, *_ = found.would_start
    # 3.99 GiB // (36 layers × 2 × 8 heads × 128 × 2 B × 16 tokens) = 1,815 blocks of 16 tokens
    assert round(3.99 * GIB) // (36 * 2 * 8 * 128 * 2 * 16) * 16 == 29_040
    assert (first.says, first.option, first.starts) == ("engine", "--max-model-len 29040", True)
    assert (second.says, second.option, second.starts) == ("planner", "--max-model-len 29040", True)
    assert all(one.starts for one in found.would_start[:2])
    by_change = {one.change: one for one in found.would_start}
    assert not by_change["Cache in fp8"].starts
    assert by_change["Cache in fp8"].option == "--kv-cache-dtype fp8"
    # An fp8 cache holds twice as many blocks.
    assert by_change["Cache in fp8"].max_context_tokens == round(3.99 * GIB) // (36 * 2 * 8 * 128 * 16) * 16


def test_each_single_change_is_tried_with_the_measured_pool() -> None:
    tries = {one.option.split(" ")[0]: one for one in report(FAILED).would_start if one.option}
    assert tries.keys() == {
        "--max-model-len",
        "--kv-cache-dtype",
        "--gpu-memory-utilization",
        "--max-num-seqs",
        "--tensor-parallel-size",
        "--quantization",
        "vllm",  # a checkpoint in four bits
    }
    # 0.98 of 23.64 GiB leaves 0.13 × 23.64 GiB more than 0.85 does.
    more = tries["--gpu-memory-utilization"].max_context_tokens
    assert more is not None
    assert (more - 29_040) * 147_456 == pytest.approx(0.13 * 23.64 * GIB, rel=0.001)


def test_readings_stand_beside_their_predictions() -> None:
    rows = {row.name: row for row in report(FAILED).readings}
    assert rows["request"].predicted == 131_072 * 147_456 == 18 * GIB
    assert rows["longest_start"].difference == 0
    assert rows["longest_start"].why == "as printed: from the printed pool of 3.99 GiB"
    assert rows["pool"].why.startswith("within the range: what weights and assumed items leave of the share")
    assert rows["weights"].why.startswith("12.15 MiB more than the tensors that are counted")
    assert rows["free"].predicted is None
    for row in rows.values():
        assert row.difference == (None if row.predicted is None else row.value - row.predicted)


def given_with(reading: Reading) -> Choices:
    """What a public start states beside its log."""
    return Choices(
        model=reading.model,
        memory=reading.memory or "119.7GiB",
        weights=reading.weights,
        engine="",
        engine_version=reading.engine_version,
        set=tuple(f"{key}={value}" for key, value in reading.set.items()),
    )


@pytest.mark.parametrize("id", ["kaito-2132", "spark-396-a"])
def test_public_refusals_are_reported_with_the_length_that_starts(id: str) -> None:
    reading = next(row for row in readings() if row.id == id)
    found = report("\n".join(vllm_lines(replace(reading, engine_version=None))), given_with(reading))
    row = next(row for row in found.readings if row.name == "longest_start")
    assert row.low is not None
    assert row.high is not None
    assert row.low <= reading.printed["longest_start"] <= row.high
    assert found.would_start[0].option == f"--max-model-len {reading.printed['longest_start']}"


def test_a_start_with_too_many_sequences_for_its_states_gets_the_number() -> None:
    # The 27B hybrid on an L40S: 184 blocks for 256 sequences under 0.26.
    log = (
        "vLLM API server version 0.26.0\n"
        "non-default args: {'model': 'Qwen/Qwen3.6-27B-FP8', 'max_model_len': 131072, 'gpu_memory_utilization': 0.9}\n"
        "Available KV cache memory: 8.82 GiB\nmax_num_seqs (256) exceeds available Mamba cache blocks (184).\n"
    )
    found = report(log, replace(NOTHING_GIVEN, memory="44.39GiB"))
    assert found.failure is not None
    assert found.failure.kind == "states"
    tries = {one.option: one for one in found.would_start}
    assert tries["--max-num-seqs 184"].starts


def test_a_log_that_ends_with_nothing_left_is_one_that_failed() -> None:
    log = (
        "vLLM API server version 0.11.0\nnon-default args: {'model': 'Qwen/Qwen3-8B', 'max_model_len': 4096}\n"
        "Model loading took 15.27 GiB and 3.1 seconds\nAvailable KV cache memory: -1.03 GiB\n"
    )
    found = report(log, replace(NOTHING_GIVEN, memory="15.8GiB"))
    assert found.failure is not None
    assert found.failure.kind == "pool"
    assert log_title(found) == "It did not start: 1.03 GiB short before any cache"
    assert any(one.starts for one in found.would_start)


@pytest.mark.parametrize(
    ("log", "title"),
    [
        ("Model loading took 15.27 GiB", "1 figure, and no sign that memory ran out"),
        (
            "# GPU blocks: 1000, # CPU blocks: 2048\nModel loading took 15.27 GiB",
            "2 figures, and no sign that memory ran out",
        ),
        ("GPU KV cache size: 24,976 tokens", "It started, with room for 24,976 tokens"),
        ("llama_kv_cache:      CUDA0 KV buffer size =  1024.00 MiB", "It started, with 1.00 GiB of cache"),
        ("No available memory for the cache blocks", "It did not start: nothing is left for the cache"),
        ("max_num_seqs (256) exceeds available Mamba cache blocks (184).", "It did not start: room for 184 requests"),
        (
            "Free memory on device (15.3/23.64 GiB) on startup is less than desired GPU memory utilization (0.9, "
            "21.28 GiB)",
            "It did not start: others hold 5.98 GiB that it wanted",
        ),
        ("Tried to allocate 2.00 GiB", "It ran out of memory, asking for 2.00 GiB more"),
        (
            "max seq len (8192) is larger than the maximum number of tokens that can be stored in KV cache (4000)",
            "It did not start: there is room for 4,000 tokens",
        ),
        (
            "Number of blocks in KV cache primary pool: 40\nNumber of tokens per block: 64.\n"
            "maxTokensInPagedKvCache must be large enough to process at least 1 sequence",
            "It did not start: there is room for 2,560 tokens",
        ),
    ],
)
def test_the_title_says_what_happened(log: str, title: str) -> None:
    assert log_title(report(log)) == title


def test_a_card_in_use_gets_the_share_that_is_free() -> None:
    log = (
        "vLLM API server version 0.11.0\nnon-default args: {'model': 'Qwen/Qwen3-4B', 'max_model_len': 4096}\n"
        "ValueError: Free memory on device (15.3/23.64 GiB) on startup is less than desired GPU memory utilization "
        "(0.9, 21.28 GiB).\n"
    )
    (share,) = [one for one in report(log).would_start if one.option.startswith("--gpu-memory-utilization")]
    # 15.3 / 23.64 = 0.647
    assert (share.option, share.starts) == ("--gpu-memory-utilization 0.64", True)


def test_the_profile_of_a_log_gives_its_pool_for_other_questions() -> None:
    found = report(FAILED)
    assert found.profile is not None
    chosen = choose(Choices(model="qwen3-8b", memory="23.64GiB", engine="vllm", engine_version="0.11", context=4_096))
    settings = replace(
        chosen.deployment.settings,
        values=chosen.deployment.settings.values | {"gpu_memory_utilization": 0.85, "max_num_seqs": 128},
    )
    deployment = replace(chosen.deployment, settings=settings, profile=found.profile)
    assert room_bytes(answer(chosen.architecture, deployment, chosen.workload)) == round(3.99 * GIB)


def test_the_command_of_a_report_is_the_start_in_the_log() -> None:
    told = choices_from_log(read_log(FAILED).starts[0], NOTHING_GIVEN)
    assert told.choices == Choices(
        model="qwen3-8b",
        memory="23.64GiB",
        engine="vllm",
        engine_version="0.11.0",
        context=131_072,
        set=("gpu_memory_utilization=0.85", "max_num_seqs=128"),
    )
    written = launch(told.choices, choose(told.choices))
    assert written is not None
    again = parse_launch("vllm", written.text, Choices(model="", memory="23.64GiB", engine_version="0.11.0"))
    assert again.context == 131_072


def test_a_log_without_a_card_or_with_an_unknown_model_shows_its_readings_and_asks() -> None:
    no_card = report("non-default args: {'model': 'Qwen/Qwen3-8B'}\nModel loading took 15.27 GiB and 3 seconds")
    assert "give --device or --memory" in no_card.notes[-1]
    no_model = report("non-default args: {'model': 'me/mine'}\nAvailable KV cache memory: 3.99 GiB")
    assert no_model.notes == ("The log is of 'me/mine', which no preset has: give --model to compare it with a plan.",)
    for found in (no_card, no_model):
        assert [row.predicted for row in found.readings] == [None]
        assert (found.would_start, found.profile) == ((), None)


def test_another_engine_shows_its_readings() -> None:
    found = report("[TP0] KV Cache is allocated. #tokens: 183133, K size: 11.18 GB, V size: 11.18 GB")
    assert [row.name for row in found.readings] == ["pool_tokens", "keys", "values"]
    assert found.notes == ("The log names no model and no card: give --model and --device to compare it with a plan.",)


def test_llama_cpp_is_compared_buffer_by_buffer() -> None:
    # Llama-3.1-8B at 8,192 tokens in f16: 8,192 × 131,072 B.
    log = (
        "llama_model_loader: loaded meta data with 29 key-value pairs and 292 tensors from Llama-3.1-8B-Q4_K_M.gguf\n"
        "llama_context: n_seq_max     = 1\nllama_context: n_ctx         = 8192\n"
        "llama_kv_cache:      CUDA0 KV buffer size =  1024.00 MiB\n"
    )
    found = report(log, replace(NOTHING_GIVEN, memory="24GiB"))
    (cache,) = [row for row in found.readings if row.name == "cache"]
    assert (cache.value, cache.predicted) == (GIB, GIB)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, profile = tmp_path / "server.log", tmp_path / "profile.json"
    log.write_text(FAILED, encoding="utf-8")
    assert main(["log", str(log), "--json", "--save", str(profile)]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert (printed["engine"], printed["version"]) == ("vllm", "0.11.0")
    assert printed["readings"][0].keys() >= {"name", "value", "unit", "predicted", "difference", "why"}
    assert printed["would_start"][0]["option"] == "--max-model-len 29040"
    plan = ["plan", *printed["would_start"][0]["command"].split()[2:], "--profile", str(profile), "--json"]
    assert main(plan) == 0
    assert json.loads(capsys.readouterr().out)["max_context_tokens"] == 29_040


def test_text_on_the_command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(FAILED))
    assert main(["log", "-"]) == 1
    text = capsys.readouterr().out
    assert "✓ 29,040 tokens, as the engine says: up to 29,040 tokens  --max-model-len 29040" in text
    assert "✕ Cache in fp8: not enough alone, up to 58,096 tokens  --kv-cache-dtype fp8" in text


@pytest.mark.parametrize("log", ["", "nothing of note\n"])
def test_a_log_without_a_start_is_refused(log: str) -> None:
    with pytest.raises(PlannerError, match="from the engine's start on"):
        report(log)


def test_a_start_that_is_not_there_is_refused() -> None:
    with pytest.raises(PlannerError, match=r"start = 3 is not in the log: it has 1\."):
        report(FAILED, number=3)


def test_a_log_that_names_no_card_is_planned_for_one_of_the_size_that_its_figures_make() -> None:
    """15.27 GiB of weights, 3.99 GiB of pool and a usual runtime are 0.85 of a card that in truth has 23.64 GiB."""
    log = "\n".join(line for line in FAILED.splitlines() if "Free memory on device" not in line)
    found = report(log)
    assert found.choices is not None
    assert found.choices.memory is not None
    assert parse_bytes(found.choices.memory, "memory") / GIB == pytest.approx(23.64, rel=0.03)
    assert "give --device for the card itself" in found.notes[-1]
    assert next(one.option for one in found.would_start if one.starts) == "--max-model-len 29040"


def test_without_card_and_model_the_engines_own_estimate_is_still_said() -> None:
    log = "\n".join(line for line in FAILED.splitlines() if "Free memory on device" not in line)
    found = report(log.replace("Qwen/Qwen3-8B", "me/mine"))
    assert found.lacks is not None
    first, *_ = found.would_start
    assert (first.says, first.option, first.starts) == ("engine", "--max-model-len 29040", True)


def test_more_than_is_free_is_mended_by_the_share_alone() -> None:
    """20.11 of 23.68 GiB are free: 0.84 of the card. No other cache format, length or number of cards changes that."""
    log = (
        "INFO 08-13 vLLM API server version 0.11.0\n"
        "INFO 08-13 non-default args: {'model': 'Qwen/Qwen2.5-7B-Instruct', 'max_model_len': 32768}\n"
        "ERROR 08-13 ValueError: Free memory on device (20.11/23.68 GiB) on startup is less than desired GPU memory "
        "utilization (0.9, 21.31 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n"
    )
    lower, freed = report(log).would_start
    assert (lower.option, lower.starts) == ("--gpu-memory-utilization 0.84", True)
    # Without the others the command starts as it is: 23.68 − 20.11 GiB.
    assert freed.change.startswith("End what else is on the card, of which 3.57 GiB were not free")
    assert (freed.option, freed.starts, freed.choices) == ("", True, report(log).choices)


@pytest.mark.parametrize(
    ("driver", "device"),
    [
        ("NVIDIA A100-SXM4-80GB", "a100-80gb-sxm"),
        ("NVIDIA A100 80GB PCIe", "a100-80gb-pcie"),
        ("NVIDIA A100-PCIE-40GB", "a100-40gb"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA H200", "h200-sxm"),
        ("NVIDIA B200", "b200"),
        ("NVIDIA GH200 480GB", "gh200-96gb"),
        ("NVIDIA GB10", "dgx-spark"),
        ("NVIDIA L40S", "l40s"),
        ("Tesla T4", "t4"),
        ("Tesla V100-SXM2-32GB", "v100-32gb"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000-blackwell"),
        ("NVIDIA RTX A2000 12GB", "rtx-a2000-12gb"),
        ("NVIDIA GeForce RTX 3090", "rtx-3090"),
        ("NVIDIA GeForce RTX 4060 Laptop GPU", "rtx-4060-laptop"),
        ("AMD Instinct MI300X", "mi300x"),
        ("AMD Radeon RX 7900 XTX", "rx-7900-xtx"),
        ("NVIDIA GeForce RTX 4060 Ti", None),  # sold with 8 and with 16 GB
        ("Apple M1 Max", None),
    ],
)
def test_cards_are_known_by_what_their_drivers_call_them(driver: str, device: str | None) -> None:
    assert device_named(driver) == device


def test_what_is_not_enough_is_not_said_to_be() -> None:
    """Of a flag and a card, the card too small: one of them makes it start, and not any one."""
    flag = Try(change="a shorter context", option="--max-model-len 4096", says="engine", starts=True)
    other = Try(change="a larger share", option="--gpu-memory-utilization 0.95", says="planner", starts=True)
    card = Try(change="another card", option="", says="planner", starts=False)
    assert tries_words((flag, other)) == "Any one of these makes it start:"
    assert tries_words((flag, other, card)) == "Any one with a check mark makes it start:"
    assert tries_words((flag, card)) == "The one with a check mark makes it start:"
