"""A model_type that nothing is known about: never less than the truth, or a refusal that names what is unknown."""

from collections.abc import Iterator
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
CONFIGS: list[dict[str, Any]] = [config_of(name) for name in MODELS] + [case["config"] for case in DATA["totals"]]
WRAPPED = ("text_config", "llm_config", "language_config")
DECOYS: dict[str, object] = {
    "num_experts": 2,
    "num_local_experts": 2,
    "n_routed_experts": 2,
    "moe_num_experts": 2,
    "moe_intermediate_size": 8,
    "n_shared_experts": 1,
    "shared_expert_intermediate_size": 1,
    "first_k_dense_replace": 1000,
    "mlp_only_layers": list(range(500)),
    "mlp_layer_types": ["dense"],
    "decoder_sparse_step": 1000,
    "moe_layer_freq": 1000,
    "n_layer": 1,
    "n_embd": 1,
}
"""Keys that a class may not look at, with values that would make the model small."""


def renamed(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """*config* with another model_type: of the file, of the text model inside it, and of both."""
    yield {**config, "model_type": "renamed"}
    for key in WRAPPED:
        if isinstance(config.get(key), dict):
            inside = {**config, key: {**config[key], "model_type": "renamed"}}
            yield inside
            yield {**inside, "model_type": "renamed"}


def with_decoys(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """*config*, and it with one decoy each that its text model does not have, unless its class is known to read it."""
    yield config
    place = next((key for key in WRAPPED if isinstance(config.get(key), dict)), None)
    text = config if place is None else config[place]
    if text.get("model_type") != "renamed":
        return
    for key, value in DECOYS.items():
        if key not in text:
            more = {**text, key: value}
            yield more if place is None else {**config, place: more}


@pytest.mark.parametrize("index", range(len(CONFIGS)))
def test_renamed_model_costs_no_less_or_is_refused(index: int) -> None:
    """For every published file and class, also where the file has a key that its class never reads."""
    known = read_config(CONFIGS[index], KNOWLEDGE)
    for changed in (decoyed for config in renamed(CONFIGS[index]) for decoyed in with_decoys(config)):
        try:
            bound = read_config(changed, KNOWLEDGE)
        except UnsupportedModel as refusal:
            assert "'renamed'" in str(refusal) or "is missing; add it" in str(refusal)
            continue
        assert bound.assumed
        assert "'renamed' is not known" in bound.warnings[0]
        assert parameters(bound) >= parameters(known)
        for tokens in (1, 128, 8192, 131_072):
            specs, known_specs = (model_specs(model.layers, BF16, BF16) for model in (bound, known))
            assert bytes_for(specs, tokens) >= bytes_for(known_specs, tokens)


def test_the_larger_of_two_widths_is_that_of_an_expert() -> None:
    """A mixture whose file has both: 8 experts of 3 × 64 × 512 and not of 3 × 64 × 8."""
    config = {
        "model_type": "new",
        "hidden_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "vocab_size": 100,
        "intermediate_size": 512,
        "moe_intermediate_size": 8,
        "num_local_experts": 8,
        "n_routed_experts": 2,
        "num_experts_per_tok": 2,
        "rope_theta": 1e4,
    }
    bound = read_config(config, KNOWLEDGE)
    experts = [tensor for tensor in bound.layers[0].tensors if tensor.name == "mlp.experts.gate_proj.weight"]
    assert [(tensor.count, tensor.rows, tensor.columns) for tensor in experts] == [(8, 512, 64)]
    assert bound.warnings[0].endswith("and the larger of two figures for one thing.")


def test_two_numbers_of_heads_are_refused() -> None:
    """More heads make each narrower, so that neither number bounds the cache."""
    config = {**config_of("meta-llama/Meta-Llama-3.1-8B"), "model_type": "new", "n_head": 4}
    with pytest.raises(UnsupportedModel, match=r"key 'n_head' is 32; it must be 4 as well, or given once"):
        read_config(config, KNOWLEDGE)


def test_a_text_model_two_levels_down_is_found() -> None:
    text = config_of("meta-llama/Meta-Llama-3.1-8B")
    model = read_config({"model_type": "new_omni", "thinker_config": {"text_config": text}}, KNOWLEDGE)
    assert model.warnings[0].endswith("its text model is planned as it stands in thinker_config.text_config.")


def test_a_head_is_tied_only_if_text_and_unknown_wrapper_both_say_so() -> None:
    text = {**config_of("meta-llama/Meta-Llama-3.1-8B"), "tie_word_embeddings": True}
    tied, untied = (
        parameters(read_config({"model_type": "new_vl", "text_config": text, **outside}, KNOWLEDGE))
        for outside in ({}, {"tie_word_embeddings": False})
    )
    assert untied - tied == 128_256 * 4096


@pytest.mark.parametrize(
    ("outer", "inner", "text", "tied"),
    [
        ({}, {}, True, False),
        ({}, {"tie_word_embeddings": True}, False, True),
        ({"tie_word_embeddings": True}, {"tie_word_embeddings": False}, True, False),
        ({"tie_word_embeddings": True}, {}, False, True),
    ],
)
def test_of_two_wrappers_the_inner_one_ties_the_head(
    outer: dict[str, Any], inner: dict[str, Any], text: bool, tied: bool
) -> None:
    """Qwen2.5-Omni: the class that writes is made of ``thinker_config``, which ties nothing unless it says so."""
    model = {**config_of("Qwen/Qwen2.5-7B-Instruct"), "model_type": "qwen2_5_omni_text", "tie_word_embeddings": text}
    config = {"model_type": "qwen2_5_omni", "thinker_config": {"text_config": model, **inner}, **outer}
    assert any(tensor.name == "lm_head.weight" for tensor in read_config(config, KNOWLEDGE).tensors) is not tied


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
