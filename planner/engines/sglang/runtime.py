"""What SGLang takes beside weights and pools, and recurrent states whose number is set."""

from planner.deployment import Deployment
from planner.engines.sglang.cells import SglangRank, fixed_state_bytes, pools
from planner.line_item import Basis, Kind, LineItem
from planner.units import GIB

CONTEXT, STATES, BESIDE = "context", "state pool", "loaded beside the weights"
_PLACES = {"unified": "in memory shared with other programs", "single": "on one card", "parallel": "on several cards"}


def reserved_items(rank: SglangRank, deployment: Deployment) -> tuple[LineItem, ...]:
    """States whose number is set, and drafted ones where this version takes them off before it divides."""
    size = fixed_state_bytes(pools(rank, deployment), deployment)
    if not size:
        return ()
    source = "recurrent states as max_mamba_cache_size or max_running_requests number them"
    return (LineItem(name=STATES, kind=Kind.RUNTIME, bytes=size, basis=Basis.RULE, source=source),)


def context_bytes(deployment: Deployment) -> int:
    """What is expected to be gone from the card before loading."""
    return round(_spread(deployment)["expected"] * GIB)


def context_item(deployment: Deployment) -> LineItem:
    """The context; activations and CUDA graphs live outside the static share."""
    place = _place(deployment)
    where = _PLACES.get(place, f"on several cards over {place}")
    source = f"context, libraries and communicators before loading, {where}: public start-ups"
    return _assumed(CONTEXT, _spread(deployment), source)


def loaded_item(deployment: Deployment) -> LineItem:
    """What is gone with the weights beside their tensors."""
    source = "tables, copies and rounding: what public start-ups print of loading less the tensors"
    return _assumed(BESIDE, deployment.settings.rule("loaded_gib"), source)


def _assumed(name: str, spread: dict[str, float], source: str) -> LineItem:
    return LineItem(
        name=name,
        kind=Kind.RUNTIME,
        bytes=round(spread["expected"] * GIB),
        low_bytes=round(spread["low"] * GIB),
        high_bytes=round(spread["high"] * GIB),
        basis=Basis.ASSUMED,
        source=source,
    )


def _spread(deployment: Deployment) -> dict[str, float]:
    found: dict[str, float] = deployment.settings.rule("context_gib")[_place(deployment)]
    return found


def _place(deployment: Deployment) -> str:
    """Memory shared with the host's programs, one card, several over the link that they have, or over any."""
    device = deployment.device
    if device.unified:
        return "unified"
    if deployment.device_count == 1:
        return "single"
    links = deployment.settings.rule("context_gib")
    return next((link for link in links if (device.interconnect or "").startswith(link)), "parallel")
