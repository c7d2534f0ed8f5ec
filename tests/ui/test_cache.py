"""The Cache page: one user's bytes by kind of attention, the crossing, shared tokens, layers, saved work."""

import pytest

from planner.cache_comparison import crossing
from planner.format_presets import formats
from planner.inputs.format_choices import choose_weights
from planner.multiply_accumulates import cache_arithmetic
from planner.presets import load_preset
from tests.ui.conftest import OpenApp, words
from tests.ui.test_charts import values
from ui.charts.cache import Bar, arithmetic_chart, crossing_chart, layer_bars, one_user_bars

PAGE = "ui/pages/cache.py"
BF16 = formats()["bf16"]


@pytest.mark.parametrize(
    ("model", "context", "title"),
    [
        ("llama-3.1-8b", "8192", "One user's 8,192 tokens take 1.00 GiB"),
        ("gemma-3-27b", "32768", "One user's 32,768 tokens take 2.91 GiB"),
        ("qwen2.5-0.5b", "295", "One user's 295 tokens take 3.46 MiB"),
        ("falcon-mamba-7b", "8192", "One user takes 35.00 MiB, and a longer text no more"),
    ],
)
def test_the_title_is_the_answer(open_app: OpenApp, model: str, context: str, title: str) -> None:
    assert open_app(PAGE, model=model, context=context).title[0].value == title


def test_every_kind_of_attention_is_beside_the_own_model(open_app: OpenApp) -> None:
    said = alt_texts(open_app(PAGE, model="qwen2.5-0.5b"))
    for label in (
        "Qwen2.5-0.5B, seven heads share (GQA): 96.00 MiB",
        "Llama-2-13B, every head keeps its own (MHA): 6.25 GiB",
        "Falcon-7B, all 71 heads share one (MQA): 64.00 MiB",
        "DeepSeek-V3, one compressed vector (MLA): 0.54 GiB",
        "Gemma-3-27B, 52 of 62 layers look back 1,024: 1.03 GiB",
        "Qwen3-Next-80B-A3B, 1 layer in 4 keeps every token: 0.26 GiB",
    ):
        assert label in said


def test_all_models_are_compared_in_the_chosen_cache_format(open_app: OpenApp) -> None:
    app = open_app(PAGE, kv_cache="fp8")
    assert app.title[0].value == "One user's 8,192 tokens take 0.50 GiB"
    assert any(header.value == "One user, 8,192 tokens, fp8" for header in app.header)
    # 40 layers × 2 × 40 heads × 128 × 1 B × 8,192
    assert "Llama-2-13B, every head keeps its own (MHA): 3.12 GiB" in alt_texts(app)


def test_names_of_a_link_that_are_not_known_are_said(open_app: OpenApp) -> None:
    app = open_app(PAGE, compared=["Llama-3.1-8B", "no-such-model"])
    assert "This link asked for **compared** = `no-such-model`, which is not known; it is left out." in words(app)
    assert app.multiselect(key="compared").value == ["Llama-3.1-8B"]


def test_other_heads_cost_other_multiples(open_app: OpenApp) -> None:
    said = words(open_app(PAGE, model="qwen2.5-0.5b"))
    assert "**7 times**: every head keeps its own (MHA)" in said
    assert "**0.5 times**: all 14 heads share one (MQA)" in said


def test_a_latent_vector_has_no_heads_to_share(open_app: OpenApp) -> None:
    said = words(open_app(PAGE, model="deepseek-v3", device="b200", weights="checkpoint"))
    assert "has no heads with keys and values of their own" in said


def test_the_crossing(open_app: OpenApp) -> None:
    said = words(open_app(PAGE, model="7b-class", weights="fp16"))
    assert "From **106,812 tokens** on, one user's cache is bigger than all of" in said
    beyond = words(open_app(PAGE, model="gemma-3-27b"))
    assert "One user cannot get there: the model was made for 131,072." in beyond
    assert "Never: one user's cache stays below" in words(open_app(PAGE, model="falcon-mamba-7b"))


