"""The Speculation page: faster or slower, the map, what more users make of it, the context that it costs."""

import json

import pytest

from planner.cli import main
from planner.draft_trade import DraftWish, draft_points
from planner.inputs.choices import Choices
from planner.speed.draft_map import alone_map, over_users
from tests.speed.test_draft_map import DRAFTING
from tests.ui.conftest import OpenApp, words
from tests.ui.test_cache import alt_texts
from tests.ui.test_charts import values
from ui.charts.draft_map import FASTER, SLOWER, speculation_map
from ui.charts.drafts import trade_chart, users_chart

PAGE = "ui/pages/speculation.py"


def command(app) -> list[str]:
    return next(str(code.value) for code in app.code if "kvbudget speculate" in str(code.value)).split()


@pytest.mark.parametrize(
    ("acceptance", "tokens", "cost", "title"),
    [
        ("30", "8", "10", "Slower: 0.79 times the speed"),
        ("90", "8", "10", "Faster: 3.40 times the speed"),
        ("30", "4", "20", "Slower: 0.79 times the speed"),
    ],
)
def test_the_textbooks_three(open_app: OpenApp, acceptance: str, tokens: str, cost: str, title: str) -> None:
    app = open_app(PAGE, drafter="a stated cost", acceptance=acceptance, draft_tokens=tokens, draft_cost=cost)
    assert title in app.title[0].value


@pytest.mark.parametrize("drafter", ["EAGLE head", "n-gram", "a smaller model"])
def test_the_page_says_what_the_command_line_says(
    open_app: OpenApp, capsys: pytest.CaptureFixture[str], drafter: str
) -> None:
    app = open_app(PAGE, drafter=drafter, device="h100-sxm", users="16", acceptance="65")
    main([*command(app)[1:], "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert printed["users"] == 16
    assert app.metric[0].value == f"{printed['speedup']:.2f}"
    assert f"{printed['speedup']:.2f} times the speed" in app.title[0].value


def test_prediction_layers_are_offered_where_a_model_has_them(open_app: OpenApp) -> None:
    assert "MTP layers" not in open_app(PAGE).button_group(key="drafter").options
    link = {"model": "deepseek-v3", "device": "h200-sxm", "device_count": "8"}
    app = open_app(PAGE, drafter="MTP layers", **link)
    assert "--draft-model mtp" in " ".join(command(app))
    assert "--tensor-parallel 8" in " ".join(command(app))


def test_each_kind_starts_at_its_own_published_middle(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    assert app.slider(key="acceptance").value == 69
    app.button_group(key="drafter").set_value("n-gram").run()
    assert app.slider(key="acceptance").value == 42


def test_tokens_a_pass_from_a_log_say_the_acceptance(open_app: OpenApp) -> None:
    """1 + α = 1.6 with one drafted token."""
    app = open_app(PAGE, draft_tokens="1", pass_tokens="1.6")
    assert "an acceptance of **60%**, used here" in words(app)
    impossible = open_app(PAGE, draft_tokens="1", pass_tokens="2.6")
    assert "yields between 1 and 2 tokens, not 2.6" in words(impossible)
    assert impossible.metric[0].value == open_app(PAGE, draft_tokens="1").metric[0].value


def test_the_context_that_drafts_cost(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    assert "A draft's weights and cache come out of the same memory." in words(app)
    said = alt_texts(app)
    assert "no draft: 14,708 tokens, 1.00 times" in said
    assert "Llama-3.2-1B: " in said


def test_published_slow_downs_are_there(open_app: OpenApp) -> None:
    said = words(open_app(PAGE))
    assert "0.56 times" in said
    assert "0.66 times" in said
    assert "Medusa" in said


def test_a_card_of_unknown_bandwidth_leaves_the_plain_formula(open_app: OpenApp) -> None:
    assert "“How fast memory is read”, such as 80GB/s" in words(open_app(PAGE, memory="8GiB"))
    app = open_app(PAGE, memory="8GiB", drafter="a stated cost", acceptance="30", draft_tokens="8")
    assert "Slower: 0.79" in app.title[0].value
    assert "What many users make of it is not said." in words(app)


def test_a_draft_that_cannot_be_checked_is_the_title(open_app: OpenApp) -> None:
    app = open_app(PAGE, drafter="a smaller model", draft_model="Qwen3-0.6B")
    assert ":orange[:material/block:] Another vocabulary. If it were the same: " in app.title[0].value
    assert "cannot be checked token by token, and most engines refuse it" in words(app)
    assert "**EAGLE head** gives" in words(app)  # of those that can be


def test_a_tree_is_checked_whole_and_stands_in_the_command(open_app: OpenApp) -> None:
    chain, tree = open_app(PAGE), open_app(PAGE, verified_tokens="64")
    assert "checking a tree of 64" in words(tree)
    assert "checking them" in words(chain)
    assert "--verified-tokens 64" in tree.code[-1].value
    assert f"EAGLE head: 13,332 tokens, {tree.metric[0].value} times" in alt_texts(tree)
    assert float(tree.metric[0].value) < float(chain.metric[0].value)
    assert "3 is too few, a chain is taken" in words(open_app(PAGE, verified_tokens="3"))


def test_an_acceptance_that_is_no_share_is_named(open_app: OpenApp) -> None:
    assert "**acceptance** = `400`, which is not possible; it is back at 69." in words(open_app(PAGE, acceptance="400"))


def test_the_map_is_orange_below_1_and_blue_above() -> None:
    cells = alone_map(0.1, [0.3, 0.9], [1, 8])
    rows = {row["label"]: row for row in values(speculation_map(cells, 0.3, 8)) if "label" in row}
    assert set(rows) == {"1.18", "1.73", "0.79", "3.40"}
    red = {label: int(row["fill"][1:3], 16) - int(row["fill"][5:7], 16) for label, row in rows.items()}
    assert red["0.79"] > 0 > red["1.18"] > red["3.40"]
    assert (SLOWER[0], FASTER[0]) == ("#FBE6D6", "#E6F1FA")


def test_users_and_trade_are_drawn_with_their_own_points() -> None:
    points = over_users(DRAFTING, 0.6, 4, 128, (16, 100))
    assert "you, 16 users" in str(users_chart(points, 16, 100).to_dict())
    assert "memory full: 100" in str(users_chart(points, 16, 100).to_dict())
    choices = Choices(model="llama-3.1-8b", device="rtx-4090", users=4, context=8_192, overhead="1.5GiB")
    found = draft_points(choices, [DraftWish(name="llama-3.2-1b", acceptance=0.7, draft_tokens=4)], "vllm")
    rows = [row for row in values(trade_chart(found, 8_192)) if "draft" in row]
    assert [(row["draft"], row["fits"]) for row in rows] == [("no draft", True), ("Llama-3.2-1B", False)]
