"""The Which page: the file for this card, the cards for this model, the models for this card."""

import json
import re

import pytest

from planner.catalogue.downloads import OF_THE_HUB
from planner.cli import main
from planner.finding.picks import picks_for
from planner.inputs.choices import Choices
from planner.text.picks import get_command, pick_title
from planner.tried_formats import default_weights
from tests.ui.conftest import OpenApp, words

PAGE = "ui/pages/which.py"


def test_the_best_file_for_a_card(open_app: OpenApp) -> None:
    """8 GiB − 1.5 GiB − 4 × 0.25 GiB of cache leave 5.5 GiB: q5_k_m has 5.33, q6_k 6.14."""
    app = open_app(PAGE, model="llama-3.1-8b", memory="8GiB", context="2048")
    assert app.title[0].value == "Take Llama-3.1-8B in q5_k_m: the largest file that fits"
    said = words(app)
    assert "In q5_k_m it weighs **5.33 GiB**." in said
    assert "It costs perplexity +0.91%, read on Llama-3-8B, WikiText-2." in said
    assert "✕ does not fit<small>0.64 GiB short</small>" in said
    assert "Perplexity holds for one tokenizer and one text" in said


def test_files_are_those_of_the_library(open_app: OpenApp, capsys: pytest.CaptureFixture[str]) -> None:
    """The weights of every format that fits, as ``which --memory`` says them."""
    link = {"memory": "8GiB", "overhead": "1.5GiB", "context": "2048", "users": "4"}
    said = words(open_app(PAGE, model="llama-3.1-8b", **link))
    main(["which", *(word for key, value in link.items() for word in (f"--{key}", value)), "--all", "--json"])
    rows = [row for row in json.loads(capsys.readouterr().out) if row["model"] == "Llama-3.1-8B"]
    assert [row["weights"] for row in rows] == ["q5_k_m", "int4-g128", "q4_k_m", "iq4_xs", "q3_k_m", "iq2_m"]
    for row in rows:
        assert f'<td class="kv-num">{row["weights_bytes"] / 2**30:.2f} GiB</td>' in said


def test_the_file_that_the_title_names_stands_in_the_table_and_is_the_one_to_take(open_app: OpenApp) -> None:
    """Of the usual types none fits; of the others the largest that does is named, shown and put in first."""
    app = open_app(PAGE, model="llama-3.3-70b", device="rtx-4090", engine="ollama", context="8192")
    named = re.search(r"fits only in (\w+), too coarse", app.title[0].value)
    assert named is not None
    assert f'<tr class="kv-own"><td class="kv-text">{named[1]}' in words(app)
    assert app.selectbox(key="take_Take this file").value == named[1]


def test_a_file_of_the_hub_comes_with_a_note(open_app: OpenApp) -> None:
    said = words(open_app(PAGE, model="qwen3.5-9b", device="rtx-4060-laptop", engine="ollama", context="8192"))
    assert OF_THE_HUB in said


def test_a_published_file_that_fits_needs_no_smaller_one(open_app: OpenApp) -> None:
    assert open_app(PAGE).title[0].value == "Take Llama-3.1-8B as published: it fits"
    # MXFP4 experts: q8_0 and its like would be larger, and no better.
    said = words(open_app(PAGE, model="gpt-oss-20b"))
    assert "q8_0" not in said.partition("<tbody>")[2].partition("</tbody>")[0]


def test_a_model_that_no_file_makes_fit(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="deepseek-v3", memory="8GiB")
    assert app.title[0].value.startswith("No file of DeepSeek-V3 fits: the smallest is ")


def test_a_nominal_class_has_no_file_types_that_decide_by_tensor(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="7b-class", memory="16GiB", users="1")
    assert "q4_k_m</td>" not in words(app)
    assert "fits" in app.title[0].value


def test_the_smallest_cards_for_a_model(open_app: OpenApp) -> None:
    app = open_app(PAGE, ask="Which card?", model="llama-3.1-8b", users="1")
    app.button_group(key="tried").set_value(["as published"]).run()
    app.button_group(key="makers").set_value(["nvidia"]).run()
    # 14.96 GiB of weights, 1.5 of runtime and 1 of cache: the first card beyond those of 16 GB.
    assert app.title[0].value == "The smallest that does it: RTX 4000 Ada Generation, in the published format"
    assert "Apple" not in words(app)


