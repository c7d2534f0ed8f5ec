"""Engines without CUDA graphs: the host's time a layer as public readings have it, and what it does to a step."""

import json
from dataclasses import replace
from statistics import geometric_mean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.batching.step_time import TICKS_PER_S
from planner.catalogue.performance_presets import host_time
from planner.cli import main
from planner.speed.answer import step_time
from planner.speed.busy import busy
from planner.speed.constants import parts, step_seconds
from planner.speed.fit import Measured
from planner.speed.host import calibrated_without_graphs, without_graphs
from planner.speed.work import decode_work
from tests.speed.test_speed import CONSTANTS, dense, prepared
from tests.speed_readings.reading import rows_of

ROWS = rows_of("eager.csv")
MODEL = prepared(dense())
HOST = host_time()
WAITING = without_graphs(CONSTANTS, HOST)


def layer_seconds(experts: bool) -> list[float]:
    return [float(row["seconds"]) / int(row["layers"]) for row in ROWS if (row["experts"] == "yes") == experts]


def test_the_hosts_time_is_the_middle_of_the_readings() -> None:
    assert len(ROWS) == HOST.readings
    assert HOST.layer_s == pytest.approx(median(layer_seconds(experts=False)), rel=0.005)
    assert HOST.expert_layer_s == pytest.approx(geometric_mean(layer_seconds(experts=True)), rel=0.005)


def test_its_range_holds_every_reading() -> None:
    for experts, middle in ((False, HOST.layer_s), (True, HOST.expert_layer_s)):
        for seconds in layer_seconds(experts):
            assert max(seconds / middle, middle / seconds) <= 1 + HOST.p90_error


def test_graphs_were_never_slower_where_both_were_read() -> None:
    both = [(float(row["seconds"]), float(row["with_graphs_s"])) for row in ROWS if row["with_graphs_s"]]
    assert len(both) == 6
    assert all(without > with_graphs for without, with_graphs in both)


@given(st.integers(1, 5_000), st.integers(1, 100_000))
def test_a_step_takes_what_the_slower_of_host_and_card_does(users: int, context: int) -> None:
    work = decode_work(MODEL, users, context)
    card, found = step_seconds(work, CONSTANTS), step_seconds(work, WAITING)
    assert found.value_s == pytest.approx(max(card.value_s, HOST.layer_s * work.layers))
    assert found.low_s <= found.value_s <= found.high_s
    assert card.low_s <= found.low_s
    assert card.high_s <= found.high_s
    assert parts(work, WAITING).total_s == pytest.approx(found.value_s)


@given(st.integers(1, 200), st.integers(1, 20_000), st.integers(1, 5_000))
def test_a_busy_server_computes_prompts_beside_what_it_waits(users: int, prompt: int, output: int) -> None:
    """As much longer as decoding alone is, since prompts come in few steps that keep the card busy."""
    work = decode_work(MODEL, users, prompt + output // 2)
    waits = step_seconds(work, WAITING).value_s - step_seconds(work, CONSTANTS).value_s
    quick, slow = (busy(MODEL, each, users, prompt, output) for each in (CONSTANTS, WAITING))
    assert slow.step.value_s == pytest.approx(quick.step.value_s + waits)
    assert slow.token.low_s <= slow.token.value_s <= slow.token.high_s


def test_the_simulators_steps_wait_for_the_host_too() -> None:
    """A step in the middle of a request's life takes what the host does."""
    context = 2_000
    table = step_time(MODEL, WAITING, 4, context)
    work = decode_work(MODEL, 4, context // 2)
    middle = (table.by_sequences[4] + table.per_context_token * 4 * context // 2) / TICKS_PER_S
    assert middle == pytest.approx(step_seconds(work, WAITING).value_s, rel=0.02)


def test_a_measured_step_that_took_longer_tells_the_hosts_time() -> None:
    work = decode_work(MODEL, 1, 1_000)
    card_s = step_seconds(work, CONSTANTS).value_s
    known = replace(CONSTANTS, calibrated_median_error=0.02, calibrated_p90_error=0.1)
    slow = calibrated_without_graphs(known, HOST, [Measured(work=work, seconds=3 * card_s)])
    assert slow.host_layer_s == pytest.approx(3 * card_s / work.layers)
    assert step_seconds(work, slow).high_s == pytest.approx(3 * card_s * 1.1)
    quick = calibrated_without_graphs(known, HOST, [Measured(work=work, seconds=0.99 * card_s)])
    assert quick.host_layer_s == HOST.layer_s
    assert quick.calibrated_by == 1


def pace(words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert main([*f"speed --weights int4-g128 --json {words}".split()]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_the_setting_slows_the_plan_down_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Qwen3-14B in four bits on an A100: 48.5 tokens a second, QwenLM/Qwen3 issue 1536; more than twice as fast with
    graphs."""
    plan = "--model qwen3-14b --device a100-80gb-sxm --context 16384 --engine vllm"
    with_graphs, without = pace(plan, capsys), pace(f"{plan} --set enforce_eager=true", capsys)
    quick, slow = with_graphs["tokens_per_s_user"], without["tokens_per_s_user"]
    assert isinstance(quick, dict)
    assert isinstance(slow, dict)
    assert slow["low"] < 48.5 < slow["high"]
    assert quick["value"] > 2 * slow["value"]
    assert "Without CUDA graphs" in str(without["warnings"])
    assert "Without CUDA graphs" not in str(with_graphs["warnings"])


@pytest.mark.parametrize(
    "words",
    [
        "cost --price 1",
        "speculate --acceptance 0.7 --draft-tokens 4 --draft-cost 0.1",
    ],
)
def test_every_answer_that_rests_on_it_says_so(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    plan = "--model qwen3-8b --device l4 --engine vllm --set enforce_eager=true --bandwidth 280GB/s"
    main(f"{words} {plan}".split())
    said = capsys.readouterr().out
    assert "Note: Without CUDA graphs the host" in said
    assert "Note: Memory is taken to be read at 280 GB/s, as you stated, where the data sheet says" in said


def test_sglang_has_the_same_by_its_own_name(capsys: pytest.CaptureFixture[str]) -> None:
    plan = "--model qwen3-8b --device h100-sxm --engine sglang --context 4096"
    without = pace(f"{plan} --set disable_cuda_graph=true", capsys)
    assert "Without CUDA graphs" in str(without["warnings"])
    main(
        [
            "plan",
            "--model",
            "qwen3-8b",
            "--device",
            "h100-sxm",
            "--engine",
            "sglang",
            "--set",
            "disable_cuda_graph=true",
        ]
    )
    assert "--disable-cuda-graph" in capsys.readouterr().out


def test_engines_that_wait_for_no_host_are_as_fast_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    plan = "--model qwen3-8b --device l4 --engine vllm --set enforce_eager=true"
    assert "Without CUDA graphs" not in str(pace(f"{plan} --speed-engine llama_cpp", capsys)["warnings"])


@pytest.mark.parametrize("command", ["simulate --requests 40", "capacity --max-ttft 100 --requests 40"])
def test_simulated_answers_say_that_they_wait_for_the_host(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    plan = f"{command} --model qwen3-8b --device l4 --engine vllm --set max_num_seqs=8 --max-num-batched-tokens 2048"
    main(plan.split())
    assert "Without CUDA graphs" not in capsys.readouterr().out
    main([*plan.split(), "--set", "enforce_eager=true"])
    assert "Without CUDA graphs the host starts each layer's work itself" in capsys.readouterr().out
