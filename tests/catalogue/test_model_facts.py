"""A model's parameters by role, and its published total as a sum with named terms."""

import pytest

from planner.answers.answer import answer
from planner.catalogue.model_facts import published_sentence, published_terms, role_facts
from planner.inputs.choices import Choices, choose
from planner.presets import find_model, load_preset, models

SOME = ("llama-3.1-8b", "mixtral-8x7b", "deepseek-v3", "gemma-3-27b", "gpt-oss-120b", "qwen3-next-80b-a3b")


@pytest.mark.parametrize("model", SOME)
def test_roles_add_up_to_the_plan(model: str) -> None:
    """Loaded roles are the parameters and the bytes of weights that a plan counts."""
    for weights in (None, "int8", "q4_k_m"):
        chosen = choose(Choices(model=model, memory="1TiB", weights=weights))
        planned = answer(chosen.architecture, chosen.deployment, chosen.workload)
        loaded = [fact for fact in role_facts(chosen.architecture, chosen.deployment) if fact.loaded]
        assert sum(fact.parameters for fact in loaded) == planned.parameters
        assert sum(fact.bytes for fact in loaded) == planned.weights_bytes


def test_every_published_total_is_the_sum_of_named_terms() -> None:
    for preset in models():
        terms = published_terms(load_preset(preset.name), preset)
        if preset.published_parameters is not None and preset.family != "nominal":
            assert sum(term.parameters for term in terms) == preset.published_parameters, preset.name
            assert not any("_" in term.words for term in terms)


def test_what_a_stated_total_leaves_out_is_said() -> None:
    preset = next(preset for preset in models() if preset.also_published.get("routing_bias"))
    sentence = published_sentence(published_terms(load_preset(preset.name), preset), preset.published_parameters or 0)
    assert "that it leaves out (biases that choose the experts)" in sentence


def test_a_nominal_class_has_no_published_total() -> None:
    assert published_terms(load_preset("7b-class"), find_model("7b-class")) == ()
