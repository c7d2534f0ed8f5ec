"""A reader's own config.json: in place of a model from the list, or one sentence about why not."""

import json

import pytest

from tests.ui.conftest import OpenApp, words

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


def upload(app, content: bytes, name: str = "config.json"):
    return app.file_uploader[0].set_value((name, content, "application/json")).run()


def test_an_own_config_is_planned_in_place_of_the_model(open_app: OpenApp) -> None:
    app = upload(open_app(), json.dumps(LLAMA).encode())
    assert not app.exception
    assert "Yes, it fits, with 3.18 GiB to spare" in app.title[0].value
    assert "**Your model**, your own file, takes its place." in words(app)
    app.button(key="forget_own").click().run()
    assert "your own file" not in words(app)


def test_choosing_a_model_from_the_list_drops_the_file(open_app: OpenApp) -> None:
    app = upload(open_app(), json.dumps(LLAMA | {"num_hidden_layers": 16}).encode())
    assert app.metric[3].value == "65.5 kB"
    app.selectbox(key="model").select("Qwen2.5-0.5B").run()
    assert app.metric[3].value == "12.3 kB"


def test_the_file_stays_on_the_other_page(open_app: OpenApp) -> None:
    app = upload(open_app(), json.dumps(LLAMA).encode())
    app.switch_page("ui/pages/tables.py").run()
    assert "Your model" in words(app)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"model_type": NaN}',
        b'{"hidden_size": Infinity, "model_type": "llama"}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        json.dumps(LLAMA | {"num_hidden_layers": -1}).encode(),
        json.dumps(LLAMA | {"num_hidden_layers": 10**9}).encode(),
        json.dumps(LLAMA | {"hidden_size": "wide"}).encode(),
        json.dumps({"model_type": "<script>alert(1)</script>"}).encode(),
    ],
)
def test_a_hostile_file_gets_one_sentence_and_nothing_is_lost(open_app: OpenApp, content: bytes) -> None:
    app = upload(open_app(model="7b-class", memory="16GiB", weights="int8", users="1"), content)
    assert not app.exception
    assert len(app.warning) == 1
    assert app.warning[0].value.endswith("The model is still the one chosen above.")
    assert app.metric[0].value == "65,378"


def test_a_file_name_is_no_markup(open_app: OpenApp) -> None:
    app = upload(open_app(), b"{", name="**[x](http://example.org)<b>.json")
    assert not set("*[]<>") & set(app.warning[0].value)
