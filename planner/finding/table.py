"""The 8/16/24 GB table: models × weight formats × memory sizes, each cell with what is left for conversation."""

from collections.abc import Sequence
from dataclasses import asdict, replace

from planner.answers.answer import warnings_for
from planner.architecture import Architecture
from planner.budget import RankBudget, State, budget_for, on_device, prepare
from planner.capacity import max_context_tokens, max_users
from planner.catalogue.native_files import READ_GGUF
from planner.export import Row
from planner.inputs.choices import Choices, Chosen, choose
from planner.inputs.format_choices import file_type
from planner.inputs.model_files import load_model
from planner.inputs.named_cards import choose_device
from planner.kv_cache import bytes_per_token_at
from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One cell. *max_context_tokens* is for one user; *max_users* at the table's context; ``None``: no limit by memory.

    *short_bytes* is what weights and runtime alone lack, 0 when they fit. *state* is for one user of *context_tokens*;
    *overhead_bytes* is what is stated for the runtime, ``None``: the engine's own items. *name* finds the model again;
    *warnings* are what a plan of it would say.
    """

    model: str
    memory_bytes: int
    weights: str
    kv_cache: str
    weights_bytes: int
    kv_bytes_per_token: int | float
    state: State
    loads: bool
    max_context_tokens: int | None
    max_users: int | None
    short_bytes: int
    context_tokens: int
    overhead_bytes: int | None
    name: str
    warnings: tuple[str, ...]


def table(
    models: Sequence[str | Architecture], memory: Sequence[str], weights: Sequence[str | None], base: Choices
) -> tuple[TableRow, ...]:
    """Every model × weight format × memory size, in this order; all else (cache, engine, overhead, context) is *base*.

    Weights and caches are added up once for a model and format; a memory size only moves the pool.
    """
    devices = [choose_device(None, size) for size in memory]
    rows: list[TableRow] = []
    for model in models:
        architecture = load_model(model, base.online) if isinstance(model, str) else model
        for name in dict.fromkeys(_stored(name, architecture, base.engine) for name in weights):
            chosen = choose(replace(base, device=None, memory="1GiB", weights=name), architecture)
            ranks = prepare(architecture, chosen.deployment)
            rows += [_row(chosen, on_device(ranks, device)) for device in devices]
    return tuple(rows)


def _stored(name: str | None, architecture: Architecture, engine: str) -> str | None:
    """The format, or where *engine* reads GGUF files the type of such a file that is nearest to it."""
    return name if name is None or engine not in READ_GGUF else file_type(name, architecture)


def _row(chosen: Chosen, ranks: tuple[RankBudget, ...]) -> TableRow:
    deployment = chosen.deployment
    budget = budget_for(ranks, chosen.workload)
    key, value = deployment.kv_cache_k.name, deployment.kv_cache_v.name
    return TableRow(
        model=chosen.architecture.title,
        memory_bytes=budget.rank.memory_bytes,
        weights=deployment.weights.name,
        kv_cache=key if key == value else f"{key}/{value}",
        weights_bytes=budget.weights_bytes,
        kv_bytes_per_token=bytes_per_token_at(budget.rank.specs, chosen.workload.context_tokens),
        state=budget.state,
        loads=budget.loads,
        max_context_tokens=max_context_tokens(ranks) if budget.loads else 0,
        max_users=max_users(ranks, chosen.workload.context_tokens) if budget.loads else 0,
        short_bytes=max(0, -min(rank.pool_bytes for rank in ranks)),
        context_tokens=chosen.workload.context_tokens,
        overhead_bytes=deployment.overhead_bytes,
        name=chosen.architecture.name,
        warnings=warnings_for(chosen.architecture, deployment, chosen.workload),
    )


def as_row(cell: TableRow) -> Row:
    """One exported row: the field names are the column names, with their units."""
    return asdict(cell) | {"warnings": " ".join(cell.warnings)}
