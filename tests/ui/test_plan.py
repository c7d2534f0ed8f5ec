"""The Plan page: the same figures as library and command line, and an answer to whatever is asked."""

import pytest

from tests.ui.conftest import OpenApp, words

OVERHEAD_GIB = 1.5


@pytest.mark.parametrize(
    ("model", "memory", "weights", "tokens"),
    [
        ("13b-class-mha", "8GiB", "int4-g128", "337"),
        ("13b-class-mha", "16GiB", "int8", "3,136"),
        ("7b-class", "16GiB", "int8", "65,378"),
        ("7b-class", "24GiB", "fp16", "77,508"),
        ("7b-class", "8GiB", "int4-g128", "25,710"),
    ],
)
def test_room_of_the_8_16_24_table(open_app: OpenApp, model: str, memory: str, weights: str, tokens: str) -> None:
    app = open_app(model=model, memory=memory, weights=weights, users="1")
    room, longest, _, cost = app.metric
    assert (room.value, longest.value) == (tokens, tokens)
    assert cost.value == {"13b-class-mha": "819 kB", "7b-class": "131 kB"}[model]


def test_llama_2_13b_with_every_parameter_quantised(open_app: OpenApp) -> None:
    link = {"model": "llama-2-13b", "memory": "8GiB", "weights": "int4-g128", "users": "1"}
    assert open_app(**link, quantize="all").metric[0].value == "327"
    assert "too big" in open_app(**link, quantize="linear").title[0].value


def test_loading_is_not_fitting(open_app: OpenApp) -> None:
    app = open_app(model="13b-class-mha", memory="8GiB", weights="int4-g128", context="2048", users="1")
    assert app.title[0].value == ":orange[:material/warning:] It loads, but only 337 tokens are left"
    assert ":orange[:material/warning:] **too tight**, room for 337 tokens" in words(app)
    assert "kvbudget plan --model 13b-class-mha --memory 8GiB --weights int4-g128 --context 2048" in words(app)


def test_the_first_page_is_a_plan_that_works(open_app: OpenApp) -> None:
    app = open_app()
    assert "Yes, it fits, with 3.18 GiB to spare" in app.title[0].value
    assert "weights bf16, as published" in app.caption[0].value


def test_a_checkpoint_in_32_bit_says_what_is_usual_until_it_is_chosen(open_app: OpenApp) -> None:
    stored = "stored in 32 bit; it is usually served in 16 bit"
    assert stored in words(open_app(model="gemma-2-9b"))
    assert stored not in words(open_app(model="gemma-2-9b", weights="bf16"))


def test_a_context_beyond_the_models_limit_is_planned_with_a_note(open_app: OpenApp) -> None:
    app = open_app(model="gemma-2-9b", weights="bf16", context="16384", users="1")
    assert "16,384 tokens are more than Gemma-2-9B was made for (8,192): the memory is counted" in words(app)
    assert app.title[0].value.endswith("to spare")


def test_the_items_show_their_arithmetic(open_app: OpenApp) -> None:
    said = words(open_app(model="gemma-3-27b", device="h100-sxm", users="1"))
    assert "52 × 2 (key and value) × 16 heads × 128 × 2 B × 1,024 tokens (the window is full)" in said
    assert "10 × 2 (key and value) × 16 heads × 128 × 2 B × 8,192 tokens" in said
    # 2 · 62 layers · 16 heads · (5,376 / 32) wide · 2 bytes · 8,192 tokens
    assert "one head count for all layers, says <b>5.09 GiB</b>: 4.93 times the real figure" in said


def test_trying_a_fix_makes_it_fit(open_app: OpenApp) -> None:
    app = open_app(model="13b-class-mha", memory="8GiB", weights="int4-g128", context="2048", users="1")
    assert "**A 10 GiB card**" in words(app)
    app.button(key="fix_0").click().run()
    assert app.text_input(key="memory").value == "10GiB"
    assert "Yes, it fits" in app.title[0].value
    assert not app.header[0].value.startswith("What would")


