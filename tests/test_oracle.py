"""Ten families against the library's own classes, shallow copies on the meta device: equal to the byte."""

from typing import Any

import pytest

from planner import presets
from planner.readers.hf_config import read_config

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.oracle import library_reading, our_reading

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


def shallow(config: dict[str, Any]) -> dict[str, Any]:
    """*config* with only its first layers."""
    cut = {key: value[:LAYERS] if key == "layer_types" else value for key, value in config.items()}
    return cut | {"num_hidden_layers": min(LAYERS, config["num_hidden_layers"])}


@pytest.mark.parametrize("name", MODELS)
def test_parameters_and_cache_are_the_librarys(name: str) -> None:
    config = shallow(presets.find_model(name).published_config)
    architecture = read_config(config, presets.knowledge())
    assert our_reading(architecture, LENGTHS) == library_reading(config, LENGTHS)


def test_an_unknown_version_is_refused() -> None:
    from planner.choices import Choices, choose
    from planner.errors import PlannerError

    with pytest.raises(PlannerError, match=r"'4\.40' is older than the rules of Hugging Face transformers"):
        choose(Choices(model="gemma-3-1b", memory="8GiB", engine="transformers", engine_version="4.40"))
