"""Keys that look like more layers or sizes and that a known family does not read: said, and said of nothing else."""

import pytest

from planner import presets
from planner.readers.hf_config import read_config
from tests.readers.knowledge import KNOWLEDGE

DENSE = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 100,
    "torch_dtype": "bfloat16",
}  # fmt: skip
UNREAD = {
    "mm_projector_type": "mlp2x_gelu", "value_head": True, "block_configs": [{}, {}], "intermediate_sizes": [256, 256],
    "hidden_sizes": [64, 64], "use_moe": True, "moe_intermediate_size": 768, "q_lora_rank": 512, "num_loops": 3,
    "per_layer_embedding_dim": 256, "num_extra_layers": 12, "num_decoder_layers": 64, "layer_repeat": 2,
    "padded_vocab_size": 200_000, "extra_vocab_size": 1000, "n_cross_layers": 4, "num_mem_tokens": 128, "lora_r": 64,
}  # fmt: skip
LEFTOVERS = {
    "num_heads": 4, "padded_vocab_size": 100, "num_extra_layers": 0, "use_moe": False, "value_head": None,
    "num_logits_to_keep": 8, "n_ctx": 4096, "rotary_dim": 8, "mup_denominator": 32,
}  # fmt: skip


def said(config: dict[str, object]) -> list[str]:
    return [text for text in read_config(config, KNOWLEDGE).warnings if "may add in layers" in text]


@pytest.mark.parametrize("key", UNREAD)
def test_a_key_that_may_add_to_the_count_is_named(key: str) -> None:
    (text,) = said({**DENSE, key: UNREAD[key]})
    assert text.startswith(f"The config has '{key}', which model_type 'qwen3' is not known to read")


@pytest.mark.parametrize("key", LEFTOVERS)
def test_what_is_off_or_another_name_for_a_size_needs_no_word(key: str) -> None:
    assert not said({**DENSE, key: LEFTOVERS[key]})


@pytest.mark.parametrize("key", ["mtp_num_layers", "num_mtp_layers", "num_nextn_predict_layers"])
def test_prediction_layers_are_said_in_every_spelling(key: str) -> None:
    assert any("multi-token prediction (3 in" in text for text in read_config({**DENSE, key: 3}, KNOWLEDGE).warnings)


@pytest.mark.parametrize("name", ["llama-3.1-8b", "nemotron-super-49b", "deepseek-v3", "qwen3-next-80b-a3b"])
def test_what_the_familys_own_files_have_needs_no_word(name: str) -> None:
    assert not said(dict(presets.find_model(name).config))
