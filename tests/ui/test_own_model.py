"""A model of one's own: several files, Hugging Face on demand, a custom config in a form and in the address."""

import json
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from planner.errors import PlannerError
from planner.inputs.custom import to_text
from planner.presets import find_model, load_preset
from tests.readers import gguf_files
from tests.readers.gguf_files import BLOCK
from tests.readers.gguf_files import LLAMA as GGUF_LLAMA
from tests.ui.conftest import OpenApp, words
from tests.ui.test_own_config import LLAMA
from ui import own_config

PAGE = "ui/pages/own.py"
HALF = to_text({**find_model("llama-3.1-8b").config, "num_hidden_layers": 16})


def test_a_config_with_its_index(open_app: OpenApp) -> None:
    index = {"metadata": {"total_size": 16_060_522_496}, "weight_map": {"x": "model.safetensors"}}
    files = [("config.json", json.dumps(LLAMA)), ("model.safetensors.index.json", json.dumps(index))]
    app = open_app()
    app.file_uploader[0].set_value([(name, text.encode(), "application/json") for name, text in files]).run()
    assert "16,060,522,496 bytes, exactly what its config comes to" in words(app)
    assert "kvbudget plan --model config.json" in words(app)


def test_the_beginning_of_a_gguf_file(open_app: OpenApp) -> None:
    header, _ = gguf_files.header(*gguf_files.model("llama", 2, BLOCK, **GGUF_LLAMA))
    app = open_app()
    app.file_uploader[0].set_value([("tiny.gguf", header, "application/octet-stream")]).run()
    assert app.metric[3].value == "128 B"
    assert "kvbudget plan --model tiny.gguf" in words(app)


def test_a_link_carries_a_custom_config(open_app: OpenApp) -> None:
    app = open_app(custom=HALF, users="1")
    # 16 layers × 2 × 8 heads × 128 × 2 B
    assert app.metric[3].value == "65.5 kB"
    assert "**Your model**, a custom config, takes its place. A link to this page carries it." in words(app)
    app.selectbox(key="model").select("Qwen2.5-0.5B").run()
    assert app.metric[3].value == "12.3 kB"
    assert app.text_input(key="custom").value == ""


def test_a_link_with_a_custom_config_that_is_none(open_app: OpenApp) -> None:
    app = open_app(custom="{")
    assert "This link asked for **custom** = `{`, which is not possible; it is left out." in app.info[0].value
    assert "Yes, it fits" in app.title[0].value


def test_a_custom_config_that_is_typed_wrongly(open_app: OpenApp) -> None:
    app = open_app()
    app.text_input(key="custom").set_value('{"model_type":"llama"}').run()
    assert app.warning[0].value.endswith("The model is still the one chosen above.")
    assert "hidden_size" in app.warning[0].value


def test_the_form_begins_with_the_chosen_model(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="gemma-3-27b")
    assert app.number_input(key="own_num_hidden_layers").value == 62
    assert app.text_input(key="own_model_type").value == "gemma3_text"
    assert "52 of 62 layers look back 1,024: **508 kB** for each token at first." in words(app)


def test_the_form_says_which_towers_it_leaves_out(open_app: OpenApp) -> None:
    assert "Without vision of Qwen3.5-9B (" in words(open_app(PAGE, model="qwen3.5-9b"))


def test_the_form_answers_every_change(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    app.number_input(key="own_num_key_value_heads").set_value(2).run()
    # 32 layers × 2 × 2 heads × 128 × 2 B
    assert "16 heads share (GQA): **32.8 kB** for each token" in words(app)
    app.button(key="use_custom").click().run()
    assert app.title[0].value == "Your model: 7.83 billion parameters"
    assert json.loads(app.text_input(key="custom").value)["num_key_value_heads"] == 2


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_hidden_layers", 0),
        ("vocab_size", None),
        ("hidden_size", -1),
        ("num_key_value_heads", 5),
        ("num_attention_heads", 24),
    ],
)
def test_a_wrong_field_says_so_in_one_sentence(open_app: OpenApp, field: str, value: int | None) -> None:
    app = open_app(PAGE)
    app.number_input(key=f"own_{field}").set_value(value).run()
    said = [element.value for element in app.markdown if element.value.startswith(":orange[:material/edit:]")]
    assert len(said) == 2
    assert field in said[0]
    assert said[1] == f":orange[:material/edit:] One thing to correct: **{field}**."
    assert app.number_input(key=f"own_{field}").value == value
    assert not app.get("download_button")


