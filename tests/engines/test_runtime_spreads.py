"""What no rule gives exactly is a range of its own on every card and under every engine, never one flat reserve."""

import pytest

from planner.answer import answer
from planner.choices import Choices, choose
from planner.line_item import Basis, Kind

ENGINES = ("vllm", "sglang", "tensorrt_llm", "lmdeploy", "llama_cpp", "ik_llama_cpp", "ollama", "transformers")
CARDS = ("rtx-4090", "h100-sxm", "mi300x", "arc-pro-b60", "dgx-spark", "m4-max-128gb")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("model", ["llama-3.1-8b", "gemma-3-27b"])
def test_each_assumed_item_has_a_low_and_a_high_end(engine: str, card: str, model: str) -> None:
    chosen = choose(Choices(model=model, device=card, engine=engine, context=8_192))
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    assumed = [item for item in (*found.items, *found.host_items) if item.basis is Basis.ASSUMED]
    assert assumed
    for item in assumed:
        assert item.low_bytes <= item.bytes <= item.high_bytes
        assert item.low_bytes < item.high_bytes
        assert item.kind is Kind.RUNTIME


@pytest.mark.parametrize("version", ["0.8.5", "0.12", "0.19", "0.20", "0.26", "0.32"])
def test_vllm_has_an_item_for_each_cause(version: str) -> None:
    """The graphs' share is an item where this version takes it from the pool, else it lies outside."""
    chosen = choose(Choices(model="gemma-3-27b", device="h100-sxm", engine="vllm", engine_version=version))
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    names = {item.name for item in found.items if item.basis is Basis.ASSUMED}
    graphs = {"CUDA graphs"} if version in ("0.20", "0.26", "0.32") else set()
    assert names == {"activation peak", "encoder peak", "non-torch memory"} | graphs
