"""What one start of llama.cpp shows of the items that no rule gives exactly."""

from planner.calibration import MeasuredItem
from planner.deployment import Deployment
from planner.engines.base import Rank
from planner.logs.readings import Reading, Start

SPLIT = ("pipeline_parallel",)
PLACED = ("weights", "n_gpu_layers", "n_cpu_moe", "cpu_moe", *SPLIT)
_HOST = ("CPU", "Host")


def measured_items(start: Start, deployment: Deployment, rank: Rank, weights_bytes: int) -> tuple[MeasuredItem, ...]:
    """What the memory breakdown at the end leaves unaccounted for, and weights beyond *weights_bytes* on one card.

    Compute buffers follow the context, so one start's are not another's; they stay as they are counted.
    """
    items = []
    rest = [reading for reading in start.named("unaccounted") if reading.rank not in _HOST]
    if rest:
        items.append(
            MeasuredItem(
                name="context",
                bytes=max(int(reading.value) for reading in rest),
                source="log: what the memory breakdown leaves unaccounted for",
                replaces=("context",),
                depends_on=SPLIT,
            )
        )
    cards = [reading for reading in start.named("weights") if _is_card(reading)]
    if len({reading.rank for reading in cards}) == 1 and (extra := int(cards[0].value) - weights_bytes):
        source = "log: what lies on the card beside the tensors that are counted"
        items.append(MeasuredItem(name="weights as loaded", bytes=extra, source=source, depends_on=PLACED))
    return tuple(items)


def _is_card(reading: Reading) -> bool:
    return not reading.rank.startswith("CPU") and not reading.rank.endswith(("_Host", "_Mapped", "Host"))
