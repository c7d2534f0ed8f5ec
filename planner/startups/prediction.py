"""What the planner says of one figure in a log, and what it rests on."""

from collections.abc import Mapping
from dataclasses import replace

from planner.answers.answer import Answer, answer
from planner.deployment import Device
from planner.inputs.choices import Chosen
from planner.line_item import Basis, LineItem
from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """*basis* says in words what the figure rests on; it may lie between *low* and *high*."""

    value: int | float
    low: int | float
    high: int | float
    basis: str


Predictions = Mapping[str, Prediction]
"""By the names of readings."""


def ask(chosen: Chosen, pool_bytes: int | None = None) -> Answer:
    """The plan of *chosen*; with the pool stated, whatever the card leaves, where *pool_bytes* is given."""
    deployment = chosen.deployment
    if pool_bytes is not None:
        deployment = replace(deployment, pool_bytes=pool_bytes, profile=None)
    return answer(chosen.architecture, deployment, chosen.workload)


def of_items(items: list[LineItem]) -> Prediction | None:
    """The sum of *items*; ``None`` without any."""
    if not items:
        return None
    is_assumed = any(item.basis is Basis.ASSUMED for item in items)
    names = ", ".join(dict.fromkeys(item.name for item in items))
    return Prediction(
        value=sum(item.bytes for item in items),
        low=sum(item.low_bytes for item in items),
        high=sum(item.high_bytes for item in items),
        basis=f"{names}, {'the spread of public readings' if is_assumed else items[0].basis.value}",
    )


def exact(size: int, basis: str) -> Prediction:
    """A figure without a range."""
    return Prediction(value=size, low=size, high=size, basis=basis)


def of_card(device: Device, memory_bytes: int) -> Prediction:
    """The card's memory; where nothing but a size is known of it, that is the log's own or its reader's."""
    if device.memory_basis == "stated":
        return exact(memory_bytes, "the size that is planned with")
    high = max(memory_bytes, device.memory_high_bytes or 0)
    return Prediction(value=memory_bytes, low=memory_bytes, high=high, basis=device.memory_source)
