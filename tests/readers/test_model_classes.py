"""A file whose model_type says nothing, read by the model class that it names."""

import pytest

from planner.errors import UnsupportedModel
from planner.readers.hf_config import read_config
from planner.weights import parameters
from tests.readers.knowledge import KNOWLEDGE
from tests.readers.test_hf_config import config_of

LLAMA = config_of("meta-llama/Meta-Llama-3.1-8B")
CLASS = {"architectures": ["LlamaForCausalLM"]}


def test_a_new_model_type_with_a_known_class_is_that_familys_and_says_so() -> None:
    found = read_config({**LLAMA, **CLASS, "model_type": "new", "warp_factor": 9}, KNOWLEDGE)
    assert parameters(found) == parameters(read_config(LLAMA, KNOWLEDGE))
    assert found.assumed
    assert found.warnings == ("model_type 'new' is not known: it is read as 'llama', whose class the file names.",)


def test_a_class_from_code_beside_the_weights_may_be_another_of_its_name() -> None:
    own = {**LLAMA, **CLASS, "model_type": "new", "auto_map": {"AutoModel": "modeling_new.LlamaForCausalLM"}}
    assert parameters(read_config(own, KNOWLEDGE)) == parameters(read_config(LLAMA, KNOWLEDGE))
    with pytest.raises(UnsupportedModel, match=r"'new' is not known, and .* not understood: 'warp_factor'"):
        read_config({**own, "warp_factor": 9}, KNOWLEDGE)


def test_a_part_that_the_class_lacks_is_refused() -> None:
    with pytest.raises(UnsupportedModel, match=r"'new' has no latent attention, but the config has 'kv_lora_rank'"):
        read_config({**LLAMA, **CLASS, "model_type": "new", "kv_lora_rank": 512}, KNOWLEDGE)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("LlamaForCausalLM", "llama"),
        ("Qwen3MoeForCausalLM", "qwen3_moe"),
        ("MiniCPM3ForCausalLM", "minicpm3"),
        ("QWenLMHeadModel", "qwen"),
        ("ChatGLMModel", "chatglm"),
        ("GPTNeoXForCausalLM", "gpt_neox"),
        ("GPTBigCodeForCausalLM", "gpt_bigcode"),
        ("RWForCausalLM", "falcon"),
        ("Grok1ModelForCausalLM", "grok-1"),
        ("Qwen3VLMoeForConditionalGeneration", "qwen3_vl_moe_text"),
        ("Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe_text"),
        ("Exaone4_5_ForConditionalGeneration", "exaone4_5_text"),
    ],
)
def test_a_file_without_a_model_type_has_that_of_its_class(name: str, family: str) -> None:
    """The class decides which keys are missing: nothing else is in the file."""
    with pytest.raises(UnsupportedModel) as caught:
        read_config({"architectures": [name]}, KNOWLEDGE)
    assert f"model_type {family!r}" in str(caught.value)
