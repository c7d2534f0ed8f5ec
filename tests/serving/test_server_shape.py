"""An engine's own settings shape the server: every setting of every engine that says how much runs at once."""

import json
import re
from collections.abc import Iterator

import pytest

from planner import presets
from planner.cli import main
from planner.deployment import Deployment
from planner.engines import ENGINES, find_engine
from planner.engines.base import Limit
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.serving.shape import ShapeWish, server_shape
from planner.settings.setting import Setting

CARD = ["--model", "llama-3.1-8b", "--device", "rtx-4090"]
REQUESTS, STEP, BLOCK = "requests", "step_tokens", "block_tokens"
KINDS = {
    REQUESTS: re.compile(r"requests that (run|are answered) at once"),
    STEP: re.compile(r"tokens (that|of|of a prompt that) .*(one step|at once)"),
    BLOCK: re.compile(r"tokens of one (block|page)"),
}
"""What the meaning of a setting begins with that shapes a server."""
NOT_THE_SERVERS = {
    ("llama_cpp", "n_ubatch"): "n_batch is handed over at once; in how many steps is the backend's own",
    ("ik_llama_cpp", "n_ubatch"): "the same",
    ("ollama", "n_ubatch"): "the same",
    ("sglang", "max_prefill_tokens"): "of prompts that are not cut, which a step here always takes whole",
    ("sglang", "speculative_num_draft_tokens"): "drafted tokens",
    ("vllm", "num_speculative_tokens"): "drafted tokens",
}


def deployment(engine: str, *given: str) -> Deployment:
    chosen = choose(Choices(model="llama-3.1-8b", device="rtx-4090", engine=engine, set=given))
    return chosen.deployment


def limit(engine: str, kind: str, *given: str) -> Limit | None:
    found: Limit | None = getattr(find_engine(engine).limits(deployment(engine, *given)), kind)
    return found


def kinds_of(engine: str) -> Iterator[tuple[str, Setting]]:
    for setting in presets.engine_data(engine).settings.values():
        for kind, pattern in KINDS.items():
            if pattern.search(setting.meaning) and (engine, setting.name) not in NOT_THE_SERVERS:
                yield kind, setting


SETTINGS = [(engine, kind, setting.name) for engine in ENGINES for kind, setting in kinds_of(engine)]


def test_every_engine_that_serves_says_how_many_run_at_once() -> None:
    told = {engine for engine, kind, _ in SETTINGS if kind == REQUESTS}
    assert told == set(ENGINES) - {"minimum", "transformers"}


@pytest.mark.parametrize(("engine", "kind", "name"), SETTINGS)
def test_a_setting_shapes_the_server_and_the_answer_names_it(engine: str, kind: str, name: str) -> None:
    value = {REQUESTS: 24, STEP: 640, BLOCK: 32}[kind]
    given = f"{name}={value}"
    found = limit(engine, kind, given)
    assert found is not None
    assert (found.setting, found.value) == (name, value)
    shape = server_shape(deployment(engine, given), ShapeWish(), 256)
    if kind == REQUESTS:
        assert shape.slots == value
    elif kind == STEP:
        beside = shape.slots if engine == "sglang" else 0
        assert shape.step_tokens == value + beside
    else:
        assert shape.block_tokens == value
    assert f"({name})" in shape.notes[0]


@pytest.mark.parametrize(("engine", "kind", "name"), SETTINGS)
def test_an_option_that_says_another_is_refused(engine: str, kind: str, name: str) -> None:
    wishes = {REQUESTS: ShapeWish(slots=16), STEP: ShapeWish(step_tokens=512), BLOCK: ShapeWish(block_tokens=64)}
    where = deployment(engine, f"{name}=32")
    with pytest.raises(PlannerError, match=rf"and {name} = 32 say two things of one server: leave one of them out"):
        server_shape(where, wishes[kind], 256)


def test_what_an_engine_runs_unless_told_is_what_is_simulated() -> None:
    """vLLM 0.32 on a card of 24 GB: 256 requests, steps of 2,048 tokens; llama-server four slots, batches of 2,048."""
    vllm, llama = (server_shape(deployment(engine), ShapeWish(), 8) for engine in ("vllm", "llama_cpp"))
    assert (vllm.slots, vllm.step_tokens, vllm.block_tokens) == (256, 2_048, 16)
    assert (llama.slots, llama.step_tokens) == (4, 2_048)
    plain = server_shape(deployment("minimum"), ShapeWish(), 8)
    assert (plain.slots, plain.step_tokens, plain.block_tokens, plain.notes) == (8, None, 16, ())
    told = server_shape(deployment("llama_cpp"), ShapeWish(slots=16), 8)
    assert told.slots == 16
    assert "llama.cpp runs 4 at once unless told: --set n_parallel=16" in told.notes[-1]


@pytest.mark.parametrize("command", ["simulate", "capacity"])
def test_the_commands_follow_the_setting_and_say_so(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [command, *CARD, "--engine", "vllm", "--set", "max_num_seqs=4", "--requests", "60"]
    words += ["--max-ttft", "2"] if command == "capacity" else []
    assert main(words) in (0, 1)
    assert "As vLLM has it: 4 requests at once (max_num_seqs), 2,048 tokens a step" in capsys.readouterr().out
    assert main([*words, "--slots", "8"]) == 2
    assert "slots = 8 and max_num_seqs = 4 say two things" in capsys.readouterr().err


def test_fewer_slots_by_the_setting_are_slower(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", *CARD, "--engine", "vllm", "--requests", "80", "--json"]
    assert main([*words, "--set", "max_num_seqs=4"]) == 0
    few = json.loads(capsys.readouterr().out)
    assert main([*words, "--slots", "4"]) == 0
    asked = json.loads(capsys.readouterr().out)
    assert main([*words, "--set", "max_num_seqs=40"]) == 0
    assert few["makespan_s"] == asked["makespan_s"] > 2 * json.loads(capsys.readouterr().out)["makespan_s"]


@pytest.mark.parametrize("schedule", ["static", "continuous"])
def test_a_limit_of_a_step_is_refused_where_prompts_are_whole(
    schedule: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["simulate", *CARD, "--engine", "vllm", "--requests", "20", "--slots", "8", "--schedule", schedule]
    assert main([*words, "--set", "max_num_batched_tokens=512"]) == 2
    assert "--set max_num_batched_tokens=512 has no effect with the schedule" in capsys.readouterr().err
    assert main([*words, "--max-num-batched-tokens", "512"]) == 2
    assert "which computes whole prompts" in capsys.readouterr().err


def test_more_blocks_than_the_card_holds_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", *CARD, "--requests", "20", "--json"]
    assert main(words) == 0
    held = json.loads(capsys.readouterr().out)["pool"]["pool_blocks"]
    assert main([*words, "--pool-blocks", f"{held}"]) == 0
    assert json.loads(capsys.readouterr().out)["pool"]["pool_blocks"] == held
    assert main([*words, "--pool-blocks", f"{held + 1}"]) == 2
    assert f"there is room for {held:,} blocks of 16 tokens" in capsys.readouterr().err
