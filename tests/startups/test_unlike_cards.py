"""Cards of a log of llama.cpp that are not alike, named one by one."""

from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.startups.report import LogReport, report_log

LOG = (
    "  Device 0: NVIDIA GeForce RTX 4070 Ti, compute capability 8.9, VMM: yes\n"
    "  Device 1: {second}, compute capability 8.6, VMM: yes\n"
    "llm_load_tensors: offloaded 41/41 layers to GPU\n"
    "llm_load_tensors:        CPU buffer size =  1640.62 MiB\n"
    "llm_load_tensors:      CUDA0 buffer size =  5434.38 MiB\n"
    "llm_load_tensors:      CUDA1 buffer size = 13989.53 MiB\n"
    "llama_new_context_with_model: n_ctx      = 4096\n"
)
"""ggml-org/llama.cpp#6122: Command-R in Q4_K_S on a card of 12 and one of 24 GB."""


def report(second: str) -> LogReport:
    given = Choices(model="command-r-v01", engine="", weights="q4_k_s")
    return report_log(read_log(LOG.format(second=second)), given)


def test_each_is_planned_as_itself() -> None:
    found = report("NVIDIA GeForce RTX 3090 Ti")
    assert "--devices rtx-4070-ti,rtx-3090-ti" in found.command
    assert "--pipeline-parallel 2" in found.command


def test_cards_alike_are_counted() -> None:
    found = report("NVIDIA GeForce RTX 4070 Ti")
    assert "--device rtx-4070-ti" in found.command
    assert "--devices" not in found.command


def test_a_card_that_is_not_known_is_not_left_out_of_two() -> None:
    found = report("NVIDIA Something 9000")
    assert "--devices" not in found.command
