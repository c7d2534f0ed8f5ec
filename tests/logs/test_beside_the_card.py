"""What one log says of main memory, of two caches, of a second engine and of a vision tower."""

from dataclasses import replace

import pytest

from planner import presets
from planner.errors import PlannerError
from planner.inputs.choices import Choices
from planner.logs.devices import CARD
from planner.logs.read import FORMATS, read_log
from planner.startups.report import LogReport, report_log
from planner.startups.trial import Failed
from planner.startups.words import log_title, said_once
from planner.units import MIB

NOTHING = Choices(model="", engine="")
LOADER = "llama_model_loader: loaded meta data with 33 key-value pairs and 459 tensors from {file}\n"
DEVICE = "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3060) - 11800 MiB free\n"
REFUSED = (
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating {mib} MiB on device 0: cudaMalloc failed: out of memory\n"
)
VLLM = "vLLM API server version 0.11.0\nAvailable KV cache memory: 2.89 GiB\nEngineCore failed to start.\n"
WINDOWS = (
    "llama_kv_cache: {device} KV buffer size =  4096,00 MiB\n"
    "llama_kv_cache: size = 4096,00 MiB (131072 cells,   8 layers,  4/1 seqs), K (f16): 2048,00 MiB, V (f16): 2048,00 "
    "MiB\n"
    "llama_kv_cache: {device} KV buffer size =   720,00 MiB\n"
    "llama_kv_cache: size =  720,00 MiB ( 4608 cells,  40 layers,  4/1 seqs), K (f16):  360,00 MiB, V (f16):  360,00 "
    "MiB\n"
)
COMMON = {"max_model_len", "max_seq_len", "context_length", "session_len", "n_ctx", "n_ctx_seq", "n_ctx_per_seq"}
OF_THE_MODEL = {"architecture", "basename", "name", "size_label", "file_type", "n_layer", "n_ctx_train", "n_swa"}
ELSEWHERE = {*COMMON, *OF_THE_MODEL, "n_expert", "device", "n_seq_max", "mmproj"}
ELSEWHERE |= {"cache_type_k", "cache_type_v", "kv_cache_dtype", "failed_buffer", "localai"}
ELSEWHERE |= {f"{CARD}{number}" for number in range(8)}
"""Read into options of ``plan``, known of the model, or what a failure was about."""


def report(log: str, given: Choices = NOTHING) -> LogReport:
    return report_log(read_log(log), given)


def figures(found: LogReport) -> dict[str, int | float]:
    return {row.name: row.value for row in found.readings}


@pytest.mark.parametrize("device", ["CUDA0", "CPU"])
def test_both_caches_of_a_model_with_windows_are_added_up(device: str) -> None:
    """4,096 + 720 MiB, wherever they lie."""
    found = figures(report(LOADER.format(file="gemma-3-12b-it-Q4_K_M.gguf") + WINDOWS.format(device=device)))
    assert found["cache"] == found["cache_total"] == 4_816 * MIB


def test_what_lies_in_main_memory_is_a_figure_of_its_own_and_in_the_title() -> None:
    log = LOADER.format(file="gemma-3-12b-it-Q4_K_M.gguf") + WINDOWS.format(device="CUDA0")
    found = report(log + "llama_kv_cache: CPU KV buffer size =   100,00 MiB\n")
    assert figures(found)["cache"] == 4_816 * MIB
    assert figures(found)["cache_in_main_memory"] == 100 * MIB
    assert "in main memory" in log_title(found)


@pytest.mark.parametrize(
    ("before", "version"),
    [("build: 7300 (abcdef12) with cc\n", "7300"), ("build_info: b7300-abcdef12\n", "7300"), ("", "")],
)
def test_a_version_in_front_of_a_start_is_not_lost_behind_another_engine_s_log(before: str, version: str) -> None:
    alone = before + DEVICE + LOADER.format(file="Qwen3-8B-Q8_0.gguf") + REFUSED.format(mib=9000)
    assert report(alone).version == report(VLLM + alone).version == version
    assert len(read_log(VLLM + alone).starts) == 2


def test_what_is_announced_and_never_begins_is_no_start() -> None:
    assert [start.engine for start in read_log(VLLM + "build: 7300 (abcdef12) with cc\n").starts] == ["vllm"]


@pytest.mark.parametrize(
    ("more", "is_loaded"),
    [
        ("", False),
        ("llama-server -m gemma-3-12b-it-Q4_K_M.gguf\n", False),
        ("llama-server -m gemma-3-12b-it-Q4_K_M.gguf --mmproj mmproj-F16.gguf\n", True),
        ("llama-server -hf ggml-org/gemma-3-12b-it-GGUF:Q4_K_M\n", True),
        ("llama-server -hf ggml-org/gemma-3-12b-it-GGUF:Q4_K_M --no-mmproj\n", False),
        ("clip_model_loader: model name:   Gemma 3 12b It\n", True),
        ("clip_ctx: CLIP using CUDA0 backend\n", True),
    ],
)
def test_a_vision_tower_counts_where_its_file_is_loaded(more: str, is_loaded: bool) -> None:
    found = report(more + DEVICE + LOADER.format(file="gemma-3-12b-it-Q4_K_M.gguf") + WINDOWS.format(device="CUDA0"))
    assert found.choices is not None
    assert ("no_mmproj" in " ".join(found.choices.set)) == (not is_loaded)


def test_a_trial_that_allocates_nothing_is_a_part_of_the_start_behind_it() -> None:
    once = DEVICE + LOADER.format(file="Qwen3-8B-Q4_K_M.gguf") + "print_info: file size   = 4.68 GiB (4.90 BPW)\n"
    fit = "common_params_fit_impl: projected to use 7800 MiB of device memory vs. 7000 MiB of free device memory\n"
    assert len(read_log(once + fit + once + WINDOWS.format(device="CUDA0")).starts) == 1
    assert len(read_log(2 * (once + WINDOWS.format(device="CUDA0"))).starts) == 2


