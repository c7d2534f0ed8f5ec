"""The Speed page: who is served, the figures of the library, the ranges, one measured point."""

import json
import re

import pytest

from planner.cli import main
from planner.speed.names import engine_name
from planner.speed.sweeps import by_users, drawn_users, phases
from planner.text.cost import money
from planner.units import format_figure, format_seconds
from tests.speed.test_sweeps import CONSTANTS, MODEL
from tests.ui.conftest import OpenApp, words
from tests.ui.test_cache import alt_texts
from tests.ui.test_charts import values
from ui.charts.knee import KneeMarks, knee_chart
from ui.charts.speed import phase_bars

PAGE = "ui/pages/speed.py"


def printed(capsys: pytest.CaptureFixture[str], *words_: str) -> dict:
    main(["speed", *words_, "--json"])
    return json.loads(capsys.readouterr().out)


def test_the_page_says_what_the_command_line_says(open_app: OpenApp, capsys: pytest.CaptureFixture[str]) -> None:
    app = open_app(PAGE, device="h100-sxm", context="2048", users="64")
    command = next(str(code.value) for code in app.code if "kvbudget speed" in str(code.value))
    result = printed(capsys, *command.split()[2:])
    assert result["prompt_tokens"] == 2_048 - 512
    assert [metric.value for metric in app.metric] == [
        format_figure(result["tokens_per_s_user"]["value"]),
        format_figure(result["tokens_per_s"]["value"]),
        format_seconds(result["time_to_first_token"]["value_s"]),
        format_figure(result["tokens_per_s_user"]["ceiling"]),
    ]
    assert app.title[0].value == f"Fast enough for up to {result['max_users']} users"
    assert f"The knee is at **{result['knee_users']} users**" in words(app)


def test_every_picture_has_its_figures_in_words(open_app: OpenApp) -> None:
    said = alt_texts(open_app(PAGE))
    for start in ("Throughput against", "Where the time goes", "Time to the first token", "Tokens a second over"):
        assert start in said


def test_one_measured_point_narrows_the_range(open_app: OpenApp, capsys: pytest.CaptureFixture[str]) -> None:
    app = open_app(PAGE, measured="48")
    command = next(str(code.value) for code in app.code if "kvbudget speed" in str(code.value))
    assert command.endswith("--measured 48@8192")
    result = printed(capsys, *command.split()[2:])
    assert app.metric[0].value == format_figure(result["tokens_per_s_user"]["value"])
    assert "once one point of their machine was known" in words(app)
    assert "Nine of ten public measurements" in words(open_app(PAGE))


def test_a_point_that_cannot_be_is_named_and_not_used(open_app: OpenApp) -> None:
    app = open_app(PAGE, measured="4000")
    assert app.metric[0].value == open_app(PAGE).metric[0].value
    assert "is impossible: reading its bytes alone takes" in words(app)
    assert app.number_input(key="measured").value == 4_000


def test_an_answer_longer_than_the_text_is_taken_as_half(open_app: OpenApp) -> None:
    said = words(open_app(PAGE, context="300"))
    assert "An answer of 512 tokens leaves no prompt in 300 tokens per user; 150 are taken." in said


def test_a_links_impossible_target_is_named(open_app: OpenApp) -> None:
    app = open_app(PAGE, target="abc")
    assert "This link asked for **target** = `abc`, which is not possible; it is back at 20." in words(app)
    assert app.number_input(key="target").value == 20


def test_a_card_of_which_only_the_size_is_known(open_app: OpenApp) -> None:
    app = open_app(PAGE, memory="8GiB")
    assert "“How fast memory is read”, such as 80GB/s" in words(app)


def test_a_model_that_does_not_fit_still_has_a_speed(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="llama-3.1-70b")
    assert app.title[0].value.startswith("It does not fit. If it did: ")


@pytest.mark.parametrize("name", ["speed", "batching", "speculation", "cost"])
def test_every_page_about_speed_says_what_its_figures_rest_on(open_app: OpenApp, name: str) -> None:
    said = words(open_app(f"ui/pages/{name}.py", engine="vllm", set="enforce_eager=true", context="2048"))
    assert said.count("Without CUDA graphs the host starts each layer") == 1
    assert said.count("No usable public measurement of vLLM on cards like GeForce RTX 4090") == 1


def test_speed_and_cost_say_both_paces_of_a_set_up(open_app: OpenApp) -> None:
    """Answers alone, and with new prompts all the time."""
    asked = {"context": "4096", "users": "4"}
    speed, cost = words(open_app(PAGE, **asked)), words(open_app("ui/pages/cost.py", **asked))
    alone = re.search(r"users gets \*\*(\d+) tokens a second\*\* \(.*?answers are written, (\d+) while", speed)
    busy = re.search(r"users gets \*\*(\d+) tokens a second\*\* while new prompts .*? and (\d+) while only", cost)
    assert alone is not None
    assert busy is not None
    assert alone.groups() == busy.groups()[::-1]
    assert int(busy[1]) < int(alone[1])