def test_the_same_tokens_cost_the_same(open_app: OpenApp) -> None:
    said = words(open_app(PAGE))
    assert (
        "Qwen2.5-0.5B: 32 × 2,048, 64 × 1,024 and 128 × 512 all hold 65,536 tokens, "
        "and all cost **0.75 GiB (768 MiB)**." in said
    )
    assert "cost from **18.00 GiB** to **31.00 GiB**" in words(open_app(PAGE, model="gemma-3-27b"))


def test_layer_by_layer(open_app: OpenApp) -> None:
    said = words(open_app(PAGE, model="gemma-3-27b"))
    assert "52 layers<small>0 – 4, 6 – 10, …, 60 – 61</small>" in said
    assert "10 layers<small>every 6th, 5 – 59</small>" in said


def test_the_work_that_a_cache_saves(open_app: OpenApp) -> None:
    said = words(open_app(PAGE, context="4096"))
    # (2 · 4,096 + 1) / 3; 4 · 4,096² and 4 · 4,096 bytes
    assert "At 4,096 tokens that is **2,731 times** the work" in said
    assert "take 67.1 MB instead of 16.4 kB" in said


def test_the_command_stands_on_the_page(open_app: OpenApp) -> None:
    said = words(open_app(PAGE, model="qwen2.5-0.5b", context="512", kv_cache="fp8"))
    assert "kvbudget cache qwen2.5-0.5b --context 512 --kv-cache fp8" in said


def test_the_models_to_compare_are_chosen(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    app.multiselect(key="compared").set_value(["Qwen2.5-0.5B", "Llama-3.1-8B"]).run()
    assert not app.exception
    assert alt_texts(app).count("Llama-3.1-8B, four heads share (GQA)") == 1
    assert "Qwen2.5-0.5B, seven heads share (GQA): 96.00 MiB" in alt_texts(app)


def test_bars_share_a_scale_from_0_and_name_the_own() -> None:
    rows = values(one_user_bars([Bar(label="a", bytes=2**30), Bar(label="b", bytes=2**29, is_asked=True)]))
    assert [(row["label"], row["size"], row["from"], row["to"]) for row in rows] == [
        ("a", "1.00 GiB", 0, 2**30),
        ("b ◂ yours", "0.50 GiB", 0, 2**29),
    ]


def test_the_crossing_is_marked_where_the_lines_meet() -> None:
    architecture = load_preset("7b-class")
    found = crossing(architecture, choose_weights("fp16", None, architecture), BF16, BF16)
    chart = crossing_chart(found, architecture.max_position_embeddings, 131_072)
    mark = next(row for row in values(chart) if row.get("tokens") == 106_812 and "size" not in row)
    assert mark["gib"] == pytest.approx(14e9 / 2**30)
    assert "from 106,812 tokens the cache is bigger" in str(chart.to_dict())


def test_layers_that_grow_are_told_from_those_that_do_not() -> None:
    from planner.answers.layer_kinds import layer_kinds

    rows = [row for row in values(layer_bars(layer_kinds(load_preset("gemma-3-27b"), BF16, BF16, 8_192))) if row]
    assert [row["layer"] for row in rows if row["growth"] == "grows"] == [5, 11, 17, 23, 29, 35, 41, 47, 53, 59]
    assert {row["mib"] for row in rows} == {8, 64}


def test_work_is_drawn_with_its_ratio() -> None:
    rows = values(arithmetic_chart([cache_arithmetic(n) for n in (16, 64, 4_096)], 4_096))
    last = next(row for row in rows if row["tokens"] == 4_096)
    assert (last["cached"], last["times"]) == (64 * 4_096 * 4_097, "2,731 times")


def test_the_work_is_that_of_a_head_of_the_chosen_model(open_app: OpenApp) -> None:
    """128 wide in Llama-3.1-8B; DeepSeek's are compressed, so that the usual width stands for them."""
    for model, width in (("llama-3.1-8b", 128), ("deepseek-v3", 64)):
        app = open_app("ui/pages/cache.py", model=model, context="4096")
        assert f"{width} wide" in words(app)
        assert f"kvbudget arithmetic --tokens 4096 --head-dim {width}" in app.code[-1].value
        assert "67.1 MB instead of 16.4 kB" in words(app)


def alt_texts(app) -> str:
    return "\n".join(chart.proto.alt for chart in app.get("vega_lite_chart"))
