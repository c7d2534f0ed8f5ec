"""What SGLang takes beside weights and pools, and recurrent states whose number is set."""

from planner.deployment import Deployment
from planner.engines.sglang.cells import SglangRank, fixed_state_bytes, pools
from planner.line_item import Basis, Kind, LineItem
from planner.units import GIB

CONTEXT, STATES = "context", "state pool"


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
    spread = _spread(deployment)
    return LineItem(
        name=CONTEXT,
        kind=Kind.RUNTIME,
        bytes=context_bytes(deployment),
        low_bytes=round(spread["low"] * GIB),
        high_bytes=round(spread["high"] * GIB),
        basis=Basis.ASSUMED,
        source=f"context, libraries and communicators before loading, {_place(deployment)}: public start-ups",
    )


def _spread(deployment: Deployment) -> dict[str, float]:
    found: dict[str, float] = deployment.settings.rule("context_gib")[_place(deployment)]
    return found


def _place(deployment: Deployment) -> str:
    return "single" if deployment.device_count == 1 else "parallel"