@pytest.mark.parametrize("device", [{"device": "cpu-16gb"}, {"memory": "16GiB"}])
def test_a_stated_bandwidth_gives_any_device_a_speed_and_stands_in_the_command(
    open_app: OpenApp, capsys: pytest.CaptureFixture[str], device: dict[str, str]
) -> None:
    assert "“How fast memory is read”, such as 80GB/s" in words(open_app(PAGE, **device))
    app = open_app(PAGE, bandwidth="2xDDR5-5600", weights="q4_k_m", **device)
    command = next(str(code.value) for code in app.code if "kvbudget speed" in str(code.value))
    assert "--bandwidth 2xDDR5-5600" in command
    result = printed(capsys, *command.split()[2:])
    pace = format_figure(result["tokens_per_s_user"]["value"])
    assert f"One user gets {pace} tokens a second" in app.title[0].value
    assert "89.6 GB/s, as you stated" in words(app)


@pytest.mark.parametrize("engine", ["llama_cpp", "sglang"])
def test_another_engines_speed(open_app: OpenApp, engine: str) -> None:
    app = open_app(PAGE, speed_engine=engine)
    assert f"How well {engine_name(engine)} uses" in words(app)


def test_the_set_ups_engine_is_the_one_whose_speed_is_planned(open_app: OpenApp) -> None:
    assert "How well llama.cpp uses" in words(open_app(PAGE, engine="ollama"))
    assert "How well vLLM uses" in words(open_app(PAGE, engine="vllm"))
    assert "The set-up names no engine: figures are those of vLLM." in words(open_app(PAGE))
    said = words(open_app(PAGE, engine="transformers"))
    assert "Of transformers no public measurements are used here: figures are those of vLLM." in said


