"""Machines without a GPU: one budget, the main memory, under the engines that compute with the processor."""

from dataclasses import replace

import pytest

from planner import presets
from planner.advice import as_fit_chooses, fixes
from planner.answers.answer import Answer, answer
from planner.deployment import CPU
from planner.errors import PlannerError
from planner.finding.which import devices_for
from planner.inputs.choices import Choices, choose
from planner.launch import launch, parse_launch
from planner.logs.read import read_log
from planner.presets import load_preset
from planner.startups.comparison import Match
from planner.startups.report import report_log
from planner.tried_formats import default_weights, engines_on
from planner.units import GIB

LAPTOP = Choices(model="llama-3.1-8b", device="cpu-16gb", engine="llama_cpp", weights="q4_k_m", context=8_192)


def ask(choices: Choices) -> Answer:
    chosen = choose(choices)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def bytes_of(items: object) -> dict[str, int]:
    return {item.name: item.bytes for item in items}  # type: ignore[attr-defined]


@pytest.mark.parametrize("model", ["llama-3.1-8b", "gemma-3-4b", "qwen3-30b-a3b", "qwen3.5-2b", "deepseek-v2-lite"])
@pytest.mark.parametrize("engine", ["llama_cpp", "ik_llama_cpp", "ollama"])
def test_all_of_it_lies_where_no_layer_is_on_a_card_otherwise(model: str, engine: str) -> None:
    """Weights, cache, outputs: to the byte what -ngl 0 leaves in main memory, a tied embedding once."""
    alone = ask(replace(LAPTOP, model=model, engine=engine, device="cpu-64gb"))
    beside = ask(replace(LAPTOP, model=model, engine=engine, device="rtx-4090", set=("n_gpu_layers=0",)))
    here, there = bytes_of(alone.items), bytes_of(beside.host_items)
    assert alone.weights_bytes == there["weights"]
    for name in ("cache", "output buffer", "compute buffer"):
        assert here[name] == there[name] > 0
    assert (alone.host_items, alone.margin_bytes, alone.on_cpu) == ((), 0, True)
    assert "context" not in here


def test_what_the_machine_has_to_give_replaces_what_is_assumed_of_other_programs() -> None:
    sold = ask(LAPTOP)
    assert (sold.memory_bytes / GIB, bytes_of(sold.items)["other programs"]) == (pytest.approx(15.3), 2_765 * 2**20)
    for device in ("cpu", "cpu-16gb"):
        stated = ask(replace(LAPTOP, device=device, host_memory="12GiB"))
        assert stated.memory_bytes == 12 * GIB
        assert "other programs" not in bytes_of(stated.items)
        # 12 GiB less 4.58 of weights and 0.13 of buffers, 128 KiB a token.
        assert stated.max_context_tokens == pytest.approx(59_392, abs=256)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"device": "cpu"}, "give --host-memory 12GiB, or name one of: cpu-8gb"),
        ({"device": None, "devices": "cpu-16gb,rtx-4090"}, "is no card: name it alone"),
        ({"device_count": 2}, "is one machine"),
        ({"memory": "8GiB"}, "both were given"),
    ],
)
def test_a_machine_is_no_card(given: dict[str, object], said: str) -> None:
    with pytest.raises(PlannerError, match=said):
        ask(replace(LAPTOP, **given))  # type: ignore[arg-type]


def test_engines_that_need_a_card_do_not_run_there() -> None:
    device = presets.find_device("cpu-16gb")
    assert engines_on(device) == ("transformers", "llama_cpp", "ik_llama_cpp", "ollama")
    assert "does not run on PC without GPU" in ask(replace(LAPTOP, engine="vllm", weights=None)).no_build


@pytest.mark.parametrize("engine", ["llama_cpp", "ik_llama_cpp", "ollama"])
def test_its_command_gives_the_same_budget(engine: str) -> None:
    choices = replace(LAPTOP, engine=engine)
    written = launch(choices, choose(choices))
    assert written is not None
    assert {"llama_cpp": "--device none", "ik_llama_cpp": "--n-gpu-layers 0", "ollama": "num_gpu 0"}[
        engine
    ] in written.text.replace(" \\\n ", "")
    again = ask(parse_launch(engine, written.text, replace(choices, context=None, weights=None)))
    assert again.items == ask(choices).items


def test_changes_are_those_of_a_machine() -> None:
    """More memory, never several machines or layers elsewhere."""
    choices = replace(LAPTOP, device="cpu-8gb", context=32_768)
    found = fixes(choices, load_preset("llama-3.1-8b"), ask(choices))
    offered = [fix.change for fix in found if fix.choices.device != "cpu-8gb"]
    assert offered == ["PC without GPU, 16 GB"]
    assert all(fix.choices.device_count is None for fix in found)
    assert as_fit_chooses(choices, load_preset("llama-3.1-8b")) is None


def test_cards_for_a_model_are_cards() -> None:
    found = devices_for(replace(LAPTOP, device=None), load_preset("llama-3.1-8b"), default_weights("llama_cpp"))
    assert found
    assert all(presets.find_device(match.device_name).vendor != CPU for match in found)


OLLAMA_LOG = """
time=2026-02-21T14:13:56.395-06:00 level=INFO source=routes.go:1663 msg="Listening on 127.0.0.1:11434 (version 0.16.2)"
time=2026-02-21T14:13:56.433-06:00 level=INFO source=types.go:60 msg="inference compute" id=cpu library=cpu compute="" \
name=cpu description=cpu libdirs=ollama driver="" pci_id="" type="" total="15.8 GiB" available="13.8 GiB"
print_info: general.name     = Meta Llama 3.1 8B Instruct
print_info: file type   = Q4_K - Medium
load_tensors:   CPU_Mapped model buffer size =  4685.30 MiB
llama_context: n_ctx         = 4096
llama_kv_cache_unified:        CPU KV buffer size =   512.00 MiB
""".replace("\\\n", "")


def test_a_log_without_a_card_is_planned_with_the_main_memory_that_was_free() -> None:
    found = report_log(read_log(OLLAMA_LOG), Choices(model="", engine=""))
    assert found.choices is not None
    assert (found.choices.device, found.choices.host_memory) == ("cpu", f"{round(13.8 * 1024)}MiB")
    rows = {row.name: row for row in found.readings}
    assert rows["cache"].match is Match.EQUAL
    # The file of the Instruct model has a table of rotary factors besides.
    assert rows["weights"].value == pytest.approx(rows["weights"].predicted, rel=0.0015)
