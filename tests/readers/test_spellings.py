"""A refusal names a key as the file at hand writes it, and where: not by the name that the readers have for it."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from planner.errors import PlannerError, UnsupportedModel
from planner.readers.family import Family
from planner.readers.hf_config import read_config
from planner.readers.values import Values
from tests.readers.knowledge import KNOWLEDGE, NAMES, find_family
from tests.readers.test_class_totals import DATA
from tests.readers.test_hf_config import MODELS, config_of

FAMILIES: dict[str, Family] = {name: family for name in sorted(NAMES) if (family := find_family(name)) is not None}
ALIASED = [name for name, family in FAMILIES.items() if family.aliases]
CONFIGS: list[dict[str, Any]] = [config_of(name) for name in MODELS] + [case["config"] for case in DATA["totals"]]
ABSURD = {"warp": 9}


def nested(path: str, value: object) -> Any:
    """*value* at the dotted *path*, through lists where a part is a number."""
    first, _, rest = path.partition(".")
    inner = nested(rest, value) if rest else value
    return [None] * int(first) + [inner] if first.isdecimal() else {first: inner}


@pytest.mark.parametrize("name", ALIASED)
def test_every_spelling_is_named_with_its_place(name: str) -> None:
    family = FAMILIES[name]
    for key, spellings in family.aliases.items():
        for spelling in (*spellings, key):
            values = Values(nested(spelling, ABSURD), name, family.aliases, place="text_config")
            with pytest.raises(UnsupportedModel) as refusal:
                values.integer(key)
            assert f"key 'text_config.{spelling}' is an object of 1" in str(refusal.value)


@pytest.mark.parametrize("name", ALIASED)
def test_a_missing_key_is_named_by_the_familys_own_spelling_first(name: str) -> None:
    family = FAMILIES[name]
    for key, spellings in family.aliases.items():
        with pytest.raises(UnsupportedModel) as refusal:
            Values({}, name, family.aliases).integer(key)
        assert f": key '{spellings[0]}' or '" in str(refusal.value)
        assert str(refusal.value).endswith("is missing; add it to the config.")


def _aliased(config: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str, str]]:
    """*config* with one aliased key of its text model made absurd, the spelling there, and the key's usual name."""
    outer = FAMILIES.get(str(config.get("model_type")))
    place = [key for key in (outer.nested if outer else ()) if isinstance(config.get(key), dict)][:1]
    text = config[place[0]] if place else config
    family = FAMILIES.get(str(text.get("model_type")), outer)
    for key, spellings in (family.aliases if family else {}).items():
        found = [spelling for spelling in spellings if isinstance(text.get(spelling), int)]
        for spelling in found[:1]:
            changed = copy.deepcopy(dict(config))
            (changed[place[0]] if place else changed)[spelling] = ABSURD
            yield changed, ".".join([*place, spelling]), key


@pytest.mark.parametrize("index", range(len(CONFIGS)))
def test_refusal_of_an_absurd_value_names_the_key_as_written(index: int) -> None:
    for changed, written, usual in _aliased(CONFIGS[index]):
        try:
            read_config(changed, KNOWLEDGE)
        except PlannerError as refusal:
            assert f"'{written}'" in str(refusal), usual


def test_gpt2_without_layers_is_told_of_n_layer() -> None:
    config = {"model_type": "gpt2", "n_embd": 768, "n_head": 12, "vocab_size": 50257, "n_positions": 1024}
    with pytest.raises(UnsupportedModel, match="key 'n_layer' or 'num_hidden_layers' is missing"):
        read_config(config, KNOWLEDGE)


def test_a_key_from_around_the_text_model_is_named_where_it_stands() -> None:
    config = copy.deepcopy(next(config for config in CONFIGS if config.get("model_type") == "mllama"))
    config["vision_config"]["max_num_tiles"] = "four"
    with pytest.raises(UnsupportedModel, match=r"key 'vision_config.max_num_tiles' is 'four'"):
        read_config(config, KNOWLEDGE)


def test_settings_of_a_quantisation_are_named_by_their_place() -> None:
    quantization = {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 5, "type": "int"}}},
    }
    model = read_config(config_of("meta-llama/Meta-Llama-3.1-8B") | {"quantization_config": quantization}, KNOWLEDGE)
    assert "key 'config_groups.group_0.weights.num_bits' is 5" in model.warnings[-1]
