"""Each different device of a plan before any request: items from model, engine, profile and draft, and the pool."""

from dataclasses import replace
from itertools import cycle

from planner.architecture import Architecture
from planner.deployment import Deployment, Device
from planner.engines import find_engine
from planner.engines.base import Engine, Rank, taken_bytes
from planner.line_item import Basis, Kind, LineItem
from planner.rank_budget import OUTSIDE, RankBudget
from planner.shares import shares
from planner.weights import identity, model_bytes


def prepare(architecture: Architecture, deployment: Deployment) -> tuple[RankBudget, ...]:
    """Each different device's weights, runtime and pool, whatever will be asked of it."""
    engine = find_engine(deployment.engine)
    if deployment.weights.mix is not None:
        from planner.gguf_mixes import as_stored  # only GGUF file types decide tensor by tensor

        architecture = as_stored(architecture, deployment.weights)
    parts = engine.ranks(architecture, deployment)
    each = [replace(deployment, device=stage) for stage in deployment.stages] if deployment.cards else [deployment]
    runtime = {mine.device: _runtime(engine, architecture, mine) for mine in each}
    ranks = tuple(
        _rank_budget(
            engine, rank, runtime[mine.device] + (_desktop(engine, mine) if index == 0 else ()), architecture, mine
        )
        for index, (rank, mine) in enumerate(zip(parts, cycle(each), strict=False))
    )
    return ranks if deployment.draft is None else tuple(_with_draft(rank, rank is ranks[-1]) for rank in ranks)


def on_device(ranks: tuple[RankBudget, ...], device: Device) -> tuple[RankBudget, ...]:
    """The same plan on another device: only the pool moves, unless the engine follows the card's size."""
    deployment = replace(ranks[0].deployment, device=device, cards=())
    if ranks[0].engine.follows_card or ranks[0].deployment.cards:
        return prepare(ranks[0].architecture, deployment)
    return tuple(_with_pool(replace(rank, deployment=deployment)) for rank in ranks)


def _runtime(engine: Engine, architecture: Architecture, deployment: Deployment) -> tuple[LineItem, ...]:
    """What a device takes beside weights and cache: as stated, or the engine's items with the measured ones in them."""
    if deployment.overhead_bytes is not None:
        return (
            LineItem(
                name="overhead",
                kind=Kind.RUNTIME,
                bytes=deployment.overhead_bytes,
                basis=Basis.ASSUMED,
                source="stated: context, libraries, activations and all else that is not weights or cache",
            ),
        )
    items = engine.runtime_items(architecture, deployment)
    if (profile := deployment.profile) is None:
        return items
    profile.check(deployment.subject(architecture.name))
    return profile.measured(items, deployment.conditions(identity(architecture)))


def _desktop(engine: Engine, deployment: Deployment) -> tuple[LineItem, ...]:
    """What the screen takes of the first card; nothing of a pool that is a share of the whole card."""
    is_counted = deployment.desktop is not None and engine.counts_what_is_used and deployment.overhead_bytes is None
    return (deployment.desktop,) if is_counted and deployment.desktop is not None else ()


def _rank_budget(
    engine: Engine, rank: Rank, runtime: tuple[LineItem, ...], architecture: Architecture, deployment: Deployment
) -> RankBudget:
    bare = RankBudget(
        engine=engine,
        architecture=architecture,
        deployment=deployment,
        rank=rank,
        items=(
            *_weight_items(rank, architecture, deployment),
            *engine.reserved_items(rank, deployment),
            *runtime,
        ),
        specs=engine.cache_specs(rank, deployment),
    )
    return _with_pool(bare)


def _with_draft(bare: RankBudget, is_last: bool) -> RankBudget:
    """*bare* with its share of the draft, which lies on the last stage."""
    from planner.draft_items import draft_specs, draft_weights_item  # only for plans with a draft

    deployment, draft = bare.deployment, bare.deployment.draft
    assert draft is not None
    items = (*bare.items, draft_weights_item(draft, deployment)) if is_last and draft.layers else bare.items
    specs = draft_specs(bare.engine, draft, bare.rank.layers, deployment, is_last)
    return _with_pool(replace(bare, items=items, draft_specs=specs))


def _with_pool(bare: RankBudget) -> RankBudget:
    """*bare* with the pool that its device leaves; what the engine keeps out of it becomes an item of its own."""
    items = tuple(item for item in bare.items if item.name != OUTSIDE)
    engine, rank, deployment, memory_bytes = bare.engine, bare.rank, bare.deployment, bare.memory_bytes
    set_bytes = engine.set_pool_bytes(rank, deployment) if deployment.pool_bytes is None else None
    if (stated := deployment.pool_bytes) is not None:
        expected = low = high = stated
    elif set_bytes is not None:
        spare = (memory_bytes - taken - set_bytes for taken in taken_bytes(items))
        expected, low, high = (min(left_bytes, 0) or set_bytes for left_bytes in spare)
    else:
        expected, low, high = (engine.pool_bytes(rank, deployment, memory_bytes, taken) for taken in taken_bytes(items))
    outside_bytes = memory_bytes - sum(item.bytes for item in items) - expected
    if outside_bytes:
        items += (
            LineItem(
                name=OUTSIDE,
                kind=Kind.RUNTIME,
                bytes=outside_bytes,
                basis=Basis.RULE,
                source=engine.pool_rule(deployment),
            ),
        )
    return replace(
        bare,
        items=items,
        pool_bytes=expected,
        pool_low_bytes=high,
        pool_high_bytes=low,
        set_pool_bytes=set_bytes,
    )


def _weight_items(rank: Rank, architecture: Architecture, deployment: Deployment) -> tuple[LineItem, ...]:
    split = deployment.weights, shares(deployment)
    assumed = architecture.assumed or (architecture.stored_assumed and deployment.weights.format is None)
    basis = Basis.ASSUMED if architecture.nominal or assumed else Basis.EXACT
    source = architecture.source or "the model's own tensor shapes"
    text = LineItem(
        name="weights",
        kind=Kind.WEIGHTS,
        bytes=model_bytes(rank.layers, rank.tensors, *split),
        basis=basis,
        source=source,
    )
    towers = tuple(
        LineItem(
            name=tower.kind if tower.kind == "projector" else f"{tower.kind} tower",
            kind=Kind.WEIGHTS,
            bytes=model_bytes((), tower.tensors, *split),
            basis=basis,
            source=source,
        )
        for tower in rank.towers
    )
    return (text, *towers)