def test_what_a_trial_projects_is_all_that_llama_cpp_allocates() -> None:
    log = DEVICE + LOADER.format(file="Qwen3-8B-Q4_K_M.gguf") + "load_tensors: CUDA0 model buffer size = 4455.34 MiB\n"
    fit = "common_params_fit_impl: projected to use 7800 MiB of device memory vs. 20000 MiB of free device memory\n"
    rows = {row.name: row.predicted or 0 for row in report(log + fit).readings}
    assert rows["projected"] > rows["weights"] > 4_400 * 2**20


@pytest.mark.parametrize("of", FORMATS, ids=lambda of: of.engine)
def test_every_setting_that_a_line_names_is_one_that_the_plan_takes(of: object) -> None:
    from planner.logs.patterns import Format

    assert isinstance(of, Format)
    named = {group.removeprefix("set__") for each in of.patterns for group in each.regex.groupindex if "set__" in group}
    assert named <= ELSEWHERE | presets.engine_data(of.engine).settings.keys()


@pytest.mark.parametrize(
    "line",
    [
        "Number of tokens per block: 64.",
        "[kvCacheManager.cpp] tokensPerBlock (64)",
        "[MemUsageChange] tokens per block=64, primary blocks=4109",
    ],
)
def test_the_size_of_a_block_is_a_setting(line: str) -> None:
    log = f"TensorRT-LLM version: 1.0.0\nLoaded engine size: 8674 MiB\n{line}\n"
    assert read_log(log).starts[0].settings["tokens_per_block"] == "64"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Error: llama runner process has terminated: cudaMalloc failed: out of memory", "memory"),
        ("Error: llama runner process has terminated: error loading model: unable to allocate CUDA0 buffer", "memory"),
        ("Error: llama runner process has terminated: signal: killed", "memory"),
        ("Error: llama runner process has terminated: exit status 2", "other"),
        ("Error: model failed to load, this may be due to resource limitations or an internal error", "other"),
        ("Error: model requires more system memory (21.1 GiB) than is available (3.9 GiB)", "main_memory"),
        (
            'msg="model request too large for system" requested="21.1 GiB" available=4187593113 total="15.9 GiB" '
            'free="3.9 GiB" swap="0 B"',
            "main_memory",
        ),
    ],
)
def test_ollama_s_own_words_for_a_failure(line: str, kind: str) -> None:
    found = report(line)
    assert found.failure is not None
    assert (found.engine, found.failure.kind) == ("ollama", kind)
    if kind == "main_memory":
        assert log_title(found) == "It did not start: 17.20 GiB of main memory short"


def test_a_file_s_type_counts_where_the_model_is_stated() -> None:
    log = (
        'time=1 level=INFO source=ggml.go:131 msg="" architecture=gemma3 file_type=Q4_K_M name=""\n'
        'time=1 level=INFO source=device.go:206 msg="model weights" device=CUDA0 size="4.1 GiB"\n'
    )
    found = report(log, replace(NOTHING, model="gemma-3-12b", memory="8GiB"))
    assert found.choices is not None
    assert found.choices.weights == "q4_k_m"


FAILED = {
    "weights": DEVICE + LOADER.format(file="/models/gpt-oss-20b-mxfp4.gguf") + REFUSED.format(mib="10949.37"),
    "cache": DEVICE
    + LOADER.format(file="Qwen3-8B-Q8_0.gguf")
    + "load_tensors: CUDA0 model buffer size =  7669.77 MiB\n"
    "llama_context: n_ctx         = 40960\n" + REFUSED.format(mib="5760.00"),
    "pool": "Initializing an LLM engine (v0.6.1) with config: model='meta-llama/Meta-Llama-3.1-8B-Instruct', "
    "max_seq_len=131072, enforce_eager=False)\n# GPU blocks: 2356, # CPU blocks: 2048\nValueError: The model's max seq "
    "len (131072) is larger than the maximum number of tokens that can be stored in KV cache (37696).\n",
}


@pytest.mark.parametrize("log", FAILED.values(), ids=FAILED)
def test_no_change_is_said_twice_or_leaves_all_as_it_was(log: str) -> None:
    """What is offered differs from the start that failed in some figure of the plan."""
    found = report(log)
    shown = said_once(found.would_start)
    assert shown
    options = [one.option for one in shown if one.option]
    assert len(options) == len(set(options))
    assert found.choices is not None
    from planner.presets import load_preset

    failed = Failed(choices=found.choices, architecture=load_preset(found.choices.model), profile=found.profile)
    before = failed.ask(found.choices)
    planned = [one for one in shown if one.choices is not None]
    assert planned
    for one in planned:
        assert one.choices is not None
        assert not failed.is_idle(one.choices, before), one.change


def test_a_card_that_refused_the_weights_is_not_helped_by_a_smaller_cache() -> None:
    changes = " ".join(one.option for one in report(FAILED["weights"]).would_start)
    assert "--n-cpu-moe" in changes
    assert "--n-cpu-moe 0" not in changes
    assert "--cache-type" not in changes


def test_no_change_is_longer_than_what_the_cache_that_was_printed_holds() -> None:
    """2,356 blocks of 16 tokens."""
    for one in report(FAILED["pool"]).would_start:
        if one.starts and one.option.startswith("--max-model-len"):
            assert one.max_context_tokens is not None
            assert one.max_context_tokens <= 37_696


def test_a_log_without_a_line_about_memory_is_refused() -> None:
    with pytest.raises(PlannerError):
        report("nothing of the kind\n")
