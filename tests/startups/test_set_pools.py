"""A start whose cache was given a size: that is what changes it, and neither a share of the card nor what it leaves."""

import pytest

from planner.answers.answer import answer
from planner.inputs.choices import Choices, choose
from planner.logs.read import read_log
from planner.startups.report import LogReport, report_log
from planner.units import GIB, parse_bytes

# The form of 0.11.1 and later; https://github.com/SergiioB/intel-arc-pro-b70/issues/4 has it with 31.16 GiB.
RESERVED = (
    "INFO 03-30 10:00:00 [gpu_worker.py:355] Initial free memory 78.16 GiB, reserved {pool} GiB memory for KV Cache as "
    "specified by kv_cache_memory_bytes config and skipped memory profiling. This does not respect the "
    "gpu_memory_utilization config.\n"
)
TOO_LONG = (
    "ValueError: To serve at least one request with the model's max seq len (40960), (10.0 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (4.25 GiB). Based on the available memory, the estimated "
    "maximum model length is 17408.\n"
)
# All digits of what was free, and no space before the second unit.
OF_0_10 = RESERVED.format(pool="20.00").replace("78.16 GiB", "78.16064453125 GiB").replace("20.00 GiB", "20.00GiB")
COMMAND = "vllm serve Qwen/Qwen3-8B --kv-cache-memory-bytes 21474836480\n"
HELD = "INFO [kv_cache_utils.py:2141] GPU KV cache size: 145,632 tokens, Maximum concurrency for 40,960 tokens\n"


def report(log: str, **given: str) -> LogReport:
    return report_log(read_log(log), Choices(**{"model": "", "engine": "vllm", "engine_version": "0.28"} | given))


def qwen3_32b(log: str) -> LogReport:
    return report(log, model="qwen3-32b", device="h100-sxm")


def test_a_larger_size_or_none_and_no_share() -> None:
    """40,960 tokens · 262,144 B = 10 GiB, where 78.16 less 61.02 of weights and about 4 of runtime are left."""
    tries = {one.option: one for one in qwen3_32b(RESERVED.format(pool=4.25) + TOO_LONG).would_start}
    (larger,) = (option for option in tries if option.startswith("--kv-cache-memory-bytes"))
    assert 10 <= int(larger.split()[1]) / GIB <= 10.02
    assert tries[larger].starts
    assert "weights and runtime leave 13." in tries[larger].change
    assert "" in tries  # without it: 0.92 of the card has no room for 10 GiB either
    assert not tries[""].starts
    idle = ("gpu-memory-utilization", "quantization", "max-num-seqs", "enforce-eager", "AWQ")
    assert not [option for option in tries if any(word in option for word in idle)]


def test_no_size_is_offered_that_what_was_free_has_no_room_for() -> None:
    """68 GiB less 61.02 and about 4: less than 4.25 is left, let alone 10."""
    log = (RESERVED.format(pool=4.25) + TOO_LONG).replace("78.16", "68.00")
    assert not [one for one in qwen3_32b(log).would_start if "kv-cache-memory-bytes" in one.option]


def test_the_log_alone_names_the_size_too() -> None:
    options = [one.option for one in report(RESERVED.format(pool=4.25) + TOO_LONG, engine="").would_start]
    assert [parse_bytes(text.split()[1]) > 10 * GIB for text in options if "kv-cache" in text and "bytes" in text]
    assert not [option for option in options if "utilization" in option]


@pytest.mark.parametrize(
    ("line", "size"),
    [
        (RESERVED.format(pool="20.0"), "20.0GiB"),
        (OF_0_10, "20.00GiB"),
        (COMMAND + RESERVED.format(pool="20.0"), "21474836480"),
    ],
)
def test_the_size_is_a_setting_and_what_it_leaves_is_no_measurement(line: str, size: str) -> None:
    """Qwen3-8B keeps 147,456 B a token: 20 GiB are 145,632 of them in blocks of 16, whatever the card leaves."""
    found = report(line + HELD, model="qwen3-8b", device="h100-sxm")
    assert found.choices is not None
    assert f"kv_cache_memory_bytes={size}" in found.choices.set
    rows = {row.name: row for row in found.readings}
    assert rows["pool"].predicted == 20 * GIB
    assert rows["pool_tokens"].predicted == rows["pool_tokens"].value == 145_632
    assert found.profile is None


def test_a_card_that_the_log_does_not_name_is_what_was_free() -> None:
    found = report(RESERVED.format(pool=4.25) + TOO_LONG, model="qwen3-32b")
    assert found.choices is not None
    assert found.choices.memory == "78.16GiB"


@pytest.mark.parametrize("model", ["", "qwen3-8b"])
def test_memory_that_ran_out_beside_the_cache_is_taken_from_it(model: str) -> None:
    """2.00 GiB were asked for and 0.50 left: 1.5 and a hundredth of the card of 79.18 GiB less."""
    log = RESERVED.format(pool="60.00") + (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.18 "
        "GiB of which 512.00 MiB is free.\n"
    )
    options = [one.option for one in report(log, model=model).would_start]
    (smaller,) = (option for option in options if option.startswith("--kv-cache-memory-bytes"))
    assert int(smaller.split()[1]) / GIB == pytest.approx(60 - 1.5 - 0.7918, abs=0.011)
    assert not [option for option in options if "utilization" in option]


def test_a_card_that_is_not_free_takes_a_smaller_share_which_costs_nothing() -> None:
    """20.24 of 47.25 GiB are free, 42%; Qwen3-8B's 15.26 GiB and 2 of cache go into them."""
    log = (
        "vllm serve Qwen/Qwen3-8B --kv-cache-memory-bytes 2147483648 --max-model-len 8192\n"
        "ValueError: Free memory on device cuda:0 (20.24/47.25 GiB) on startup is less than desired GPU memory "
        "utilization (0.92, 43.47 GiB).\n"
    )
    found = report(log)
    (share,) = (one for one in found.would_start if "utilization" in one.option)
    assert (share.option, share.starts) == ("--gpu-memory-utilization 0.42", True)
    assert share.max_context_tokens == 14_560  # 2 GiB / 147,456 B = 14,563, in whole blocks
    tight = report(log.replace("2147483648", "4294967296"))
    (share,) = (one for one in tight.would_start if "utilization" in one.option)
    assert "--kv-cache-memory-bytes" in share.option
    chosen = choose(share.choices)  # type: ignore[arg-type]
    pool = chosen.deployment.settings.values["kv_cache_memory_bytes"]
    items = answer(chosen.architecture, chosen.deployment, chosen.workload).items
    beside = sum(item.bytes for item in items if item.name not in ("outside the pool", "cache"))
    assert pool + beside <= 20.24 * GIB < pool + beside + 0.02 * GIB
