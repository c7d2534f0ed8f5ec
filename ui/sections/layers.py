"""A model's layers as columns and by kind; the pages Cache and Model show them alike."""

import streamlit as st

from planner.answers.layer_kinds import LayerKind, layer_kinds
from planner.inputs.choices import Chosen
from planner.units import format_bytes, format_parameters, format_rate
from ui.charts.cache import layer_bars
from ui.draw import draw
from ui.tables.html import html_table


def show_layers(chosen: Chosen, with_parameters: bool = False) -> None:
    """What each layer keeps of one user's context, as a chart and a table; *with_parameters* says what each weighs."""
    architecture, deployment = chosen.architecture, chosen.deployment
    tokens = chosen.workload.context_tokens
    kinds = layer_kinds(architecture, deployment.kv_cache_k, deployment.kv_cache_v, tokens)
    draw(
        layer_bars,
        kinds,
        alt="; ".join(f"layers {kind.spans}: {kind.words}, {format_bytes(kind.bytes)} each" for kind in kinds) + ".",
        key="layers",
    )
    st.caption(
        f"One user at {tokens:,} tokens. Filled: grows with every token. "
        "Dashed: a full window, a state or an image, which grow no more."
    )
    columns = ["Layers", "What one keeps", "A token", f"At {tokens:,}"]
    if with_parameters:
        columns.append("Parameters each")
    st.html(
        html_table(
            columns,
            [_row(kind)[: len(columns)] for kind in kinds],
            text=(0, 1),
            wide_only=(4,),
        )
    )


def _row(kind: LayerKind) -> tuple[str, ...]:
    growth = kind.growth
    number = len(kind.indices)
    cost = growth.kv_bytes_per_token
    limit = f"\nuntil {growth.max_tokens:,} tokens" if growth.max_tokens else ""
    return (
        f"{number} layer{'s' if number > 1 else ''}\n{kind.spans}",
        kind.words + limit,
        f"{format_rate(cost)}\n{cost:,} B" if cost else "0 B",
        format_bytes(kind.bytes),
        format_parameters(growth.parameters),
    )
