"""The engine in the sidebar, and what the Plan page says by its rules."""

from dataclasses import replace

import pytest

from planner.answers.answer import answer
from planner.budget import Case
from planner.engine_comparison import compare_engines
from planner.engines import ENGINES
from planner.inputs.choices import Choices, choose
from planner.launch import LAUNCHERS, launch, parse_launch
from planner.spread import spread
from tests.ui.conftest import OpenApp, words
from ui.sections.engine_comparison import name_of

VLLM = {"engine": "vllm", "engine_version": "0.11"}
PLAN = Choices(model="llama-3.1-8b", device="rtx-4090", engine="vllm", engine_version="0.11", context=8_192, users=4)


def test_every_engine_of_the_registry_can_be_chosen(open_app: OpenApp) -> None:
    assert open_app().selectbox(key="engine").options == list(ENGINES)


def test_the_engines_own_figures_are_the_librarys(open_app: OpenApp) -> None:
    app = open_app(**VLLM)
    chosen = choose(PLAN)
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    assert found.report is not None
    said = words(app)
    assert f"By the rules of **vLLM 0.11** it prints **{found.pool_tokens:,} tokens** of cache" in said
    assert f"concurrency of **{found.max_concurrency:.2f}x** at 8,192 tokens" in said
    assert f"{found.report.num_blocks:,} blocks, 512 for one request" in said
    assert "vLLM 0.11 · 4 × 8,192 tokens" in app.caption[0].value
    for case in spread(chosen):
        assert f"{case.pool_tokens:,}" in said
    assert "vLLM's own items are used instead of a flat figure." in said
    assert "Runtime, one figure" not in said


def test_low_expected_and_high_leave_less_and_less() -> None:
    low, expected, high = spread(choose(PLAN))
    assert (low.case, expected.case, high.case) == (Case.BEST, Case.EXPECTED, Case.WORST)
    assert low.runtime_bytes < expected.runtime_bytes < high.runtime_bytes
    # What runtime takes more, the cache has less.
    assert low.room_bytes + low.runtime_bytes == high.room_bytes + high.runtime_bytes
    assert low.one_user_tokens is not None
    assert high.one_user_tokens is not None
    assert low.one_user_tokens > high.one_user_tokens
    # 131,072 B a token, blocks of 16
    assert low.one_user_tokens == low.room_bytes // (16 * 131_072) * 16


def test_nothing_assumed_is_one_case() -> None:
    (only,) = spread(choose(Choices(model="13b-class-mha", memory="8GiB", weights="int4-g128", overhead="1.5GiB")))
    assert (only.case, only.one_user_tokens, only.pool_tokens) == (Case.EXPECTED, 337, None)


def test_a_stated_figure_takes_the_place_of_the_engines_items(open_app: OpenApp) -> None:
    app = open_app(**VLLM, overhead="2GiB")
    said = words(app)
    assert "Runtime, one figure" in said
    assert "In place of vLLM's own." in said
    assert "--overhead 2GiB" in said


def test_a_field_of_a_setting_writes_its_line_and_shows_it(open_app: OpenApp) -> None:
    app = open_app(**VLLM, set="block_size=32")
    app.text_input(key="_set_max_num_seqs").set_value("64").run()
    assert app.text_area(key="set").value == "block_size=32\nmax_num_seqs=64"
    assert "--set block_size=32 --set max_num_seqs=64" in words(app)
    app.selectbox(key="_set_enforce_eager").set_value("true").run()
    app.text_input(key="_set_max_num_seqs").set_value("").run()
    assert app.text_area(key="set").value == "block_size=32\nenforce_eager=true"
    app.text_area(key="set").set_value("enforce-eager=on").run()
    assert app.selectbox(key="_set_enforce_eager").value == "true"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("max_num_seqs=many", "max_num_seqs = 'many' is not possible: it must be a whole number between 1 and"),
        ("nonsense=1", "Engine 'vllm' has no setting 'nonsense'; it knows: "),
        ("no equals sign", "'no equals sign' is not KEY=VALUE"),
    ],
)
def test_a_setting_that_is_not_possible_is_said_at_once_and_stays(open_app: OpenApp, line: str, sentence: str) -> None:
    app = open_app(**VLLM)
    app.text_area(key="set").set_value(line).run()
    assert not app.exception
    assert any(sentence in caption.value for caption in app.caption)
    assert "One thing to correct first" in app.title[0].value
    assert app.text_area(key="set").value == line


def test_another_engine_keeps_the_settings_that_it_has(open_app: OpenApp) -> None:
    app = open_app(engine="llama_cpp", engine_version="b9849", set="n_parallel=2;fit_target=1GiB;mystery=1")
    assert app.info[0].value.startswith("This link asked for **set** =")
    app = open_app(engine="llama_cpp", engine_version="b9849", set="n_parallel=2;n_ubatch=256")
    app.selectbox(key="engine").select("ollama").run()
    assert app.text_area(key="set").value == "n_parallel=2\nn_ubatch=256"
    assert app.text_input(key="engine_version").value == ""
    app.selectbox(key="engine").select("vllm").run()
    assert app.text_area(key="set").value == ""