@pytest.mark.parametrize(
    ("example", "title"),
    [
        ("13B in 4 bit, 8 GiB card", "only 337 tokens are left"),
        ("7B in 8 bit, 16 GiB card", "Yes, it fits"),
        ("8B for 4 users, RTX 4090", "Yes, it fits, with 3.18 GiB to spare"),
    ],
)
def test_examples_set_everything(open_app: OpenApp, example: str, title: str) -> None:
    app = open_app(model="qwen3-8b", kv_cache="q4_0", device_count="2", quantize="all", overhead="")
    app.button_group(key="example").set_value(example).run()
    assert title in app.title[0].value
    assert not app.exception


@pytest.mark.parametrize(
    ("key", "value", "back_at"),
    [
        ("context", "0", "8,192"),
        ("context", "1000000000000", "8,192"),
        ("users", "-3", "4"),
        ("users", "NaN", "4"),
        ("model", "no-such-model", "Llama-3.1-8B"),
        ("device", "<b>x</b>", "GeForce RTX 4090"),
        ("memory", "lots", "8GiB"),
        ("weights", "int3.5", "as published"),
        ("kv_cache", "`", "16 bit"),
        ("quantize", "some", "usual"),
    ],
)
def test_a_link_with_an_impossible_value_says_so_once(open_app: OpenApp, key: str, value: str, back_at: str) -> None:
    app = open_app(**{key: value})
    assert len(app.info) == 1
    assert app.info[0].value.startswith(f"This link asked for **{key}** = `")
    assert app.info[0].value.endswith(f"which is not possible; it is back at {back_at}.")
    assert app.metric[0].value == "58,835"
    app.number_input(key="users").set_value(5).run()
    assert not app.info


@pytest.mark.parametrize(
    ("key", "typed", "sentence"),
    [
        ("memory", "a lot", "memory 'a lot' is not a size: write a number and a unit, such as 8GiB, 24GB or 512MiB."),
        ("memory", "0", "memory = 0 is not possible: give the size of one card, such as 8GiB."),
        ("overhead", "some", "overhead 'some' is not a size: write a number and a unit, such as 8GiB, 24GB or 512MiB."),
    ],
)
def test_what_was_typed_stays_and_the_page_says_what_to_change(
    open_app: OpenApp, key: str, typed: str, sentence: str
) -> None:
    app = open_app(model="7b-class", memory="16GiB", weights="int8")
    app.text_input(key=key).set_value(typed).run()
    assert not app.exception
    assert "One thing to correct first" in app.title[0].value
    assert sentence in [element.value for element in app.markdown]
    assert app.text_input(key=key).value == typed
    assert app.selectbox(key="model").value == "7B class (nominal)"


def test_other_formats_are_one_choice_away(open_app: OpenApp) -> None:
    app = open_app(model="7b-class", memory="8GiB", weights="q4_k", kv_cache="q5_1", users="1")
    assert app.button_group(key="weights").value == "other"
    assert app.selectbox(key="weights_format").value == "q4_k"
    assert app.button_group(key="kv_cache").value == "other"
    assert app.selectbox(key="kv_cache_format").value == "q5_1"
    assert "--weights q4_k --kv-cache q5_1" in words(app)


def test_gguf_file_types_are_weights_formats(open_app: OpenApp) -> None:
    app = open_app(model="llama-3.1-8b", weights="q4_k_m")
    assert "weights q4_k_m" in app.caption[0].value
    assert "4,912,898,048 B" in words(app)


def test_keys_and_values_apart_are_said_where_the_cache_is_chosen(open_app: OpenApp) -> None:
    app = open_app(kv_cache_v="q8_0")
    assert "Under *More*: values in q8_0." in words(app)
    assert "--kv-cache-v q8_0" in words(app)


def test_the_method_is_shown_with_its_examples_as_code(open_app: OpenApp) -> None:
    app = open_app(page="ui/pages/method.py")
    text = next(element.value for element in app.markdown if element.value.startswith("# Method"))
    blocks = text.split("```python\n")
    assert ">>>" not in blocks[0]
    assert blocks[1].startswith(">>> from planner.format_presets import")
    assert all(">>>" not in block.partition("```")[2] for block in blocks[1:])
