"""vLLM's lines of every version, with the figures of public start-ups."""

from pathlib import Path

import pytest

from planner.logs.read import read_log, read_log_file
from planner.logs.readings import Start
from planner.units import GIB
from tests.logs.writer import vllm_lines
from tests.vllm_readings import Reading, readings

UNITS = {"_gib": GIB}
NAMES = {
    "pool_gib": "pool",
    "weights_gib": "weights",
    "activation_gib": "activations",
    "non_torch_gib": "non_torch",
    "tokens": "pool_tokens",
    "concurrency": "concurrency",
    "request_gib": "request",
    "longest_start": "longest_start",
}


def only(text: str) -> Start:
    (start,) = read_log(text).starts
    return start


def value(start: Start, name: str) -> int | float:
    reading = start.least(name)
    assert reading is not None
    return reading.value


@pytest.mark.parametrize("reading", [row for row in readings() if row.printed], ids=lambda row: row.id)
def test_every_public_start_up_is_read_back(reading: Reading) -> None:
    start = only("\n".join(vllm_lines(reading)))
    assert start.engine == "vllm"
    assert start.model == reading.reported_model
    written = {"concurrency", "tokens", "pool_gib", "weights_gib"} & reading.printed.keys()
    if "longest_start" in reading.printed:
        written |= {"request_gib", "longest_start"}
    for name in written:
        scale = GIB if name.endswith("_gib") else 1
        assert value(start, NAMES[name]) == pytest.approx(reading.printed[name] * scale, abs=0.5)
    assert (start.failure is not None) == bool({"longest_start", "state_blocks"} & reading.printed.keys())


def test_a_size_knows_its_last_digit() -> None:
    (reading,) = only("Available KV cache memory: 4.99 GiB").readings
    assert (reading.value, reading.step, reading.unit) == (round(4.99 * GIB), round(0.01 * GIB), "bytes")


def test_ranks_keep_their_own_lines() -> None:
    start = only(
        "(Worker_TP0 pid=10) INFO Model loading took 7.01 GiB and 3.2 seconds\n"
        "(Worker_TP1 pid=11) INFO Model loading took 7.03 GiB and 3.2 seconds\n"
        "(Worker_TP0 pid=10) INFO Available KV cache memory: 9.12 GiB\n"
        "(Worker_TP1 pid=11) INFO Available KV cache memory: 8.69 GiB\n"
    )
    assert [(r.name, r.rank, r.line) for r in start.readings] == [
        ("weights", "TP0", 1),
        ("weights", "TP1", 2),
        ("pool", "TP0", 3),
        ("pool", "TP1", 4),
    ]
    assert value(start, "pool") == round(8.69 * GIB)


def test_one_line_of_0_27_holds_both_figures() -> None:
    start = only("GPU KV cache size: 142,848 tokens, Maximum concurrency for 131,072 tokens per request: 1.09x")
    assert (value(start, "pool_tokens"), value(start, "concurrency")) == (142_848, 1.09)
    assert start.settings == {"max_model_len": "131,072"}


@pytest.mark.parametrize(
    "wrapped",
    [
        # Cut between words, and in the middle of one.
        "To serve at least one request with the models's max seq len (131072), (18.00 GiB KV cache is\n"
        "needed, which is larger than the available KV cache\nmemory (4.99 GiB). Based on the available memory, the\n"
        "estimated maximum model length is 36336. Try",
        "ERROR To serve at least one request with the models's max seq len (131072), (18.00 GiB KV ca\n"
        "che is needed, which is larger than the available KV cache memory (4.99 G\n"
        "iB). Based on the available memory, the estimated maximum model l\nength is 36336. Try",
    ],
)
def test_a_broken_message_is_read_as_one(wrapped: str) -> None:
    start = only(wrapped)
    figures = {reading.name: reading.value for reading in start.readings}
    assert figures == {"request": 18 * GIB, "pool": round(4.99 * GIB), "longest_start": 36_336}
    assert start.failure is not None
    assert start.failure.kind == "request"