@pytest.mark.parametrize("engine", LAUNCHERS)
def test_the_command_that_starts_the_plan_is_the_librarys(open_app: OpenApp, engine: str) -> None:
    app = open_app(engine=engine, weights="checkpoint", users="2")
    choices = Choices(model="llama-3.1-8b", device="rtx-4090", engine=engine, context=8_192, users=2)
    written = launch(choices, choose(choices))
    assert written is not None
    shown = [code.value for code in app.code]
    assert shown == [*([written.files] if written.files else []), written.text, choices.command()]
    assert parse_launch(engine, written.text, choices).context == 8_192


def test_a_plan_without_an_engine_shows_any_engines_command(open_app: OpenApp) -> None:
    app = open_app()
    assert app.code[0].value.startswith("vllm serve ")
    app.button_group(key="launch_minimum").set_value("ollama").run()
    assert "ollama create llama-3.1-8b-8192" in app.code[-2].value
    assert "With Ollama's own defaults; this page counts with no engine." in words(app)


def test_a_plan_as_published_names_the_file_that_ollama_pulls(open_app: OpenApp) -> None:
    app = open_app(engine="ollama", device="rtx-4060-laptop", weights="checkpoint")
    assert "ollama pull llama3.1:8b gets q4_k_m instead, 4.30 GiB of weights" in app.caption[1].value
    assert "ollama pull llama3.1:8b gets" not in words(open_app(engine="ollama", weights="q4_k_m"))


def test_what_an_engine_cannot_do_is_said_in_place_of_its_command(open_app: OpenApp) -> None:
    app = open_app(kv_cache="q4_0")
    assert "cannot keep its cache in q4_0" in words(app)
    assert not app.exception


def test_only_engines_with_a_build_for_the_card_are_offered(open_app: OpenApp) -> None:
    app = open_app(device="apple-m4-32gb", engine="ollama", weights="q4_k_m")
    assert app.button_group(key="launch_ollama").options == ["Hugging Face transformers", "llama.cpp", "Ollama"]
    assert "**vLLM** is left out: vllm does not run on Apple M4" in words(app)


def test_the_minimum_stands_beside_what_every_engine_reserves(open_app: OpenApp) -> None:
    app = open_app(engine="vllm")
    said = words(app)
    assert "With weights and cache alone the card would hold **71,123 tokens** of Llama-3.1-8B" in said
    for one in compare_engines(replace(PLAN, engine_version=None), choose(PLAN).architecture):
        assert name_of(one) in said
        assert f"{one.expected.one_user_tokens:,}" in said


def test_an_engine_that_cannot_is_left_out_with_a_sentence(open_app: OpenApp) -> None:
    app = open_app(kv_cache="q4_0")
    assert "cannot keep its cache in q4_0; choose one of:" in words(app).partition("**vLLM** is left out: ")[2]


def test_what_lies_in_main_memory_has_a_table_and_a_limit_of_its_own(open_app: OpenApp) -> None:
    link = {"model": "qwen3-30b-a3b", "engine": "llama_cpp", "weights": "q4_k_m", "set": "n_cpu_moe=40"}
    choices = Choices(
        model="qwen3-30b-a3b", device="rtx-4090", engine="llama_cpp", weights="q4_k_m", set=("n_cpu_moe=40",),
        context=8_192, users=1,
    )  # fmt: skip
    chosen = choose(choices)
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    app = open_app(**link)
    assert f"<td>Needed</td><td>{found.host_bytes / 2**30:.2f}</td>" in words(app)
    app.text_input(key="host_memory").set_value("8GiB").run()
    assert "main memory is" in app.title[0].value
    assert "--host-memory 8GiB" in words(app)
    app.text_input(key="host_memory").set_value("plenty").run()
    assert "host_memory 'plenty' is not a size" in words(app)


@pytest.mark.parametrize("engine", ["ollama", "vllm"])
@pytest.mark.parametrize("users", [1, 4, 7])
def test_a_link_keeps_its_users_under_every_engine(open_app: OpenApp, engine: str, users: int) -> None:
    """Whatever is usual there: Ollama answers one at a time, a server four."""
    app = open_app(engine=engine, users=str(users))
    assert app.number_input(key="users").value == users
    assert f"--users {users}" in app.code[-1].value or users == 1


@pytest.mark.parametrize(("engine", "users"), [("ollama", 1), ("llama_cpp", 1), ("vllm", 4), ("minimum", 4)])
def test_without_users_a_link_means_what_is_usual_for_its_engine(open_app: OpenApp, engine: str, users: int) -> None:
    assert open_app(engine=engine).number_input(key="users").value == users


def test_another_engine_leaves_the_users_as_they_are(open_app: OpenApp) -> None:
    app = open_app(engine="vllm", users="3")
    app.selectbox(key="engine").set_value("ollama").run()
    assert app.number_input(key="users").value == 3


def test_a_machine_without_a_card_is_chosen_among_cards(open_app: OpenApp) -> None:
    app = open_app(device="PC without GPU, 16 GB", engine="ollama", weights="q4_k_m")
    assert "PC without GPU, 16 GB" in app.caption[0].value
    said = words(app)
    assert "other programs" in said
    assert "Memory of the machine" in said
    assert "PARAMETER num_gpu 0" in "".join(code.value for code in app.code)
