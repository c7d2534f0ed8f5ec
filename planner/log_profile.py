"""A calibration profile from one start in a log."""

from planner.budget import prepare
from planner.calibration import CalibrationProfile
from planner.choices import Chosen
from planner.engines.vllm.measured import measured_items
from planner.line_item import Kind
from planner.logs.readings import Start

MEASURES = {"vllm": measured_items}
"""By engine, what a start shows of its items."""


def profile_from(start: Start, chosen: Chosen) -> CalibrationProfile | None:
    """What *start* shows of the items that are assumed in *chosen*; ``None`` where it shows nothing of them.

    With it the planner leaves the pool that the start printed. Exact items stay as they are.
    """
    measure = MEASURES.get(chosen.deployment.engine)
    if measure is None or chosen.deployment.overhead_bytes is not None:
        return None
    fullest = min(prepare(chosen.architecture, chosen.deployment), key=lambda rank: rank.pool_bytes)
    weights_bytes = sum(item.bytes for item in fullest.items if item.kind is Kind.WEIGHTS)
    items = measure(start, chosen.deployment, fullest.rank, weights_bytes)
    if not items:
        return None
    return CalibrationProfile(
        subject=chosen.deployment.subject(chosen.architecture.name),
        conditions=chosen.deployment.conditions(chosen.architecture.name),
        items=items,
        readings=start.readings,
    )
