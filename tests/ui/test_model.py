"""The Model page: what a model is, and where that is written."""

from tests.ui.conftest import OpenApp, words
from tests.ui.test_own_config import LLAMA, upload

PAGE = "ui/pages/model.py"


def test_totals_of_a_mixture(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="deepseek-v3")
    assert app.title[0].value == "DeepSeek-V3: 671 billion parameters, made for 163,840 tokens"
    parameters, active, weights, cost = app.metric
    assert parameters.delta == "671,026,419,200 exactly"
    assert active.delta == "6% of them"
    assert weights.label == "Weights in GiB"
    assert cost.delta == "70,272 B after 8,192"


def test_the_published_total_is_explained_term_by_term(open_app: OpenApp) -> None:
    said = words(open_app(PAGE, model="deepseek-v3"))
    # 671,026,419,200 + 13,463,426,304 + 41,540,496
    assert (
        "The published total is **684,531,386,000**: 671,026,419,200 loaded to answer, 13,463,426,304 not loaded "
        "(layers for multi-token prediction), 41,540,496 not loaded (scales of quantised blocks)." in said
    )
    assert "read on 2026-" in said
    exactly = words(open_app(PAGE, model="llama-3.1-8b"))
    assert "The publisher's files hold exactly these **8,030,261,248** parameters." in exactly
    assert "`meta-llama/Llama-3.1-8B-Instruct`" in exactly


def test_roles_and_layers(open_app: OpenApp) -> None:
    said = words(open_app(PAGE, model="gemma-3-27b"))
    assert '<td class="kv-text">Vision tower</td><td class="kv-num">417 M<small>416,866,032</small></td>' in said
    assert "sliding window of 1,024, two heads share (GQA)<small>until 1,024 tokens</small>" in said
    assert "kvbudget inspect gemma-3-27b" in said


def test_weights_follow_the_chosen_format(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="llama-3.1-8b", weights="q4_k_m")
    # 4.8944 bits each, as the published file has
    assert (app.metric[2].value, app.metric[2].delta) == ("4.58", "in q4_k_m")


def test_a_model_of_ones_own_has_nothing_published(open_app: OpenApp) -> None:
    import json

    app = upload(open_app(PAGE), json.dumps(LLAMA).encode())
    assert app.title[0].value == "Your model: 8.03 billion parameters, made for 131,072 tokens"
    assert "Nothing published to compare." in words(app)


def test_a_quantised_checkpoint_is_opened_by_its_id(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="nvidia/Qwen3.6-27B-NVFP4")
    assert "published in nvfp4" in words(app)
    assert not app.warning