def test_a_restarted_container_is_two_starts() -> None:
    one = (
        "(APIServer pid=1) INFO vLLM API server version 0.11.0\n"
        "(APIServer pid=1) INFO non-default args: {'model': 'Qwen/Qwen3-8B', 'max_model_len': 131072}\n"
        "(EngineCore_DP0 pid=9) INFO Available KV cache memory: 4.99 GiB\n"
        "(EngineCore_DP0 pid=9) ERROR No available memory for the cache blocks. Try increasing it.\n"
    )
    two = one.replace("131072", "32768").replace("No available memory for the cache blocks", "ready")
    first, second = read_log(one + two).starts
    assert (first.settings["max_model_len"], second.settings["max_model_len"]) == ("131072", "32768")
    assert first.failure is not None
    assert first.failure.kind == "pool"
    assert second.failure is None
    assert second.line == 5


def test_engine_cores_of_one_server_are_one_start() -> None:
    text = "(APIServer pid=1) vLLM API server version 0.14.1\n" + "".join(
        f"(EngineCore_DP{rank} pid=9) Initializing a V1 LLM engine (v0.14.1) with config: model='a/b'\n"
        f"(EngineCore_DP{rank} pid=9) Available KV cache memory: {40 + rank}.00 GiB\n"
        for rank in range(2)
    )
    assert [reading.rank for reading in only(text).readings] == ["DP0", "DP1"]


def test_a_drafts_model_is_not_the_model() -> None:
    start = only(
        "Initializing a V1 LLM engine (v0.26.0) with config: model='Qwen/Qwen3-8B', "
        "speculative_config=SpeculativeConfig(method='mtp', model='other/draft', num_speculative_tokens=3)\n"
        "Available KV cache memory: 4.99 GiB"
    )
    assert start.model == "Qwen/Qwen3-8B"
    assert start.settings["num_speculative_tokens"] == "3"


def test_colours_carriage_returns_and_decimal_commas() -> None:
    start = only(
        "\x1b[32mINFO\x1b[0m Loading: 50%\rLoading: 100%\r\x1b[1mAvailable KV cache memory: 4,99 GiB\x1b[0m\r\n"
        "GPU KV cache size: 32,768 tokens\r\n"
    )
    assert [(r.name, r.value, r.line) for r in start.readings] == [
        ("pool", round(4.99 * GIB), 1),
        ("pool_tokens", 32_768, 2),
    ]


def test_a_file_in_utf_16_as_powershell_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "start.log"
    path.write_text("Available KV cache memory: 4.99 GiB\n", encoding="utf-16")
    (start,) = read_log_file(path).starts
    assert value(start, "pool") == round(4.99 * GIB)


def test_the_old_and_the_new_line_of_what_was_used() -> None:
    old = only(
        "Free memory on device (78.4/79.15 GiB) on startup. Desired GPU memory utilization is (0.9, 71.24 GiB). Actual "
        "usage is 15.27 GiB for weight, 1.40 GiB for peak activation, 0.09 GiB for non-torch memory, and 0.55 GiB for "
        "CUDAGraph memory."
    )
    names = {reading.name: round(reading.value / GIB, 2) for reading in old.readings}
    assert names == {
        "free": 78.4,
        "card": 79.15,
        "budget": 71.24,
        "weights": 15.27,
        "activations": 1.4,
        "non_torch": 0.09,
        "graphs": 0.55,
    }
    new = only(
        "Actual usage is 15.36 GiB for consumed memory (weights + non-torch), 36.74 GiB for peak activation, and 8.57 "
        "GiB for CUDAGraph memory."
    )
    assert [reading.name for reading in new.readings] == ["consumed", "activations_and_estimate", "graphs"]


def test_a_card_that_is_not_free() -> None:
    start = only(
        "ValueError: Free memory on device cuda:0 (10.2/23.64 GiB) on startup is less than desired GPU memory "
        "utilization (0.92, 21.75 GiB). Decrease GPU memory utilization."
    )
    assert start.failure is not None
    assert start.failure.kind == "free"
    assert value(start, "free") == round(10.2 * GIB)
