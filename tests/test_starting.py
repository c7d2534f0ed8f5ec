"""No command stands under a plan that it does not start."""

import json
import shlex

import pytest

from planner.answers.answer import answer, fits
from planner.cli import main
from planner.inputs.choices import Choices, choose
from planner.launch import LAUNCHERS
from planner.presets import load_preset
from planner.starting import Start, start, starts


def started(choices: Choices) -> Start:
    found = start(choices, load_preset(choices.model))
    assert found is not None
    return found


def test_a_plan_that_fits_starts_as_it_is() -> None:
    found = started(Choices(model="llama-3.1-8b", device="rtx-4090", engine="vllm", context=8_192))
    assert (found.title, found.change) == ("Start it", "")
    assert found.command is not None
    assert "--max-model-len 8192" in found.command.text


def test_a_context_too_long_for_the_pool_comes_with_the_one_that_starts() -> None:
    asked = Choices(model="llama-3.1-8b", device="rtx-4090", engine="vllm", context=131_072)
    before = answer(load_preset("llama-3.1-8b"), choose(asked).deployment, choose(asked).workload)
    found = started(asked)
    assert found.change == f"{before.max_context_tokens:,} tokens per user instead of 131,072"
    assert found.command is not None
    assert f"--max-model-len {before.max_context_tokens} " in found.command.text + " "


def test_what_probably_fits_and_is_refused_all_the_same_comes_with_the_change_that_starts() -> None:
    """172 blocks for recurrent states, and vLLM's 1,024 sequences: the memory alone would do."""
    settings = ("mamba_cache_mode=align", "enable_prefix_caching=true")
    asked = Choices(model="qwen3.5-35b-a3b", device="h100-sxm", engine="vllm", context=8_192, set=settings)
    found = started(asked)
    assert found.change.startswith("max_num_seqs ")
    assert found.command is not None
    assert "--max-num-seqs " in found.command.text
    chosen = choose(asked)
    assert not fits(chosen.architecture, chosen.deployment, chosen.workload)


def test_requests_that_wait_do_not_keep_a_pool_from_starting() -> None:
    found = started(Choices(model="llama-3.1-8b", device="rtx-4090", engine="vllm", context=8_192, users=100))
    assert found.change == ""
    assert found.command is not None
    assert found.command.notes[-1].endswith("of 100 users at once: the others wait.")


def test_llama_cpp_reserves_every_slot_and_does_not_start_without_room_for_all() -> None:
    found = started(
        Choices(model="llama-3.1-8b", memory="8GiB", engine="llama_cpp", weights="q4_k_m", context=8_192, users=16)
    )
    assert found.change != ""


@pytest.mark.parametrize("engine", LAUNCHERS)
def test_whatever_command_is_shown_starts(engine: str) -> None:
    """70B on 24 GB never starts as asked: each engine shows the command of a plan that does, or none."""
    found = started(Choices(model="llama-3.1-70b", device="rtx-4090", engine=engine))
    assert found.command is None or found.change
    if found.command is not None:
        chosen = choose(found.choices)
        assert starts(answer(chosen.architecture, chosen.deployment, chosen.workload))


def test_the_command_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--model", "llama-3.1-70b", "--device", "rtx-4090", "--engine", "vllm"]) == 1
    out = capsys.readouterr().out
    assert "\nStart it:" not in out
    assert "\nIt does not start like this, but with one change: " in out


def test_long_meanings_are_wrapped_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    main(["engines", "vllm"])
    out = capsys.readouterr().out
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= 128
    meanings = " ".join(line.rpartition("  ")[2].strip() for line in out.splitlines())
    assert "on when not set, for models with recurrent states from 0.26 on" in meanings


def test_a_command_that_names_its_model_needs_no_other_name(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["plan", "--engine", "vllm", "--device", "h100-sxm", "--json", "--command"]
    assert main([*asked, "vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 32768"]) == 0
    assert json.loads(capsys.readouterr().out)["context_tokens"] == 32_768
    assert main([*asked, "vllm serve --max-model-len 32768"]) == 2
    assert "add --model NAME" in capsys.readouterr().err


def test_the_answer_as_json_has_the_command_and_the_changes_of_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    """8.03 × 10⁹ parameters in 16 bit are larger than 12 GB: weights in 4 bit are enough, and so says each command."""
    asked = ["plan", "--model", "llama-3.1-8b", "--device", "rtx-3060", "--engine", "vllm"]
    assert main([*asked, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert main(asked) == 1
    text = capsys.readouterr().out
    assert found["start"]["change"] == "Weights in int4-g128"
    assert all(f"  {line}" in text for line in found["start"]["command"].split("\n"))
    assert [change["enough"] for change in found["changes"]] == [True, True, True, False]
    for change in found["changes"]:
        assert change["change"] in text
        assert main(shlex.split(change["command"])[1:]) == (0 if change["enough"] else 1)
        capsys.readouterr()


def test_without_an_engine_there_is_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--model", "llama-3.1-8b", "--device", "rtx-4090", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["start"], found["changes"]) == (None, [])
