"""Files of drafts for speculation are never read as the model whose type they name."""

import pytest

from planner.errors import UnsupportedModel
from planner.readers.hf_config import read_config
from tests.readers.knowledge import KNOWLEDGE

DENSE = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
    "torch_dtype": "bfloat16",
}  # fmt: skip
CLASSES = (
    *("LlamaForCausalLMEagle", "LlamaForCausalLMEagle3", "Eagle3LlamaForCausalLM", "EagleLlamaForCausalLM"),
    *("EagleMiniCPMForCausalLM", "Eagle3Speculator", "MedusaModel", "MLPSpeculatorPreTrainedModel"),
    *("EagleDeepSeekMTPModel", "DeepSeekMTPModel", "DeepseekV3ForCausalLMNextN", "PEagleDraftModel"),
    *("DFlashDraftModel", "DSparkDraftModel", "DominoDraftModel"),
)


@pytest.mark.parametrize("key", KNOWLEDGE.unknown_rules().drafts.keys)
def test_a_key_that_only_drafts_have_is_refused(key: str) -> None:
    with pytest.raises(
        UnsupportedModel, match=rf"a draft for speculation \(key '{key}'\).* --draft-model eagle or mtp"
    ):
        read_config({**DENSE, key: 32000}, KNOWLEDGE)
    read_config({**DENSE, key: None}, KNOWLEDGE)


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_of_drafts_is_refused_wherever_it_is_named(name: str) -> None:
    for classes in ([name], ["LlamaForCausalLM", name]):
        with pytest.raises(UnsupportedModel, match=rf"a draft for speculation \(class {name}\)"):
            read_config({**DENSE, "architectures": classes}, KNOWLEDGE)


@pytest.mark.parametrize("name", ["LlamaForCausalLM", "Eagle2_5_VLForConditionalGeneration", "EagleChatModel"])
def test_vision_models_of_a_like_name_are_no_drafts(name: str) -> None:
    read_config({**DENSE, "architectures": [name]}, KNOWLEDGE)


def test_a_decoder_that_attends_to_an_encoder_is_refused() -> None:
    with pytest.raises(UnsupportedModel, match="attends to an encoder here"):
        read_config({**DENSE, "add_cross_attention": True}, KNOWLEDGE)
    read_config({**DENSE, "add_cross_attention": False}, KNOWLEDGE)
