"""A busy server: one definition for speed, cost and the readings of servers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalogue.performance_presets import find_speed_constants
from planner.cli import main
from planner.speed.answer import speed, step_seconds
from planner.speed.busy import busy
from planner.speed.fit import predicted_s
from planner.speed.operations import has_experts
from planner.speed.work import decode_work
from planner.text.performance import speed_text
from planner.units import format_pace
from tests.speed.test_speed import CONSTANTS, dense, prepared
from tests.speed_readings import serving
from tests.speed_readings.reading import rows_of

MODEL = prepared(dense())


def test_one_request_alone_waits_for_nobody_and_its_own_prompt_counts_for_all() -> None:
    """1,000 + 500 tokens: at 1,250 on average; alone a step is decoding, and two prompt tokens come with each."""
    found = busy(MODEL, CONSTANTS, 1, 1_000, 500)
    decoding = step_seconds(decode_work(MODEL, 1, 1_250), CONSTANTS)
    assert found.token == decoding
    assert found.step.value_s == predicted_s(decode_work(MODEL, 1, 1_250, 2.0), CONSTANTS)
    assert found.prompt_tokens_per_s.value == pytest.approx(2 * found.tokens_per_s.value)


@given(st.integers(1, 500), st.integers(1, 20_000), st.integers(1, 5_000))
def test_prompts_never_make_answers_faster(users: int, prompt: int, output: int) -> None:
    found = busy(MODEL, CONSTANTS, users, prompt, output)
    alone = step_seconds(decode_work(MODEL, users, prompt + output // 2), CONSTANTS)
    assert alone.value_s <= found.token.value_s <= found.step.value_s
    assert found.tokens_per_s.low <= found.tokens_per_s.value <= found.tokens_per_s.high <= found.tokens_per_s.ceiling


@pytest.mark.parametrize("load", [(1, 1_024, 256), (8, 1_024, 256), (64, 200, 1_000)])
@pytest.mark.parametrize(("device", "engine"), [("h100-sxm", "vllm"), ("rtx-4090", "llama_cpp")])
def test_speed_and_cost_say_the_same_of_the_same_load(
    load: tuple[int, int, int], device: str, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    users, prompt, output = map(str, load)
    asked = ["--model", "llama-3.1-8b", "--device", device, "--speed-engine", engine, "--weights", "fp8", "--json"]
    asked += ["--users", users, "--prompt", prompt, "--output", output]
    main(["speed", *asked])
    pace = json.loads(capsys.readouterr().out)["busy"]
    main(["cost", *asked, "--price", "1"])
    paid = json.loads(capsys.readouterr().out)
    for end, key in (("value", ""), ("low", "_low"), ("high", "_high")):
        assert pace["tokens_per_s"][end] == paid[f"output_tokens_per_s{key}"]
        assert pace["prompt_tokens_per_s"][end] == paid[f"prompt_tokens_per_s{key}"]


def test_nine_of_ten_steps_of_servers_lie_within_the_range_of_the_same_load() -> None:
    """As a plan has them, the fitted constants being known: decoding alone holds far fewer."""
    within = alone = count = 0
    for row in rows_of(serving.FILE):
        if not serving.is_step(row) or row["metric"] != "time_per_token_s" or not row["prompt_tokens"]:
            continue
        model = serving.model_of(row)
        constants = find_speed_constants(row["engine"], row["card"], has_experts(model.architecture))
        users, prompt, output = (int(row[key]) for key in ("concurrency", "prompt_tokens", "output_tokens"))
        found = busy(model, constants, users, prompt, output)
        decoding = step_seconds(decode_work(model, users, prompt + output // 2), constants)
        seconds = float(row["seconds"])
        if seconds < found.token.ceiling_s:
            continue
        count += 1
        within += found.token.low_s <= seconds <= found.token.high_s
        alone += decoding.low_s <= seconds <= decoding.high_s
    assert count > 400
    assert within / count >= 0.9
    assert alone / count < within / count


def test_a_request_is_as_long_as_its_prompt_and_answer(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["speed", "--model", "llama-3.1-8b", "--device", "h100-sxm", "--output", "200"]
    assert main(words) == 2
    assert "--output needs --prompt" in capsys.readouterr().err
    assert main([*words, "--prompt", "800", "--context", "4096"]) == 2
    assert "--context has no effect where --prompt and --output say" in capsys.readouterr().err
    assert main([*words, "--prompt", "800", "--users", "4"]) == 0
    text = capsys.readouterr().out
    assert "Busy, with a new prompt of 800 for every 200 tokens of an answer: " in text


def test_a_busy_servers_line_has_a_ceiling_of_its_own_and_says_what_together_counts() -> None:
    """At 1,250 tokens on average it is higher than that of 1,500."""
    found = busy(MODEL, CONSTANTS, 1, 1_000, 500)
    said = speed_text(
        speed(MODEL, CONSTANTS, context_tokens=1_500, users=1, prompt_tokens=1_000, max_users=4), served=found
    )
    assert "together, their own prompts' time counted; no faster than" in said
    assert format_pace(found.tokens_per_s_user.ceiling) in said
