"""Everything that the command line plans can be planned in the app: splits, unequal cards, a screen, drafts."""

import pytest

from planner.answers.answer import answer
from planner.inputs.choices import Choices, choose
from tests.ui.conftest import OpenApp, words
from ui import form
from ui.address import in_address

PLANS = {
    "splits": Choices(
        model="qwen3-235b-a22b",
        device="h100-sxm",
        engine="vllm",
        tensor_parallel=2,
        pipeline_parallel=2,
        data_parallel=2,
        expert_parallel=4,
        replicas=2,
        context=8_192,
        users=4,
    ),
    "unequal": Choices(
        model="llama-3.1-8b", devices="rtx-4090,rtx-3060", engine="llama_cpp", weights="q8_0", context=8_192, users=4
    ),
    "display": Choices(model="llama-3.1-8b", device="rtx-4090", engine="vllm", display=True, context=8_192, users=4),
    "draft": Choices(
        model="llama-3.1-8b",
        device="rtx-4090",
        engine="vllm",
        draft_model="llama-3.2-1b",
        draft_tokens=5,
        draft_weights="fp8",
        context=8_192,
        users=4,
    ),
    "ngram": Choices(
        model="llama-3.1-8b",
        device="rtx-4090",
        engine="sglang",
        draft_model="ngram",
        draft_tokens=3,
        context=8_192,
        users=4,
    ),
}
PAGES = ("plan", "tables", "which", "cache", "speed", "batching", "speculation", "cost", "model")


def link(choices: Choices) -> dict[str, str]:
    usual = form.defaults(choices.engine)
    return {key: in_address(value) for key, value in form.to_state(choices).items() if value != usual[key]}


@pytest.mark.parametrize("name", PLANS)
def test_a_link_gives_the_plan_and_the_same_command(open_app: OpenApp, name: str) -> None:
    choices = PLANS[name]
    app = open_app(**link(choices))
    assert not app.exception
    assert not app.info
    chosen = choose(choices)
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    assert app.code[-1].value == choices.command()
    for item in found.items:
        assert f"{item.bytes / 2**30:.2f}" in words(app)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", ["splits", "unequal", "draft"])
def test_every_page_opens_with_such_a_plan(open_app: OpenApp, page: str, name: str) -> None:
    app = open_app(f"ui/pages/{page}.py", **link(PLANS[name]))
    assert not app.exception
    assert app.title[0].value


def test_what_joins_the_cards_counts_where_they_share_layers(open_app: OpenApp) -> None:
    linked = {"device": "h100-sxm", "tensor_parallel": "2", "interconnect": "pcie4-x8"}
    app = open_app("ui/pages/speed.py", **linked)
    assert "--interconnect pcie4-x8" in app.code[-1].value
    slower = app.title[0].value
    assert app.selectbox(key="interconnect").value == "pcie4-x8"
    app.selectbox(key="interconnect").set_value("usual").run()
    assert not app.exception
    assert "--interconnect" not in app.code[-1].value
    assert app.title[0].value != slower


def test_what_joins_one_card_to_others_is_not_asked(open_app: OpenApp) -> None:
    app = open_app("ui/pages/speed.py", interconnect="pcie4-x8")
    assert "interconnect" not in [box.key for box in app.selectbox]
    assert "--interconnect" not in app.code[-1].value


def test_the_number_of_cards_follows_the_splits(open_app: OpenApp) -> None:
    app = open_app(engine="vllm")
    app.number_input(key="tensor_parallel").set_value(2).run()
    app.number_input(key="replicas").set_value(3).run()
    assert app.number_input(key="device_count").disabled
    assert "Under *Advanced*: 6 cards." in words(app)
    assert "--tensor-parallel 2 --replicas 3" in app.code[-1].value
    assert open_app(engine="vllm", tensor_parallel="2").number_input(key="device_count").disabled
    app.text_input(key="devices").set_value("rtx-4090, nothing").run()
    assert "'nothing' is not known" in words(app)


def test_a_draft_has_its_fields_only_when_there_is_one(open_app: OpenApp) -> None:
    app = open_app(engine="vllm")
    keys = [widget.key for widget in (*app.number_input, *app.selectbox)]
    assert "draft_pass" not in keys
    app.selectbox(key="draft").select("ngram").run()
    app.number_input(key="draft_pass").set_value(3).run()
    assert "--draft-model ngram --draft-tokens 3" in app.code[-1].value
    assert '"method": "ngram", "num_speculative_tokens": 3' in app.code[0].value
    app.selectbox(key="draft").select("Llama-3.2-1B").run()
    app.selectbox(key="draft_weights").select("fp8").run()
    assert "--draft-model llama-3.2-1b --draft-tokens 3 --draft-weights fp8" in app.code[-1].value


def test_a_screen_is_counted_where_the_engine_counts_what_is_used(open_app: OpenApp) -> None:
    app = open_app(engine="llama_cpp", weights="q4_k_m")
    before = words(app)
    app.toggle(key="display").set_value(True).run()
    assert "Desktop" in words(app)
    assert "Desktop" not in before
    assert "--display" in app.code[-1].value
