"""A calibration profile from one start in a log."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module

from planner.budget import prepare
from planner.calibration import CalibrationProfile
from planner.deployment import Deployment
from planner.engines.base import Rank
from planner.inputs.choices import Chosen
from planner.line_item import Kind, LineItem
from planner.logs.readings import Start
from planner.measurements import MeasuredItem
from planner.weights import identity

MEASURES = {
    "vllm": "planner.engines.vllm.measured",
    "sglang": "planner.engines.sglang.measured",
    "tensorrt_llm": "planner.engines.measured_share",
    "lmdeploy": "planner.engines.measured_share",
    **dict.fromkeys(("llama_cpp", "ik_llama_cpp", "ollama"), "planner.engines.llama_cpp.measured"),
}
"""By engine, the module that knows what a start shows of its items."""
Measure = Callable[[Start, Deployment, Rank, int], tuple[MeasuredItem, ...]]


def profile_from(start: Start, chosen: Chosen) -> CalibrationProfile | None:
    """What *start* shows of the items that are assumed in *chosen*; ``None`` where it shows nothing of them.

    With it the planner leaves the pool that the start printed. Exact items stay as they are. A profile is of one card:
    cards that differ have none.
    """
    path = MEASURES.get(chosen.deployment.engine)
    if path is None or chosen.deployment.overhead_bytes is not None or chosen.deployment.cards:
        return None
    fullest = min(prepare(chosen.architecture, chosen.deployment), key=lambda rank: rank.pool_bytes)
    weights_bytes = sum(item.bytes for item in fullest.items if item.kind is Kind.WEIGHTS)
    measure: Measure = import_module(path).measured_items
    items = measure(start, chosen.deployment, fullest.rank, weights_bytes)
    if not items:
        return None
    items = tuple(replace(item, assumed_bytes=_assumed_bytes(item, fullest.items)) for item in items)
    return CalibrationProfile(
        subject=chosen.deployment.subject(chosen.architecture.name),
        conditions=chosen.deployment.conditions(identity(chosen.architecture)),
        items=items,
        readings=start.readings,
    )


def _assumed_bytes(measured: MeasuredItem, items: Iterable[LineItem]) -> int | None:
    """What *items* have for those that *measured* replaces; ``None`` where it replaces none or follows nothing."""
    if not measured.follows:
        return None
    return sum(item.bytes for item in items if item.name in measured.replaces)
