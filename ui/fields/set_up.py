"""The set-up's kinds of field: each is called as a command's option is, and stands in the address."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from ui import form
from ui.fields.choice import forget_notes

ONE_ROW = 3
"""So many segments fit beside each other in the sidebar; more are pills, which wrap."""


def select(key: str, label: str, options: list[str], on_change: Callable[[], None] | None = None, **more: Any) -> None:
    """One of many, found by typing a part of it."""
    st.selectbox(
        label,
        options,
        index=options.index(form.DEFAULTS[key]),
        key=key,
        on_change=on_change or forget_notes,
        filter_mode="contains",
        bind="query-params",
        **more,
    )


def segments(key: str, label: str, options: tuple[str, ...], **more: Any) -> None:
    """One of a few, all in sight."""
    widget = st.segmented_control if len(options) <= ONE_ROW else st.pills
    widget(
        label,
        options,
        default=form.DEFAULTS[key],
        required=True,
        key=key,
        on_change=forget_notes,
        bind="query-params",
        **more,
    )


def number(key: str, label: str, most: int, **more: Any) -> None:
    """A whole number from 1 to *most*."""
    st.number_input(
        label,
        min_value=1,
        max_value=most,
        value=form.defaults(st.query_params.get("engine", form.DEFAULTS["engine"]))[key],
        step=1,
        key=key,
        on_change=forget_notes,
        bind="query-params",
        **more,
    )


def toggle(key: str, label: str, **more: Any) -> None:
    """Yes or no."""
    st.toggle(label, value=form.DEFAULTS[key], key=key, on_change=forget_notes, bind="query-params", **more)


def text(key: str, label: str, most: int = 40, **more: Any) -> None:
    """A line of text."""
    st.text_input(
        label, value=form.DEFAULTS[key], max_chars=most, key=key, on_change=forget_notes, bind="query-params", **more
    )


def lines(key: str, label: str, most: int, **more: Any) -> None:
    """Several lines of text."""
    st.text_area(
        label, value=form.DEFAULTS[key], max_chars=most, key=key, on_change=forget_notes, bind="query-params", **more
    )
