"""A file under another known family's name: refused where it has parts that the family lacks, else said."""

from functools import cache

import pytest

from planner import presets
from planner.architecture import Architecture
from planner.errors import PlannerError, UnsupportedModel
from planner.readers.hf_config import read_config
from planner.weights import parameters
from tests.readers.knowledge import KNOWLEDGE


@cache
def preset(name: str) -> Architecture:
    return presets.load_preset(name)


def renamed(name: str, model_type: str, **changes: object) -> dict[str, object]:
    return {**presets.find_model(name).config, "model_type": model_type, **changes}


@pytest.mark.parametrize(
    ("name", "model_type", "key"),
    [
        ("gpt-oss-120b", "llama", "num_local_experts"),
        ("mixtral-8x7b", "mistral", "num_local_experts"),
        ("deepseek-v3", "llama", "n_routed_experts"),
        ("phi-mini-moe", "phi3", "num_local_experts"),
        ("deepseek-v3", "glm4_moe", "kv_lora_rank"),
        ("qwen3-next-80b-a3b", "qwen3_moe", "linear_num_key_heads"),
    ],
)
def test_parts_that_the_named_family_lacks_are_refused(name: str, model_type: str, key: str) -> None:
    with pytest.raises(UnsupportedModel, match=rf"'{model_type}' has no .* the config has '{key}'"):
        read_config(renamed(name, model_type), KNOWLEDGE)


@pytest.mark.parametrize("model_type", ["llama", "mistral", "qwen2", "phi3", "gemma2"])
def test_a_mixture_read_as_a_dense_family_never_loses_its_experts(model_type: str) -> None:
    for entry in presets.models():
        if "_moe" not in str(entry.config.get("model_type")) or "text_config" in entry.config:
            continue
        try:
            found = read_config({**entry.config, "model_type": model_type}, KNOWLEDGE)
        except PlannerError:
            continue
        assert parameters(found) > 0.9 * parameters(preset(entry.name)), entry.name


def test_keys_of_zero_or_one_are_harmless_leftovers() -> None:
    config = renamed("llama-3.1-8b", "llama", num_local_experts=0, n_shared_experts=None, cross_attention_layers=[])
    assert read_config(config, KNOWLEDGE) == read_config(renamed("llama-3.1-8b", "llama"), KNOWLEDGE)


@pytest.mark.parametrize(
    ("model_type", "classes", "named"),
    [
        ("llama", ["Qwen3ForCausalLM"], "'qwen3'"),
        ("mistral", ["LlamaForCausalLM"], "'llama'"),
        ("llama", ["GptOssForCausalLM"], "'gpt_oss'"),
        ("llama", ["LlamaForCausalLM"], ""),
        ("llama", ["LlamaModel"], ""),
        ("llama", ["HouseOwnForCausalLM"], "none of model_type 'llama'"),
        ("llama", ["LlamaForCausalLMWithTower"], "none of model_type 'llama'"),
        ("llama", ["LlamaForSequenceClassification"], ""),
        ("llama", ["Llama" * 30], "none of model_type 'llama'"),
        ("llama", [3], ""),
        ("llama", "LlamaForCausalLM", ""),
        ("Yi", ["YiForCausalLM"], ""),
        ("Yi", ["LlamaForCausalLM"], ""),
    ],
)
def test_a_class_of_another_family_is_said(model_type: str, classes: object, named: str) -> None:
    found = read_config(renamed("llama-3.1-8b", model_type, architectures=classes, sliding_window=None), KNOWLEDGE)
    said = [warning for warning in found.warnings if "names the class" in warning]
    assert [named in sentence for sentence in said] == [True] * bool(named)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("minimax-m2.5", "(3 in the config)"),
        ("mimo-v2-flash", "does not describe them"),
        ("a.x-k1", "(1 in the config)"),
    ],
)
def test_prediction_layers_that_are_not_counted_are_said(name: str, said: str) -> None:
    found = preset(name)
    assert found.mtp_layers == ()
    assert [said in warning for warning in found.warnings if "multi-token prediction" in warning] == [True]


def test_prediction_layers_that_are_counted_need_no_word() -> None:
    assert preset("deepseek-v3").mtp_layers
    assert not any("multi-token" in warning for warning in preset("deepseek-v3").warnings)


def test_a_class_that_only_code_beside_the_weights_has_is_said_and_its_keys_are_understood() -> None:
    own = {"architectures": ["HouseOwnForCausalLM"], "auto_map": {"AutoModel": "modeling.HouseOwnForCausalLM"}}
    found = read_config(renamed("llama-3.1-8b", "llama", **own), KNOWLEDGE)
    assert [said for said in found.warnings if "HouseOwnForCausalLM, which is none of model_type 'llama'" in said]
    with pytest.raises(UnsupportedModel, match=r"'llama' has a class of its own here, and .* 'memory_slots'"):
        read_config(renamed("llama-3.1-8b", "llama", memory_slots=64, **own), KNOWLEDGE)


def test_code_that_has_another_class_than_the_file_names_is_said() -> None:
    own = {"architectures": ["LlamaForCausalLM"], "auto_map": {"AutoModelForCausalLM": "modeling.HouseOwnForCausalLM"}}
    found = read_config(renamed("llama-3.1-8b", "llama", **own), KNOWLEDGE)
    assert [said for said in found.warnings if "HouseOwnForCausalLM, which is none of model_type 'llama'" in said]


@pytest.mark.parametrize("classes", [["LlamaForCausalLM"], ["LlamaModel"], []])
def test_code_beside_the_weights_of_the_familys_own_class_needs_no_word(classes: list[str]) -> None:
    config = renamed("llama-3.1-8b", "llama", architectures=classes, auto_map={"AutoModel": "x.Y"}, memory_slots=64)
    assert not read_config(config, KNOWLEDGE).warnings
