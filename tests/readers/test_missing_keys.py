"""A key that a file leaves out is what its class takes for it, or the file is refused: never less than the class."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import pytest

from planner.errors import PlannerError
from planner.readers.hf_config import read_config
from planner.weights import parameters
from tests.class_totals import CLASS_TOTALS
from tests.oracle import our_reading
from tests.readers.knowledge import KNOWLEDGE

TOKENS = 4_096
SAID = "Not in the file and taken from the class's defaults: "
CASES: list[dict[str, Any]] = [
    case["config"] for case in json.loads(CLASS_TOTALS.read_text(encoding="utf-8"))["totals"]
]
BY_FAMILY = {config["model_type"]: config for config in CASES}

# From the configuration classes of transformers 5.24. Text keys of wrappers stand in text_config.
FILLED = {
    ("axk1", "n_shared_experts"): 1,
    ("chameleon", "num_key_value_heads"): 32,
    ("dots1", "num_key_value_heads"): 32,
    ("deepseek_v2", "n_shared_experts"): 2,
    ("deepseek_v3", "n_shared_experts"): 1,
    ("deepseek_v32", "n_shared_experts"): 1,
    ("deepseek_v32", "index_head_dim"): 128,
    ("exaone_moe", "num_shared_experts"): 1,
    ("flint", "shared_expert_intermediate_size"): 1024,
    ("gemma2", "num_key_value_heads"): 4,
    ("glm4_moe", "n_shared_experts"): 1,
    ("glm_moe_dsa", "n_shared_experts"): 1,
    ("glm_moe_dsa", "index_head_dim"): 128,
    ("gpt_oss", "head_dim"): 64,
    ("helium", "num_key_value_heads"): 20,
    ("hy_v4_vl", "text_config.q_lora_rank"): 2048,
    ("kolibri1", "shared_expert_intermediate_size"): 512,
    ("laguna", "shared_expert_intermediate_size"): 512,
    ("ministral", "num_key_value_heads"): 8,
    ("mistral4", "n_shared_experts"): 1,
    ("mllama", "text_config.cross_attention_layers"): [3, 8, 13, 18, 23, 28, 33, 38],
    ("nemotron_h", "moe_shared_expert_intermediate_size"): 7688,
    ("phi4_multimodal", "num_key_value_heads"): 8,
    ("qwen2_moe", "shared_expert_intermediate_size"): 5632,
    ("qwen3_vl", "vision_config.deepstack_visual_indexes"): [8, 16, 24],
    ("qwen3_vl_moe", "text_config.num_key_value_heads"): 16,
    ("sarvam_mla", "n_shared_experts"): 1,
    ("sarvam_moe", "head_dim"): 64,
    ("solar_open", "n_shared_experts"): 1,
    ("step3p7", "text_config.num_key_value_heads"): 8,
}
# Published files leave it out and have no such head.
KNOWN_BETTER = {(family, "vision_config.vision_use_head") for family in ("aya_vision", "paligemma")}


def reading(config: Mapping[str, Any]) -> tuple[tuple[int, int], tuple[str, ...]]:
    """Parameters and the cache's bytes, and what is said of them but for whose values they are."""
    architecture = read_config(config, KNOWLEDGE)
    cache = our_reading(architecture, (TOKENS,)).cache_bytes[TOKENS]
    return (parameters(architecture), cache), tuple(said for said in architecture.warnings if not said.startswith(SAID))


def table_at(config: dict[str, Any], place: str) -> tuple[dict[str, Any], str]:
    """The table in *config* that *place*, keys with dots between them, ends in, and its last key."""
    *path, key = place.split(".")
    for step in path:
        config = config[step]
    return config, key


def replaced(config: dict[str, Any], place: str, *value: object) -> dict[str, Any]:
    """*config* with *value* at *place*, or without that key."""
    changed = deepcopy(config)
    table, key = table_at(changed, place)
    table.pop(key, None)
    table.update(zip([key], value, strict=False))
    return changed


@pytest.mark.parametrize(("family", "place"), FILLED, ids="-".join)
def test_a_missing_key_is_the_classs_own_value(family: str, place: str) -> None:
    config = BY_FAMILY[family]
    assert reading(replaced(config, place)) == reading(replaced(config, place, FILLED[family, place]))


def places(config: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for key, value in config.items():
        if isinstance(value, dict) and key.endswith("config"):
            yield from places(value, f"{above}{key}.")
        elif key != "model_type" and not isinstance(value, dict):
            yield f"{above}{key}"


def own_keys_only(config: dict[str, Any]) -> dict[str, Any]:
    """*config* without the keys that its classes do not have: they would never leave them out."""
    from transformers import AutoConfig

    built = AutoConfig.for_model(**deepcopy(config))
    for place in list(places(config)):
        owner: Any = built
        for step in place.split(".")[:-1]:
            owner = getattr(owner, step)
        usual = type(owner)()
        if place.rpartition(".")[2] not in {*usual.to_dict(), *getattr(usual, "attribute_map", {})}:
            config = replaced(config, place)
    return config


def filled_in(config: dict[str, Any], place: str) -> object:
    """What the class of *config* has at *place*."""
    from transformers import AutoConfig

    found: Any = AutoConfig.for_model(**deepcopy(config))
    for step in place.split("."):
        found = getattr(found, step)
    return json.loads(json.dumps(found, default=str))


@pytest.mark.slow
@pytest.mark.parametrize("config", CASES, ids=lambda config: str(config["model_type"]))
@pytest.mark.parametrize("instead", [(), (None,)], ids=["missing", "null"])
def test_no_missing_key_makes_a_model_smaller_than_its_class(config: dict[str, Any], instead: tuple[None, ...]) -> None:
    pytest.importorskip("transformers")
    try:
        config = own_keys_only(config)
    except Exception:  # a class that cannot be built from its own keys, in as many ways as there are classes
        pytest.skip("the class cannot be built from this config")
    smaller = {}
    for place in places(config):
        without = replaced(config, place, *instead)
        try:
            found, said = reading(without)
        except PlannerError:
            continue
        try:
            value = filled_in(without, place)
        except Exception:  # the library refuses the file, in many ways
            continue
        try:
            expected, usual = reading(replaced(config, place, value))
        except PlannerError:
            continue
        if set(said) <= set(usual) and any(ours < theirs for ours, theirs in zip(found, expected, strict=True)):
            smaller[config["model_type"], place] = (found, expected)
    assert smaller.keys() <= KNOWN_BETTER, smaller
