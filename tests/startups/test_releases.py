"""Which release of vLLM a log is of: by what it says, by the lines of the source that it shows, by its spelling."""

import pytest

from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.settings.vllm_releases import release_of
from planner.startups.report import LogReport, report_log
from tests.logs.test_public_excerpts import excerpts

REFUSED = (
    "To serve at least one request with the {model}'s max seq len (40960), (5.62 GiB KV cache is needed, which is "
    "larger than the available KV cache memory (4.50 GiB). Based on the available memory, the estimated maximum model "
    "length is 32768.\n"
)


def report(log: str, **given: str) -> LogReport:
    return report_log(read_log(log), Choices(**{"model": "qwen3-8b", "engine": "", "device": "rtx-4090"} | given))


@pytest.mark.parametrize(
    ("lines", "release"),
    [
        (("core.py:708 ERROR",), "0.11.0"),
        # 298 in 0.10.2 and 0.11.0 alike: the refusal's line tells them apart.
        (("gpu_worker.py:298 Available KV cache memory: 4.5 GiB", "core.py:718 ERROR"), "0.10.2"),
        (("gpu_worker.py:298 Available KV cache memory: 4.5 GiB",), "0.11.0"),
        (("gpu_worker.py:508 Available KV cache memory", "kv_cache_utils.py:2146 GPU KV cache size"), "0.24.0"),
        (("distributed_gpu_executor.py:57 # GPU blocks: 3852", "distributed_gpu_executor.py:61 Maximum"), "0.6.6"),
        # No release prints both: it is a build between two.
        (("gpu_worker.py:480 Available KV cache memory", "kv_cache_utils.py:2146 GPU KV cache size"), ""),
        # A line of no release counts for nothing.
        (("gpu_worker.py:1 Available KV cache memory", "core.py:866 ERROR"), "0.13.0"),
        (("core.py:866 INFO",), ""),
        ((), ""),
    ],
)
def test_the_newest_release_that_prints_the_lines(lines: tuple[str, ...], release: str) -> None:
    assert release_of(lines) == release


def test_logs_that_name_their_release_show_its_lines() -> None:
    """Public logs of 0.5 to 0.24 that have both: the lines say the same release, but for its last number."""
    both = [
        (start.version, release_of(start.sources))
        for excerpt in excerpts()
        for start in read_log(excerpt.log).starts
        if start.engine == "vllm" and start.version and release_of(start.sources)
    ]
    assert len(both) >= 1
    assert all(said.split(".")[:2] == found.split(".")[:2] for said, found in both)


def test_a_plan_follows_the_release_of_the_lines_and_says_so() -> None:
    """Up to 0.19 graphs lie outside of the pool: without them no more is left."""
    prefix = "(EngineCore_DP0 pid=18799) ERROR 10-08 20:33:48 [core.py:{}] ValueError: "
    old = report(prefix.format(708) + REFUSED.format(model="models"))
    assert "--engine-version 0.11.0" in old.command
    assert any("by the lines of its source, such as core.py:708, it is 0.11.0" in note for note in old.notes)
    assert not any(one.option == "--enforce-eager" for one in old.would_start)
    new = report(prefix.format(1510) + REFUSED.format(model="model"))
    assert "--engine-version 0.32.0" in new.command
    assert any(one.option == "--enforce-eager" for one in new.would_start)
    stated = report(prefix.format(708) + REFUSED.format(model="models"), engine_version="0.12.0")
    assert "--engine-version 0.12.0" in stated.command
    assert not any("by the lines of its source" in note for note in stated.notes)


def test_the_spelling_of_a_refusal_dates_it() -> None:
    assert "--engine-version 0.21.0" in report(REFUSED.format(model="models")).command
    assert "--engine-version" not in report(REFUSED.format(model="model")).command


def test_a_slot_s_context_was_called_otherwise_until_november_2025() -> None:
    log = "llama_context: n_ctx_per_seq = 32768\nload_tensors:        CUDA0 model buffer size =  4000.00 MiB\n"
    given = {"model": "qwen3-8b", "weights": "q4_k_m"}
    assert "--engine-version 2025-11-02" in report(log, **given).command
    assert "--engine-version" not in report(log.replace("_per_seq", "_seq"), **given).command


def test_which_layer_comes_last_dates_an_offload() -> None:
    """5 of 37 layers, all of which repeat (ollama/ollama#10848): 5 of 36 such are 511 MiB of Q8_0, and not 4
    and the output. A later release says 4 that repeat and the output of 5."""
    log = (
        "load_tensors: offloading {} repeating layers to GPU\n"
        "load_tensors: offloaded 5/37 layers to GPU\n"
        "load_tensors:        CUDA0 model buffer size =   511.43 MiB\n"
    )
    given = {"model": "qwen3-4b", "weights": "q8_0"}
    old, new = report(log.format(5), **given), report(log.format(4), **given)
    assert "--engine-version 2025-12-17" in old.command
    assert "--engine-version" not in new.command
    weights = {row.name: row.predicted for row in old.readings}["weights"]
    # Norms are in 32 bit; (4,022,468,096 − 388,956,160) / 36 · 5 · 34/32 bytes are 511.3 MiB.
    assert weights is not None
    assert weights / 2**20 == pytest.approx(511.43, abs=12)


def test_a_request_says_which_release_counts_all_stages_as_one() -> None:
    """GLM-4.7 on 8 stages (vllm-project/vllm#32105): 71.16 GiB are one request of all of them, 9.28 that of one."""
    log = (
        "vllm serve zai-org/GLM-4.7-FP8 --pipeline-parallel-size 8 --gpu-memory-utilization 0.925\n"
        "To serve at least one request with the models's max seq len (202752), ({} GiB KV cache is needed, which is "
        "larger than the available KV cache memory ({} GiB).\n"
    )
    as_one = report(log.format("71.16", "28.57"), model="", device="a100-80gb-sxm")
    assert "--engine-version 0.14 " in as_one.command
    assert any(note.startswith("One request is as large as in 0.14") for note in as_one.notes)
    each = report(log.format("9.28", "5.00"), model="", device="a100-80gb-sxm")
    assert "--engine-version 0.21.0 " in each.command