def test_figures_open_as_a_table(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    assert "Between tokens" not in words(app)
    app.session_state["knee_table"] = True
    app.run()
    assert "Between tokens" in words(app)


def test_the_curve_is_dashed_where_memory_is_full() -> None:
    points = by_users(MODEL, CONSTANTS, 2_048, 64, (20,))
    chart = knee_chart(points, KneeMarks(asked=4, knee=60, most=20, target_s=1 / 20))
    layers = chart.to_dict()["layer"]
    dashed = next(part for part in layers if part["mark"].get("strokeDash") == [5, 4])
    assert {row["users"] for row in dashed["data"]["values"]} == {str(p.users) for p in points if p.users >= 20}
    assert "memory full: 20 users" in str(layers)
    assert "you: 4 users" in str(layers)


def test_bars_of_phases_are_whole() -> None:
    rows = [row for row in values(phase_bars(phases(MODEL, CONSTANTS, 64, 2_048, 1_536))) if "room" in row]
    for name in ("reading the prompt", "writing, 1 user", "writing, 64 users"):
        assert sum(row["room"] for row in rows if row["phase"] == name) == pytest.approx(1)


@pytest.mark.parametrize("name", ["speed", "batching", "speculation", "cost"])
def test_every_page_about_speed_says_what_the_model_was_not_made_for(open_app: OpenApp, name: str) -> None:
    app = open_app(f"ui/pages/{name}.py", device="h200-sxm", context="140000", users="1")
    assert "140,000 tokens are more than Llama-3.1-8B was made for (131,072)" in words(app)


@pytest.mark.parametrize("name", ["speed", "batching", "speculation", "cost"])
def test_a_measured_point_is_asked_and_used_on_every_page(open_app: OpenApp, name: str) -> None:
    app = open_app(f"ui/pages/{name}.py", measured="48", price="1")
    assert "--measured 48@8192" in " ".join(str(code.value) for code in app.code)
    assert "is impossible: reading its bytes alone takes" in words(open_app(f"ui/pages/{name}.py", measured="4000"))


def test_two_measured_points_are_those_of_the_command(open_app: OpenApp, capsys: pytest.CaptureFixture[str]) -> None:
    """A second field stands there once the first is filled in; what the page says the command says as well."""
    assert "measured_2" not in str(open_app(PAGE).number_input)
    app = open_app(PAGE, measured="45", measured_2="52", measured_2_tokens="256")
    asked = next(str(code.value) for code in app.code if "kvbudget speed" in str(code.value)).split()
    assert asked[asked.index("--measured") + 1] == "45@8192"
    assert asked[-1] == "52@256"
    result = printed(capsys, *asked[2:])
    assert app.metric[0].value == format_figure(result["tokens_per_s_user"]["value"])


SPLITS = {
    "stages": {"device_count": "2", "pipeline_parallel": "2", "engine": "vllm"},
    "copies, a draft": {"replicas": "2", "users": "6", "draft": "eagle", "engine": "vllm"},
    "two of a kind": {"devices": "rtx-4090,rtx-4090", "engine": "vllm"},
}
COMMANDS = {"speed": "speed", "cost": "cost", "speculation": "speculate"}


@pytest.mark.parametrize(
    ("split", "name"), [("stages", "speed"), ("stages", "cost"), ("copies, a draft", "speculation")]
)
def test_a_page_shows_one_server_and_its_command_the_same(
    open_app: OpenApp, capsys: pytest.CaptureFixture[str], split: str, name: str
) -> None:
    """Whatever the set-up's split, the command is one that there is, and gives the page's first figure."""
    app = open_app(f"ui/pages/{name}.py", **SPLITS[split])
    asked = [str(code.value) for code in app.code if f"kvbudget {COMMANDS[name]}" in str(code.value)][-1].split()
    main([*asked[1:], "--json"])
    found = json.loads(capsys.readouterr().out)
    shown = {
        "speed": lambda: format_figure(found["tokens_per_s_user"]["value"]),
        "cost": lambda: money(found["output_per_million"]),
        "speculation": lambda: f"{found['speedup']:.2f}",
    }
    assert app.metric[0].value == shown[name]()


def test_what_of_the_set_up_is_left_out_is_said(open_app: OpenApp) -> None:
    said = words(open_app(PAGE, **SPLITS["copies, a draft"]))
    assert "One of 2 replicas, with its share: 3 users." in said
    assert "Without the draft of the set-up" in said
    assert "--tensor-parallel 2" in words(open_app(PAGE, **SPLITS["two of a kind"]))
    for query, why in (
        ({"devices": "rtx-4090,rtx-3090", "engine": "llama_cpp"}, "choose one kind of card"),
        ({"data_parallel": "2", "engine": "vllm"}, "count whole copies as replicas"),
    ):
        app = open_app(PAGE, **query)
        assert "No answer for this set-up" in app.title[0].value
        assert why in words(app)


@pytest.mark.parametrize(
    ("knee", "memory", "drawn", "marks"),
    [
        (15, 7, 15, ["memory full: 7 users", "knee: 15 users, beyond memory"]),
        (150, 7, 14, ["knee only at 150 users", "memory full: 7 users"]),
        (15, 60, 90, ["memory full: 60 users", "knee: 15 users"]),
        (15, None, 30, ["knee: 15 users"]),
    ],
)
def test_the_picture_marks_memory_and_the_knee_wherever_they_are(
    knee: int, memory: int | None, drawn: int, marks: list[str]
) -> None:
    assert drawn_users(4, knee, memory) == drawn
    points = by_users(MODEL, CONSTANTS, 2_048, drawn, (4, knee, *((memory,) if memory else ())))
    chart = str(knee_chart(points, KneeMarks(asked=4, knee=knee, most=memory, target_s=1 / 20)).to_dict())
    for mark in marks:
        assert mark in chart
    assert ("beyond memory" in chart) == ("knee: 15 users, beyond memory" in marks)


@pytest.mark.parametrize("users", ["1", "16"])
def test_a_busy_servers_pace_is_that_of_the_command_and_of_cost(
    open_app: OpenApp, capsys: pytest.CaptureFixture[str], users: str
) -> None:
    query = {"device": "h100-sxm", "context": "2048", "users": users, "price": "1"}
    app = open_app(PAGE, **query)
    command = next(str(code.value) for code in app.code if "kvbudget speed" in str(code.value))
    served = printed(capsys, *command.split()[2:])["busy"]
    each, together = (format_figure(served[key]["value"]) for key in ("tokens_per_s_user", "tokens_per_s"))
    assert f"With new prompts all the time: {each} tokens/s for each" in [head.value for head in app.header]
    said = words(app)
    assert f"{each} tokens a second** there" in said
    assert f"all together {together} (" in said
    assert f"wherever an answer of {512:,} ends" in said
    cost_page = open_app("ui/pages/cost.py", **query)
    hour = int(cost_page.metric[2].value.replace(",", ""))
    assert hour == pytest.approx(3_600 * served["tokens_per_s"]["value"], rel=0.005)


@pytest.mark.parametrize("users", ["1", "4"])
def test_a_card_of_unknown_arithmetic_answers_one_user_as_the_command_does(
    open_app: OpenApp, capsys: pytest.CaptureFixture[str], users: str
) -> None:
    app = open_app(PAGE, device="apple-m5-32gb", users=users, engine="llama_cpp")
    command = next(str(code.value) for code in app.code if "kvbudget speed" in str(code.value))
    result = printed(capsys, *command.split()[2:])
    pace = format_figure(result["tokens_per_s_user"]["value"])
    assert app.title[0].value == f"One user gets {pace} tokens a second"
    said = words(app)
    assert "computes is not known" in said
    assert ("For 4 users there is no answer." in said) == (users == "4")
    assert "No answer for this set-up" in open_app("ui/pages/cost.py", device="apple-m5-32gb").title[0].value


def test_who_waits_for_the_engine_is_said_and_not_decoded(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="llama-3.1-8b", device="l4", users="8", engine="vllm", set="max_num_seqs=2", target="10")
    assert app.title[0].value == "Fast enough for 2 users at once, 6 wait: max_num_seqs = 2"
    assert "2 of 8 users at once (max_num_seqs = 2), the other 6 wait: each of the 2 gets" in words(app)
    assert "max_num_seqs ends before the knee" in words(app)
