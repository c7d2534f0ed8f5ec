"""Minimum and reserved: the same plan through every engine, as one picture and one table."""

from collections.abc import Sequence

import altair as alt
import streamlit as st

from planner.architecture import Architecture
from planner.deployment import MINIMUM
from planner.engine_comparison import EngineFigures, compare_engines, comparison_sentence
from planner.inputs.choices import Choices
from planner.units import format_bytes
from ui.charts import colours
from ui.charts.plan import finished, tooltip
from ui.draw import draw
from ui.option_words import in_fields
from ui.own_config import no_markup
from ui.tables.html import html_table
from ui.words import engine_title

ROW_PX = 46
_TEXT, _TOP, _BOTTOM = 0.28, 0.52, 0.84
"""Heights within a row, from its top: the words, and the bar beneath them."""
_PARTS = (
    ("weights", colours.WEIGHTS, True),
    ("runtime", colours.RUNTIME, True),
    ("room for the cache", colours.CACHE, True),
    ("left to others", colours.RULE, False),
)
"""In the order of the bar: name, colour, and whether it is filled."""


def minimum_and_reserved(choices: Choices, architecture: Architecture) -> None:
    """What must be there, what each engine reserves, and what it leaves for conversation."""
    found = compare_engines(choices, architecture)
    able = [one for one in found if not one.problem]
    st.header("The minimum, and what each engine reserves", anchor=False)
    st.markdown(comparison_sentence(found, architecture.title, choices.devices is not None))
    if able:
        draw(
            engine_bars,
            tuple(able),
            choices.engine,
            alt="; ".join(f"{name_of(one)}: {room_words(one)}" for one in able) + ".",
            key="engine_bars",
        )
        with st.expander("The same as a table, with ranges", key="engines_table"):
            st.html(_table(able, choices))
        st.caption(
            "Each with its own defaults and the newest rules that are known, but for the one you chose. Blue: weights, "
            "grey: runtime as expected, orange: room for the cache, dashed: left to other programs."
        )
    for one in found:
        if one.problem:
            st.caption(f"**{engine_title(one.engine)}** is left out: {no_markup(in_fields(one.problem))}")


def name_of(one: EngineFigures) -> str:
    """``vLLM 0.28``, or that nothing but the minimum is counted."""
    return f"{engine_title(one.engine)} {one.version}" if one.version else "The minimum"


def room_words(one: EngineFigures) -> str:
    """The longest context of one user, or by how much it does not fit."""
    expected = one.expected
    if expected.room_bytes < 0:
        return f"{format_bytes(-expected.room_bytes)} too big"
    return "any length" if expected.one_user_tokens is None else f"{expected.one_user_tokens:,} tokens"


def engine_bars(found: Sequence[EngineFigures], own: str, ink: str = colours.INK) -> alt.LayerChart:
    """One bar an engine on the card's scale: weights, runtime, room for the cache, and what it leaves to others."""
    rows, words = [], []
    for index, one in enumerate(found):
        label = f"{name_of(one)} ◂ yours" if one.engine == own != MINIMUM else name_of(one)
        words.append({"text": index + _TEXT, "label": label, "room": room_words(one)})
        start = 0
        sizes = (one.weights_bytes, one.expected.runtime_bytes, one.expected.room_bytes, one.outside_bytes)
        for (part, fill, is_solid), size in zip(_PARTS, sizes, strict=True):
            row = {"engine": name_of(one), "part": part, "size": format_bytes(size), "fill": fill, "solid": is_solid}
            row |= {"from": start, "to": start + max(0, size), "top": index + _TOP, "bottom": index + _BOTTOM}
            rows.append(row)
            start += max(0, size)
    end = max(*(int(row["to"]) for row in rows), *(one.memory_bytes for one in found))  # type: ignore[call-overload]
    y_scale = alt.Scale(domain=[0, len(found)], reverse=True, nice=False)
    x = alt.X("from:Q", axis=None, scale=alt.Scale(domain=[0, end], nice=False))
    bars = alt.Chart(alt.Data(values=rows)).encode(
        x=x,
        x2="to:Q",
        y=alt.Y("top:Q", axis=None, scale=y_scale),
        y2="bottom:Q",
        color=alt.Color("fill:N", scale=None),
        tooltip=tooltip("engine", "part", "size"),
    )
    texts = alt.Chart(alt.Data(values=words)).encode(y=alt.Y("text:Q", axis=None, scale=y_scale))
    usable_rows = [{"from": found[0].memory_bytes}] if end > found[0].memory_bytes else []
    usable = alt.Chart(alt.Data(values=usable_rows)).encode(x=x)
    return finished(
        alt.layer(
            bars.transform_filter("datum.solid").mark_rect(stroke="#FFFFFF", strokeWidth=1),
            bars.transform_filter("!datum.solid && datum.to > datum.from")
            .mark_rect(fillOpacity=0.12, strokeDash=[4, 3], strokeWidth=1.5)
            .encode(stroke=alt.Stroke("fill:N", scale=None)),
            usable.mark_rule(color=ink, strokeWidth=1.5, strokeDash=[2, 3]),
            texts.mark_text(align="left", color=ink, fontSize=13).encode(x=alt.value(0), text="label:N"),
            texts.mark_text(align="right", color=ink, fontSize=13, fontWeight=600).encode(
                x=alt.value("width"), text="room:N"
            ),
        ),
        height=ROW_PX * len(found),
    )


def _table(able: Sequence[EngineFigures], choices: Choices) -> str:
    columns = (
        "Engine",
        "Weights",
        "Runtime",
        "Left to others",
        "Room for the cache",
        "Longest, one user",
        "Most users",
    )
    own = next((index for index, one in enumerate(able) if one.engine == choices.engine != MINIMUM), None)
    return html_table(columns, [_row(one) for one in able], wide_only=(1, 2, 3, 6), own=own)


def _row(one: EngineFigures) -> tuple[str, ...]:
    expected = one.expected
    host = f"\n+ {format_bytes(one.host_bytes)} main memory" if one.host_bytes else ""
    low, high = one.ends
    ends = "" if low == high else f"\n{_tokens(low)} – {_tokens(high)}"
    runtimes = sorted({case.runtime_bytes for case in one.cases})
    spread = f"\n{format_bytes(runtimes[0])} – {format_bytes(runtimes[-1])}" if len(runtimes) > 1 else ""
    is_bare = one.engine == MINIMUM or not runtimes[-1]
    return (
        name_of(one),
        f"{format_bytes(one.weights_bytes)}{host}",
        "not counted" if is_bare else f"{format_bytes(expected.runtime_bytes)}{spread}",
        format_bytes(one.outside_bytes) if one.outside_bytes else "–",
        room_words(one) if expected.room_bytes < 0 else format_bytes(expected.room_bytes),
        f"{_tokens(expected.one_user_tokens)}{ends}",
        _tokens(expected.max_users),
    )


def _tokens(number: int | None) -> str:
    return "any" if number is None else f"{number:,}"
