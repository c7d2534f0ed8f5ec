"""What SGLang takes beside weights and pools, and states whose number is set."""

from collections.abc import Iterable

from planner.deployment import Deployment
from planner.engines.sglang.cells import SglangRank, fixed_state_bytes, pools
from planner.line_item import Basis, Kind, LineItem
from planner.units import GIB

CONTEXT, STATES = "context", "state pool"


def runtime_items(ranks: Iterable[SglangRank], deployment: Deployment) -> tuple[LineItem, ...]:
    """The context; activations and CUDA graphs live outside the static share and are part of what stays outside."""
    items = [_context(deployment)]
    states = max((fixed_state_bytes(pools(rank, deployment), deployment) for rank in ranks), default=0)
    if states:
        items.append(
            LineItem(
                name=STATES,
                kind=Kind.RUNTIME,
                bytes=states,
                basis=Basis.RULE,
                source="recurrent states as max_mamba_cache_size or max_running_requests number them",
            )
        )
    return tuple(items)


def context_bytes(deployment: Deployment) -> int:
    """What is expected to be gone from the card before loading."""
    return round(_spread(deployment)["expected"] * GIB)


def _context(deployment: Deployment) -> LineItem:
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
