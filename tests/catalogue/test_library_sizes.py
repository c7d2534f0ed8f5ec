"""What Ollama's own files hold beyond what llama-quantize makes: the sizes that its library states."""

import pytest

from planner.answers.answer import answer
from planner.gguf_mixes import as_stored
from planner.inputs.choices import Choices, choose
from planner.line_item import Kind
from planner.weights import model_bytes

STATED = {
    # An embedding for every layer in 16 bit (ollama#11207) and no towers; the mean of 7.5 GB is good to 0.7%.
    ("gemma-3n-e4b", "q4_k_m"): 7.5e9,
    ("gemma-3n-e4b", "q8_0"): 9.5e9,
    ("gemma-3n-e4b", "fp16"): 14e9,
    ("gemma-3n-e2b", "q4_k_m"): 5.6e9,
    # The embedding, which is the output as well, in q8_0.
    ("gemma-2b", "q4_0"): 1.7e9,
    ("gemma-2b", "q4_k_m"): 1.8e9,
    ("gemma-2b", "q6_k"): 2.2e9,
    # Every expert's last matrix in q6_k.
    ("qwen3-coder-next", "q4_k_m"): 52e9,
    # Values in 16 bit.
    ("qwen3-4b", "q4_k_m"): 2.6e9,
    ("qwen3-4b", "q8_0"): 4.4e9,
}


@pytest.mark.parametrize(("model", "weights"), STATED)
def test_a_file_of_the_library_is_as_large_as_it_says(model: str, weights: str) -> None:
    """github:auditomatic/ollama-models-registry@31464bb, two digits each: to 3%, tokenizer included."""
    chosen = choose(Choices(model=model, memory="1TiB", engine="ollama", weights=weights))
    scheme = chosen.deployment.weights
    stored = as_stored(chosen.architecture, scheme)
    assert model_bytes(stored.layers, stored.tensors, scheme) == pytest.approx(STATED[model, weights], rel=0.03)


def test_what_ollama_s_file_does_not_have_is_not_counted() -> None:
    chosen = choose(Choices(model="gemma-3n-e4b", memory="24GiB", engine="ollama", weights="q4_k_m"))
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    assert [item.name for item in found.items if item.kind is Kind.WEIGHTS] == ["weights"]
    assert "Ollama's file of Gemma-3n-E4B has its text model alone" in " ".join(found.warnings)
    other = choose(Choices(model="gemma-3n-e4b", memory="24GiB", engine="llama_cpp", weights="q4_k_m"))
    found = answer(other.architecture, other.deployment, other.workload)
    assert "vision tower" in [item.name for item in found.items]