def test_an_unknown_family_is_bounded(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    app.text_input(key="own_model_type").set_value("dragonfly").run()
    assert "**131 kB**" in words(app)
    assert any("dragonfly" in caption.value for caption in app.caption)


def test_what_was_typed_is_there_on_coming_back(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    app.number_input(key="own_num_hidden_layers").set_value(8).run()
    app.switch_page("ui/pages/plan.py").run()
    app.switch_page(PAGE).run()
    assert app.number_input(key="own_num_hidden_layers").value == 8


def test_hugging_face_is_asked_when_the_button_is_pressed(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool]] = []

    def load_model(name: str, online: bool = False):
        asked.append((name, online))
        return replace(load_preset("qwen2.5-0.5b"), name=name, title=name)

    monkeypatch.setattr(own_config, "load_model", load_model)
    app = open_app(PAGE)
    assert "Offline until you press." in words(app)
    app.text_input(key="hub_id").set_value("someone/new-model").run()
    assert asked == []
    app.button(key="read_hub").click().run()
    assert asked == [("someone/new-model", True)]
    assert app.title[0].value == "someone/new-model: 494 million parameters"
    app.switch_page("ui/pages/plan.py").run()
    assert "--model someone/new-model" in words(app)
    assert "--online" in words(app)


def test_a_model_of_the_list_needs_no_network(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_config, "load_model", lambda *_, **__: pytest.fail("asked"))
    app = open_app(PAGE)
    app.text_input(key="hub_id").set_value("Qwen/Qwen2.5-0.5B").run()
    app.button(key="read_hub").click().run()
    assert app.selectbox(key="model").value == "Qwen2.5-0.5B"


def test_what_hugging_face_refuses_is_one_sentence(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    def load_model(name: str, online: bool = False):
        raise PlannerError(f"{name} could not be read from Hugging Face: it answered 503.")

    monkeypatch.setattr(own_config, "load_model", load_model)
    app = open_app(PAGE)
    app.text_input(key="hub_id").set_value("someone/x").run()
    app.button(key="read_hub").click().run()
    assert not app.exception
    here, beneath_the_model = (warning.value for warning in app.warning)
    assert here.endswith("it answered 503.")  # on the page too: a phone folds the sidebar away
    assert beneath_the_model == f"{here} The model is still the one chosen above."


def test_quality_stands_beside_the_format(open_app: OpenApp) -> None:
    said = words(open_app(model="llama-3.1-8b", weights="q4_k_m", kv_cache="q4_0"))
    assert "**Weights in q4_k_m**" in said
    assert "**perplexity +2.4%** (6.383 instead of 6.232)" in said
    assert "Qwen3-8B-Base, cache in q4_0: **perplexity +2.2%**" in said
    assert "Perplexity holds for one tokenizer and one text" in said
    assert "Sources: https://github.com/ggml-org/llama.cpp/" in said
    unread = words(open_app(weights="nvfp4"))
    assert "**Weights in nvfp4**: no published reading is known here." in unread


def _type_model(app: AppTest, name: str) -> None:
    """What is typed is none of the options, which the test runner alone insists on."""
    field = app.selectbox(key="model")
    field.options.append(name)
    field.set_value(name).run()


def test_the_models_field_takes_what_it_is_called_elsewhere(open_app: OpenApp) -> None:
    app = open_app()
    _type_model(app, "https://huggingface.co/Qwen/Qwen3-8B")
    assert app.selectbox(key="model").value == "Qwen3-8B"
    _type_model(app, "gemma3:27b-it-q4_K_M")
    assert app.selectbox(key="model").value == "Gemma-3-27B"
    assert app.selectbox(key="weights_format").value == "q4_k_m"
    _type_model(app, "unsloth/Qwen3-8B-GGUF")
    assert app.selectbox(key="model").value == "Gemma-3-27B"
    assert "is a preset: “Model” qwen3-8b." in app.warning[0].value
    assert "Other ids are read under *From Hugging Face*." in app.warning[0].value
