"""What one start of llama.cpp shows of the items that no rule gives exactly."""

from planner.deployment import Deployment
from planner.engines.base import Rank
from planner.engines.llama_cpp.options import PLACEMENT
from planner.logs.devices import cards
from planner.logs.readings import Start
from planner.measurements import MeasuredItem

SPLIT = ("pipeline_parallel",)
PLACED = ("weights", *sorted(PLACEMENT), *SPLIT)


def measured_items(start: Start, deployment: Deployment, rank: Rank, weights_bytes: int) -> tuple[MeasuredItem, ...]:
    """What the memory breakdown at the end leaves unaccounted for, and weights beyond *weights_bytes* on one card.

    Compute buffers follow the context, so one start's are not another's; they stay as they are counted.
    """
    items = []
    if (context := _context(start, deployment)) is not None:
        items.append(context)
    loaded = list(cards(start, "weights").values())
    if len(loaded) == 1 and (extra := int(loaded[0].value) - weights_bytes):
        source = "log: what lies on the card beside the tensors that are counted"
        items.append(MeasuredItem(name="weights as loaded", bytes=extra, source=source, depends_on=PLACED))
    return tuple(items)


def _context(start: Start, deployment: Deployment) -> MeasuredItem | None:
    """What lies on the card beside every buffer: by the breakdown at the end, else what was not free at first.

    The driver's context is there when llama.cpp asks what is free. A breakdown before anything is allocated, as --fit
    prints, has less than nothing unaccounted for.
    """
    rest = [reading.value for reading in cards(start, "unaccounted").values() if reading.value >= 0]
    free = [reading.value for reading in cards(start, "free").values()]
    if rest:
        size, source = int(max(rest)), "log: what the memory breakdown leaves unaccounted for"
    elif free and not deployment.cards:
        size, source = deployment.device.memory_bytes - int(min(free)), "log: the card less what was free on it"
    else:
        return None
    return MeasuredItem(name="context", bytes=max(0, size), source=source, replaces=("context",), depends_on=SPLIT)
