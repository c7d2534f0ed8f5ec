"""A model_type that nothing is known about: never less than the truth, or a refusal that names what is unknown."""

from typing import Any

import pytest

from planner.errors import UnsupportedModel
from planner.kv_cache import bytes_for, model_specs
from planner.readers.hf_config import read_config
from planner.weights import parameters
from tests.readers.knowledge import FORMATS, KNOWLEDGE
from tests.readers.test_class_totals import DATA
from tests.readers.test_hf_config import MODELS, config_of

BF16 = FORMATS["bf16"]
EXPERTS_OF_USUAL_WIDTH = ("minimax_m2", "mixtral")


@pytest.mark.parametrize("name", MODELS)
def test_renamed_model_costs_no_less_or_is_refused(name: str) -> None:
    known = read_config(config_of(name), KNOWLEDGE)
    try:
        bound = read_config({**config_of(name), "model_type": "renamed"}, KNOWLEDGE)
    except UnsupportedModel as refusal:
        assert "'renamed'" in str(refusal)
        return
    assert bound.assumed
    assert "'renamed' is not known" in bound.warnings[0]
    assert parameters(bound) >= parameters(known)
    for tokens in (1, 128, 8192, 131_072):
        specs, known_specs = (model_specs(model.layers, BF16, BF16) for model in (bound, known))
        assert bytes_for(specs, tokens) >= bytes_for(known_specs, tokens)


def _ids(case: dict[str, Any]) -> str:
    return str(case["config"]["model_type"])


@pytest.mark.parametrize("case", DATA["totals"], ids=_ids)
def test_a_class_by_another_name_costs_no_less_or_is_refused(case: dict[str, Any]) -> None:
    """The same for every class that the library's totals are known of, and for the text models inside wrappers."""
    config = dict(case["config"])
    if config["model_type"] in EXPERTS_OF_USUAL_WIDTH:
        del config["moe_intermediate_size"]  # these classes never look at it, and no published file has it
    known = read_config(config, KNOWLEDGE)
    renamed = {**config, "model_type": "renamed"}
    text = config.get("text_config")
    inside = {**config, "text_config": {**text, "model_type": "renamed"}} if text else renamed
    for changed in (renamed, inside):
        try:
            bound = read_config(changed, KNOWLEDGE)
        except UnsupportedModel as refusal:
            assert "'renamed'" in str(refusal)
            continue
        assert bound.assumed
        assert parameters(bound) >= parameters(known)
        for tokens in (1, 8192):
            specs, known_specs = (model_specs(model.layers, BF16, BF16) for model in (bound, known))
            assert bytes_for(specs, tokens) >= bytes_for(known_specs, tokens)


def test_bound_ignores_windows() -> None:
    """Full attention in all 32 layers: 8 key-value heads × 128 × 2 × 2 bytes each."""
    bound = read_config(
        {**config_of("mistralai/Mistral-7B-Instruct-v0.3"), "model_type": "new", "sliding_window": 1024}, KNOWLEDGE
    )
    assert bytes_for(model_specs(bound.layers, BF16, BF16), 8192) == 32 * 8 * 128 * 2 * 2 * 8192


def test_key_that_is_not_understood_is_named() -> None:
    config = {**config_of("meta-llama/Meta-Llama-3.1-8B"), "model_type": "new", "warp_factor": 9}
    with pytest.raises(UnsupportedModel, match=r"model_type 'new' is not known, and .* not understood: 'warp_factor'"):
        read_config(config, KNOWLEDGE)
