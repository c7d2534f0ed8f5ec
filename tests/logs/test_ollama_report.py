"""Ollama names blobs, not models: the GGUF's own name, its file type and the card are in the log all the same."""

from pathlib import Path

from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.startups.comparison import Match
from planner.startups.report import LogReport, report_log
from planner.startups.text import log_text
from planner.startups.words import log_title

EXAMPLES = Path(__file__).parents[2] / "ui" / "example_logs"
LOG = (
    'time=2026-05-19 level=INFO source=types.go:130 msg="inference compute" id=GPU-cf2 library=cuda variant=v12 '
    'compute=8.9 driver=12.9 name="NVIDIA GeForce RTX 3060" total="12.0 GiB" available="10.9 GiB"\n'
    'time=2026-05-19 level=INFO source=routes.go:1 msg="Listening on 127.0.0.1:11434 (version 0.13.1)"\n'
    "llama_model_loader: loaded meta data with 34 key-value pairs and 339 tensors from "
    "/usr/share/ollama/.ollama/models/blobs/sha256-2bada8a7450677000f678be90653b85d364de7db25eb5ea54136ada5f3933730\n"
    "llama_model_loader: - kv   0:                       general.architecture str              = qwen2\n"
    "{name}"
    "print_info: file type   = Q4_K - Medium\n"
    "load_tensors: offloaded 29/29 layers to GPU\n"
    "load_tensors:        CUDA0 model buffer size =  4168.09 MiB\n"
    "llama_context: n_seq_max     = 1\n"
    "llama_context: n_ctx         = 131072\n"
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 7168.00 MiB on device 0: cudaMalloc failed: out of memory\n"
)
TITLE = "llama_model_loader: - kv   2:               general.name str              = Qwen2.5 7B Instruct\n"
PARTS = (
    "llama_model_loader: - kv   4:               general.basename str              = Qwen2.5\n"
    "llama_model_loader: - kv   5:             general.size_label str              = 7B\n"
)


def report(name: str) -> LogReport:
    return report_log(read_log(LOG.format(name=name)), Choices(model="", engine=""), None)


def test_a_blob_is_known_by_the_name_in_it() -> None:
    found = report(TITLE)
    assert (found.engine, found.version, found.model) == ("ollama", "0.13.1", "Qwen2.5 7B Instruct")
    assert found.choices is not None
    assert (found.choices.model, found.choices.weights) == ("qwen2.5-7b-instruct", "q4_k_m")
    weights = next(row for row in found.readings if row.name == "weights")
    assert weights.why == "as printed: weights, exact"


def test_a_blob_is_known_by_its_base_and_its_size() -> None:
    found = report(PARTS)
    assert found.choices is not None
    assert (found.choices.model, found.choices.weights) == ("qwen2.5-7b", "q4_k_m")


def test_a_change_is_the_line_of_the_modelfile_that_makes_it() -> None:
    shorter = next(one for one in report(TITLE).would_start if "tokens instead of" in one.change)
    assert shorter.starts
    assert shorter.option == f"PARAMETER num_ctx {shorter.max_context_tokens}"


def test_the_page_s_example_is_a_laptop_that_holds_fewer_tokens() -> None:
    """36 layers × 2 × 8 heads of 128 × 2 bytes = 144 KiB a token: 40,960 are 5,760 MiB, as it asked; 2,421 were free.

    What is left beside 13,056 of them, 586 MiB, is the step's own, and 256 MiB for libraries that come later.
    """
    text = (EXAMPLES / "ollama_out_of_memory.txt").read_text(encoding="utf-8")
    found = report_log(read_log(text), Choices(model="", engine=""))
    assert found.choices is not None
    assert (found.choices.model, found.choices.device) == ("qwen3-8b", "rtx-4060-laptop")
    first = found.would_start[0]
    assert (first.option, first.starts) == ("PARAMETER num_ctx 13056", True)
    assert 40_960 * 144 / 1024 == 5_760
    assert 256 + 250 < 6.9 * 1024 - 4_643.78 - 13_056 * 144 / 1024 < 256 + 400
    weights = next(row for row in found.readings if row.name == "weights")
    assert weights.match is Match.EQUAL


LAPTOP = (
    'level=INFO source=routes.go:1235 msg="Listening on 127.0.0.1:11434 (version 0.9.6)"\n'
    'level=INFO source=types.go:130 msg="inference compute" id=GPU-1 library=cuda compute=8.9 '
    'name="NVIDIA GeForce RTX 4060 Laptop GPU" total="8.0 GiB" available="6.9 GiB"\n'
    "llama_model_loader: loaded meta data with 27 key-value pairs and 443 tensors from /blobs/sha256-a8cc12345678\n"
    "llama_model_loader: - kv   2:                               general.name str              = Qwen3 {size}\n"
    "print_info: file type   = Q4_K - Medium\n"
    "load_tensors: offloaded {offloaded} layers to GPU\n"
    "llama_context: n_seq_max     = 1\nllama_context: n_ctx         = {context}\n"
)


def spill(size: str, offloaded: str, context: int) -> str:
    text = LAPTOP.format(size=size, offloaded=offloaded, context=context)
    return report_log(read_log(text), Choices(model="", engine="")).spill


def test_layers_that_run_from_main_memory_are_said_with_the_context_that_keeps_them_off_it() -> None:
    """8.24 GiB of weights are more than the card; 4.53 of the 8B leave 1.60 for 147,456 B a token."""
    assert "15 of 41 layers run from main memory" in spill("14B", "26/41", 8192)
    assert "no room for all of them whatever the context is" in spill("14B", "26/41", 8192)
    assert "8 of 37 layers run from main memory" in spill("8B", "29/37", 32_768)
    assert "all of them lie on the card with up to 11,648 tokens" in spill("8B", "29/37", 32_768)
    assert "by the plan there is room for all" in spill("8B", "29/37", 4096)
    assert "main memory" not in spill("8B", "37/37", 4096)


def test_a_log_that_names_nothing_else_says_that_layers_run_from_main_memory() -> None:
    """ollama#10848: 5 of 37 layers, a context of 32,768, no flash attention."""
    text = (
        "May 24 22:58:23 box ollama[1391]: load_tensors: offloading 5 repeating layers to GPU\n"
        "May 24 22:58:23 box ollama[1391]: load_tensors: offloaded 5/37 layers to GPU\n"
        "May 24 22:58:23 box ollama[1391]: load_tensors:        CUDA0 model buffer size =   511.43 MiB\n"
        "May 24 22:58:23 box ollama[1391]: llama_context: n_ctx         = 32768\n"
    )
    found = report_log(read_log(text), Choices(model="", engine=""))
    assert found.spill.startswith("32 of 37 layers run from main memory, which is much slower.")
    assert "a context shorter than 32,768 tokens (PARAMETER num_ctx)" in found.spill
    assert log_title(found) == "It started, with 5 of 37 layers on the card"
    assert log_text(found).splitlines()[1] == f"It started, and {found.spill}"
