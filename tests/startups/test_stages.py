"""What is offered by how far a start of vLLM had come when memory ran out: weights, a trial pass, the cache, graphs."""

import pytest

from planner.answers.answer import answer
from planner.inputs.choices import Choices, choose
from planner.logs.read import read_log
from planner.startups.report import LogReport, report_log
from planner.startups.shortage import Stage, stage_of
from planner.units import GIB

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked} MiB. GPU 0 has a total capacity of 31.35 "
    "GiB of which 93.06 MiB is free. Of the allocated memory {held} GiB is allocated by PyTorch{pools}, and 309.08 MiB "
    "is reserved by PyTorch but unallocated.\n"
)
VERSION = "(APIServer pid=1) INFO [api_server.py:1] vLLM API server version 0.19.0\n"
FRAME = '(EngineCore pid=2) ERROR [core.py:1108]   File "/vllm/x.py", line 201, in {}\n'


def report(log: str, **given: str) -> LogReport:
    return report_log(read_log(log), Choices(**{"model": "", "engine": ""} | given))


def oom(asked: str = "84.00", held: str = "29.39", pools: str = "") -> str:
    return OOM.format(asked=asked, held=held, pools=pools)


@pytest.mark.parametrize(
    ("log", "stage"),
    [
        (VERSION + oom(), Stage.LOADING),
        (VERSION + FRAME.format("create_weights") + oom(), Stage.WEIGHTS),
        (VERSION + FRAME.format("load_model") + oom(), Stage.WEIGHTS),
        (VERSION + FRAME.format("profile_run") + oom(), Stage.TRIAL_PASS),
        (VERSION + "INFO Model loading took 15.2 GiB\n" + oom(), Stage.TRIAL_PASS),
        (VERSION + "INFO Available KV cache memory: 2.97 GiB\n" + oom(), Stage.AFTER_POOL),
        (VERSION + "INFO # GPU blocks: 229, # CPU blocks: 512\n" + oom(), Stage.AFTER_POOL),
        (VERSION + oom(pools=", with 81.88 MiB allocated in private pools (e.g., CUDA Graphs)"), Stage.AFTER_POOL),
        (VERSION + FRAME.format("capture_model") + oom(), Stage.AFTER_POOL),
    ],
)
def test_how_far_it_had_come(log: str, stage: Stage) -> None:
    assert stage_of(read_log(log).starts[0]) is stage


def test_no_context_helps_weights() -> None:
    """A 27B in 16 bit is 50 GiB: a card of 31 has no room, however short the context is."""
    found = report(VERSION + FRAME.format("create_weights") + oom(), model="gemma-3-27b")
    assert found.would_start
    assert not any("max-model-len" in one.option or "max-num-seqs" in one.option for one in found.would_start)
    assert any(one.starts for one in found.would_start)


def test_more_than_the_plan_s_weights_is_another_format() -> None:
    """vllm-project/vllm#40291: a file in NVFP4 whose attention is in 16 bit; by its name it is 19 GiB."""
    found = report(
        VERSION + FRAME.format("create_weights") + oom(), model="gemma-4-31b", weights="nvfp4", device="rtx-5090"
    )
    assert any(note.startswith("PyTorch held 29.39 GiB before the weights were complete") for note in found.notes)
    assert not any(one.choices for one in found.would_start)
    fewer = report(
        VERSION + FRAME.format("create_weights") + oom(held="18.00"),
        model="gemma-4-31b",
        weights="nvfp4",
        device="rtx-5090",
    )
    assert not any(note.startswith("PyTorch held") for note in fewer.notes)


def test_a_trial_pass_is_made_smaller() -> None:
    found = report(VERSION + FRAME.format("profile_run") + oom(), model="qwen3-8b", device="rtx-5090")
    options = [one.option for one in found.would_start]
    assert "--max-num-batched-tokens 1024" in options
    assert not any("max-model-len" in option or "utilization" in option for option in options)
    alone = [one.option for one in report(VERSION + FRAME.format("profile_run") + oom()).would_start]
    assert alone[0] == "--enable-chunked-prefill --max-num-batched-tokens 2048"


def test_the_longest_context_is_that_of_its_own_step() -> None:
    """A release that computes a prompt at once: of each length its own peak counts, and one token more does not fit."""
    asked = Choices(model="llama-3-8b", memory="79.15GiB", engine="vllm", engine_version="0.5.0", context=1_048_576)
    chosen = choose(asked)
    longest = answer(chosen.architecture, chosen.deployment, chosen.workload).max_context_tokens
    assert longest is not None
    for tokens, fits in ((longest, True), (longest + 16, False)):
        there = choose(Choices(**{**{n: getattr(asked, n) for n in asked.__dataclass_fields__}, "context": tokens}))
        found = answer(there.architecture, there.deployment, there.workload)
        assert found.fits is fits
        assert found.max_context_tokens == longest
        peak = next(item.bytes for item in found.items if item.name == "activation peak")
        assert peak > tokens * 2 * 14_336
    assert longest * 2 * 14_336 < 79.15 * GIB


def test_with_the_cache_in_its_place_the_length_had_been_taken() -> None:
    """Whatever context a plan takes where the log says none: what vLLM itself names may be enough."""
    log = VERSION + "INFO Available KV cache memory: 2.97 GiB\n" + FRAME.format("capture_model") + oom()
    found = report(log, model="qwen3-8b", device="l4")
    options = {one.option: one.starts for one in found.would_start}
    assert not any(options.values())
    assert "--enforce-eager" in options
    assert not any("--max-model-len" in option for option in options)


def test_the_share_stands_in_the_line_on_graphs() -> None:
    """Every start from 0.21 on prints it: vllm/v1/worker/gpu_worker.py."""
    line = (
        "INFO [gpu_worker.py:578] CUDA graph memory profiling is enabled (default since v0.21.0). The current "
        "--gpu-memory-utilization=0.8200 is equivalent to --gpu-memory-utilization=0.8048 without CUDA graph memory "
        "profiling.\n"
    )
    found = report(line + "INFO Available KV cache memory: 6.87 GiB\n", model="qwen3-8b", device="rtx-4090")
    assert "--set gpu_memory_utilization=0.8200" in found.command