def test_the_model_to_take_for_a_laptop_with_ollama(open_app: OpenApp) -> None:
    """The page says what ``which`` says, and the command that pulls it."""
    link = {"device": "rtx-4060-laptop", "engine": "ollama", "context": "8192", "users": "1"}
    app = open_app(PAGE, ask="Which model?", **link)
    choices = Choices(model="", **{**link, "context": 8192, "users": 1})  # type: ignore[arg-type]
    found = picks_for(choices, default_weights("ollama"))
    assert app.title[0].value == pick_title(found[0])
    assert app.code[0].value == get_command(found[0], choices) != ""
    said = words(app)
    for pick in found:
        assert pick.match.model in said
        assert pick.get in said
    assert "Larger, with a part in main memory" in said


def test_an_engine_that_does_not_run_on_the_card_is_said(open_app: OpenApp) -> None:
    app = open_app(PAGE, ask="Which model?", device="apple-m2-16gb", engine="vllm")
    assert "vllm does not run on Apple M2" in words(app)
    assert "int4-g128" not in words(open_app(PAGE, ask="Which model?", device="apple-m2-16gb")).partition("<table")[2]


def test_every_model_for_a_card(open_app: OpenApp) -> None:
    app = open_app(PAGE, ask="Which model?", memory="8GiB", context="4096", users="1", every="true")
    assert app.title[0].value.endswith(" models fit 8 GiB card")
    assert "Llama-3.1-8B<small>8.03 B</small>" in words(app)
    app.text_input(key="search").set_value("qwen2.5 coder 7b").run()
    assert app.title[0].value == "1 model fits 8 GiB card"


def test_models_made_for_less_context_are_left_out(open_app: OpenApp) -> None:
    link = {"ask": "Which model?", "memory": "24GiB", "context": "8192", "users": "1", "search": "llama-2-7b"}
    app = open_app(PAGE, **link)
    assert app.title[0].value == "No model known here fits 24 GiB card"
    app.toggle(key="short").set_value(True).run()
    assert app.title[0].value == "1 model fits 24 GiB card"


def test_an_answer_goes_into_the_set_up(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="llama-3.1-8b", memory="8GiB", context="2048")
    app.selectbox(key="take_Take this file").select("q4_k_m").run()
    app.button(key="use").click().run()
    assert "weights q4_k_m" in app.caption[0].value
    cards = open_app(PAGE, ask="Which card?", model="llama-3.1-8b")
    cards.selectbox(key="take_Take this card").select("GeForce RTX 3090").run()
    cards.button(key="use").click().run()
    assert cards.selectbox(key="device").value == "GeForce RTX 3090"


def test_no_format_to_try_is_no_error(open_app: OpenApp) -> None:
    app = open_app(PAGE, ask="Which model?")
    app.button_group(key="tried").set_value([]).run()
    assert not app.exception
    assert app.title[0].value == "No model known here fits GeForce RTX 4090"


@pytest.mark.parametrize("engine", ["llama_cpp", "ollama"])
def test_a_machine_of_ones_own_has_one_user_and_no_coarse_file_is_the_one_to_take(
    open_app: OpenApp, engine: str
) -> None:
    app = open_app(PAGE, device="rtx-4060-laptop", engine=engine)
    assert app.number_input(key="users").value == 1
    assert re.fullmatch(
        r"Take Llama-3\.1-8B in q[45]_.*: the largest file( of Ollama's library)? that fits", app.title[0].value
    )
    for users in ("2", "4"):
        title = open_app(PAGE, device="rtx-4060-laptop", engine=engine, users=users).title[0].value
        assert (
            title.endswith("too coarse to be the one to take")
            or re.match(r"No file of Llama-3\.1-8B (surely )?fits", title)
            or re.fullmatch(r"Take Llama-3\.1-8B in i?q4_.*: it probably fits", title)
        )


def test_what_is_short_as_expected_is_said_to_fit_probably_not(open_app: OpenApp) -> None:
    """Gemma-3-4B on a machine of 8 GB: q8_0 is 0.14 GiB short where 2.70 GiB are for other programs, q6_k has room."""
    app = open_app(PAGE, model="gemma-3-4b", device="cpu-8gb", engine="ollama", context="8192", users="1")
    assert app.title[0].value == "Take Gemma-3-4B in q4_k_m: it probably fits"
    assert app.code[0].value == "ollama pull gemma3:4b-it-q4_K_M"
    said = words(app)
    assert "? probably not<small>0.14 GiB short</small>" in said
    assert "? probably<small>0.74 GiB to spare</small>" in said
