"""Every published model with a key changed: what makes it smaller is said, or the file is refused."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import pytest

from planner import presets
from planner.architecture import Architecture
from planner.errors import PlannerError
from planner.kv_cache import bytes_for, model_specs
from planner.readers.hf_config import read_config
from planner.weights import parameters
from tests.oracle import one_of_each
from tests.readers.knowledge import FORMATS, KNOWLEDGE
from tests.readers.test_missing_keys import SAID, replaced
from tests.readers.test_unknown import WRAPPED, renamed

BF16 = FORMATS["bf16"]
LENGTHS = (1, 128, 8_192, 131_072)
LEAST = 0.998
"""What a change may take from weights or cache unsaid: a fifth of a percent."""
OWN_WORDS = {
    ("llama", "head_dim"): "left out, heads share the hidden size, as in most files of the class",
    ("gemma4", "audio_config"): "null says that there is no such tower, as in the larger models' files",
    ("gemma4", "vision_config"): "null says that there is no such tower",
    ("gemma4_unified", "vision_config"): "null says that there is no such tower",
    ("youtu", "q_lora_rank"): "null says that queries are not compressed, as in DeepSeek-V2-Lite",
}
"""What a file says by leaving a key out, or by null."""


def sizes(model: Architecture) -> tuple[int, ...]:
    specs = model_specs(model.layers, BF16, BF16)
    return parameters(model), *(bytes_for(specs, tokens) for tokens in LENGTHS)


def untyped(config: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """*config* without the model_type of its text model."""
    for key in WRAPPED:
        if isinstance(config.get(key), dict):
            yield replaced(dict(config), f"{key}.model_type")


def places(config: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for key, value in config.items():
        if key not in ("model_type", "quantization_config"):
            yield f"{above}{key}"
            if isinstance(value, dict):
                yield from places(value, f"{above}{key}.")


def test_no_preset_of_another_model_type_costs_less() -> None:
    """One of each family: an upper bound that says so, or a refusal."""
    for preset in one_of_each():
        config = dict(preset.published_config)
        known = sizes(read_config(config, KNOWLEDGE))
        for changed in (*renamed(config), *untyped(config)):
            try:
                bound = read_config(changed, KNOWLEDGE)
            except PlannerError:
                continue
            assert all(more >= less for more, less in zip(sizes(bound), known, strict=True)), preset.name


@pytest.mark.parametrize(
    ("name", "key"),
    [
        *(("falcon2-11b", "tie_word_embeddings"), ("minicpm4-8b", "tie_word_embeddings")),
        *(("smolvlm-256m", "scale_factor"), ("laguna-xs.2", "num_attention_heads_per_layer")),
        ("kimi-k3", "text_config.mla_use_output_gate"),
    ],
)
def test_a_key_that_its_family_always_states_is_missed(name: str, key: str) -> None:
    config = deepcopy(dict(presets.find_model(name).published_config))
    said = read_config(replaced(config, key), KNOWLEDGE).warnings
    assert any(warning.startswith(SAID) and key.removeprefix("text_config.") in warning for warning in said)


@pytest.mark.slow
@pytest.mark.parametrize("preset", list(one_of_each()), ids=lambda preset: preset.name)
@pytest.mark.parametrize("instead", [(), (None,)], ids=["missing", "null"])
def test_no_missing_key_makes_a_published_model_smaller_unsaid(preset: Any, instead: tuple[None, ...]) -> None:
    config = deepcopy(dict(preset.published_config))
    model = read_config(config, KNOWLEDGE)
    for place in places(config):
        key = place.rpartition(".")[2]
        if (model.model_type, key) in OWN_WORDS:
            continue
        try:
            found = read_config(replaced(config, place, *instead), KNOWLEDGE)
        except PlannerError:
            continue
        is_said = set(found.warnings) - set(model.warnings)
        pairs = zip(sizes(found), sizes(model), strict=True)
        assert is_said or all(ours >= LEAST * theirs for ours, theirs in pairs), place
