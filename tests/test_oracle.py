"""Ten families against the library's own classes, shallow copies on the meta device: equal to the byte."""

from typing import Any

import pytest

from planner import presets
from planner.readers.hf_config import read_config

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.library import expected_s, families, library_reading
from tests.oracle import Verdict, compare, our_reading, presets_by_shape

LENGTHS = (1, 128, 4_096)
LAYERS = 8  # enough for every pattern below: a full layer after five sliding ones, dense layers before experts

MODELS = (
    "qwen2.5-0.5b",
    "llama-3.1-8b",
    "mistral-7b-v0.1",
    "mixtral-8x7b",
    "gemma-2-9b",
    "gemma-3-1b",
    "qwen3-8b",
    "qwen3-30b-a3b",
    "gpt-oss-20b",
    "deepseek-v3",
)

TINY = {
    "hidden_size": 256,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "intermediate_size": 512,
    "vocab_size": 100,
}


GPT = {"n_embd": 64, "n_layer": 2, "n_head": 2, "n_positions": 16, "vocab_size": 100}


def shallow(config: dict[str, Any]) -> dict[str, Any]:
    """*config* with only its first layers."""
    cut = {key: value[:LAYERS] if key == "layer_types" else value for key, value in config.items()}
    return cut | {"num_hidden_layers": min(LAYERS, config["num_hidden_layers"])}


@pytest.mark.parametrize("name", MODELS)
def test_parameters_and_cache_are_the_librarys(name: str) -> None:
    config = shallow(presets.find_model(name).published_config)
    architecture = read_config(config, presets.knowledge())
    assert our_reading(architecture, LENGTHS) == library_reading(config, LENGTHS)


@pytest.mark.parametrize(
    ("config", "verdict"),
    [
        (TINY | {"model_type": "recurrent_gemma"}, Verdict.EQUAL),  # its state is in its modules, not in a cache
        (GPT | {"model_type": "openai-gpt"}, Verdict.EXPLAINED),  # its class keeps nothing
        (TINY | {"model_type": "bart"}, Verdict.REFUSED),
        (
            TINY | {"model_type": "baichuan", "num_key_value_heads": 2},
            Verdict.EXPLAINED,
        ),  # a class of its own, with a Llama's tensors
        (TINY | {"model_type": "yuan"}, Verdict.UNKNOWN),  # a class of its own beside its weights
    ],
)
def test_a_line_says_how_a_config_compares(config: dict[str, Any], verdict: Verdict) -> None:
    assert compare(config, (1, 4)).verdict is verdict


def test_every_preset_whose_class_the_library_has_is_compared_once() -> None:
    """Presets of one shape stand together: none is left out, and none is counted twice."""
    shapes = presets_by_shape()
    names = [name for shape in shapes for name in shape]
    known = families()
    assert sorted(names) == sorted(p.name for p in presets.models() if p.config.get("model_type") in known)
    assert len(names) > 450
    assert len(shapes) < len(names)


def test_a_prompt_is_too_long_where_each_token_takes_its_time() -> None:
    """1 s for the first pass and 0.1 s a token: 4,096 tokens take 410 s more."""
    assert round(expected_s({1: 1.1, 128: 13.8}, 4_096)) == 411
    assert expected_s({1: 5.0}, 128) == 0.0


def test_an_unknown_version_is_refused() -> None:
    from planner.errors import PlannerError
    from planner.inputs.choices import Choices, choose

    with pytest.raises(PlannerError, match=r"'4\.40' is older than the rules of Hugging Face transformers"):
        choose(Choices(model="gemma-3-1b", memory="8GiB", engine="transformers", engine_version="4.40"))
