"""What no rule gives exactly is a range of its own on every card and under every engine, never one flat reserve."""

import pytest

from planner.answers.answer import Answer, answer
from planner.inputs.choices import Choices, choose
from planner.line_item import Basis, Kind
from planner.units import MIB

ENGINES = ("vllm", "sglang", "tensorrt_llm", "lmdeploy", "llama_cpp", "ik_llama_cpp", "ollama", "transformers")
CARDS = ("rtx-4090", "h100-sxm", "mi300x", "arc-pro-b60", "dgx-spark", "m4-max-128gb")


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize(
    ("engine", "model"),
    [
        *((engine, "llama-3.1-8b") for engine in ENGINES),
        *((engine, "gemma-3-27b") for engine in ENGINES if engine != "lmdeploy"),
    ],
)
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


def plan_on_a_display(engine: str, *settings: str) -> Answer:
    weights = "q8_0" if engine == "llama_cpp" else "fp8"
    choices = Choices(
        model="llama-3.1-8b", device="rtx-4090", weights=weights, engine=engine, set=settings, display=True
    )
    chosen = choose(choices)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


@pytest.mark.parametrize("engine", ["llama_cpp", "transformers", "minimum"])
def test_a_desktop_is_an_item_where_the_pool_is_what_is_free(engine: str) -> None:
    (desktop,) = (item for item in plan_on_a_display(engine).items if item.name == "desktop")
    assert (desktop.low_bytes, desktop.bytes, desktop.high_bytes) == (30 * MIB, 300 * MIB, 1_570 * MIB)


def test_vllm_keeps_its_share_beside_a_desktop_or_does_not_start() -> None:
    """Its pool is a share of the whole card; only the start asks that so much is free."""
    usual = plan_on_a_display("vllm", "gpu_memory_utilization=0.9")
    assert not any(item.name == "desktop" for item in usual.items)
    assert usual.fits
    greedy = plan_on_a_display("vllm", "gpu_memory_utilization=0.99")
    assert greedy.report is not None
    # 1,570 and 338 of 24,217 MiB are 7.9%.
    assert greedy.report.refusals == (
        "vLLM would refuse to start: gpu_memory_utilization = 0.99 asks for more than is free of a card that shows a "
        "desktop, which takes about 0.29 GiB, beside a context of 0.33 GiB or more; 0.92 starts beside any.",
    )
