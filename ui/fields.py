"""Choices of a page: kept in the address, where a link's impossible value is named instead of dropped in silence."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

import streamlit as st

from planner.units import shorten
from ui.address import NOTES

T = TypeVar("T")

_TOLD = "_fields_told"
_KEPT = "_fields_kept"
"""What each field said last, and on which page: another page that asks the same starts from it."""


def whole(key: str, label: str, default: int, most: int, least: int = 1, **more: Any) -> int:
    """A whole number between *least* and *most*."""
    _begin(key, default, lambda text: text.isascii() and text.isdigit() and least <= int(text) <= most)
    found: int = st.number_input(
        label,
        min_value=least,
        max_value=most,
        value=default,
        step=1,
        key=key,
        bind="query-params",
        on_change=forget_notes,
        **more,
    )
    return _keep(key, found)


def optional_whole(key: str, label: str, usual: int, most: int, least: int = 1, **more: Any) -> int:
    """A whole number that follows the set-up, *usual*, while the field is empty."""
    _begin(key, None, lambda text: text == "" or (text.isascii() and text.isdigit() and least <= int(text) <= most))
    found: int | None = st.number_input(
        label,
        min_value=least,
        max_value=most,
        value=None,
        step=1,
        key=key,
        placeholder=f"{usual:,}",
        bind="query-params",
        on_change=forget_notes,
        **{"help": f"Empty: {usual:,}, from the set-up.", **more},
    )
    _keep(key, found)
    return usual if found is None else found


def figure(key: str, label: str, default: float | None, least: float, most: float, **more: Any) -> float | None:
    """A number with decimals; ``None`` where it may stay empty and does."""
    _begin(key, default, lambda text: text == "" or least <= float(text) <= most)
    found: float | None = st.number_input(
        label,
        min_value=least,
        max_value=most,
        value=default,
        key=key,
        bind="query-params",
        on_change=forget_notes,
        **more,
    )
    return _keep(key, found)


def text(key: str, label: str, most: int, **more: Any) -> str:
    """A word or two."""
    _begin(key, "", lambda text: len(text) <= most)
    found: str = st.text_input(label, max_chars=most, key=key, bind="query-params", on_change=forget_notes, **more)
    return _keep(key, found).strip()


def area(key: str, label: str, most: int, **more: Any) -> str:
    """Several lines."""
    _begin(key, "", lambda text: len(text) <= most)
    found: str = st.text_area(label, max_chars=most, key=key, bind="query-params", on_change=forget_notes, **more)
    return _keep(key, found)


def choice(key: str, label: str, options: Sequence[str], default: str, **more: Any) -> str:
    """One of many, by typing a part of it."""
    index = list(options).index(default)
    return _one_of(st.selectbox, key, label, options, default, index=index, filter_mode="contains", **more)


def segments(key: str, label: str, options: Sequence[str], default: str, **more: Any) -> str:
    """One of a few, all in sight."""
    return _one_of(st.segmented_control, key, label, options, default, default=default, required=True, **more)


def pills(key: str, label: str, options: Sequence[str], default: str, **more: Any) -> str:
    """One of several, which wrap on a phone."""
    return _one_of(st.pills, key, label, options, default, default=default, required=True, **more)


def _one_of(
    widget: Callable[..., str], key: str, label: str, options: Sequence[str], usual: str, /, **more: Any
) -> str:
    _begin(key, usual, lambda text: text in options)
    return _keep(key, widget(label, list(options), key=key, bind="query-params", **{"on_change": forget_notes, **more}))


def slider(key: str, label: str, default: int, least: int, most: int, **more: Any) -> int:
    """A whole number that is tried out by moving it."""
    _begin(key, default, lambda text: text.isascii() and text.isdigit() and least <= int(text) <= most)
    found: int = st.slider(label, least, most, default, key=key, bind="query-params", on_change=forget_notes, **more)
    return _keep(key, found)


def _begin(key: str, default: object, possible: Callable[[str], bool]) -> None:
    """Before a field is drawn: a link's value is checked, and what another page said is taken over.

    Streamlit keeps what was typed from page to page, but not what only a link said.
    """
    _check(key, default, possible)
    value, place = st.session_state.setdefault(_KEPT, {}).get(key, (None, _place()))
    if place != _place() and key not in st.query_params:
        st.session_state[key] = value


def _keep(key: str, value: T) -> T:
    st.session_state[_KEPT][key] = value, _place()
    return value


def _place() -> str:
    return urlsplit(st.context.url or "").path


def forget_notes() -> None:
    """Whatever a link asked for, the page is the reader's own now."""
    st.session_state.pop(NOTES, None)


def _check(key: str, default: object, possible: Callable[[str], bool]) -> None:
    """Says it once, above the page, when a link asks for what cannot be; the field itself then takes its default."""
    asked = st.query_params.get(key)
    told: set[str] = st.session_state.setdefault(_TOLD, set())
    if asked is None or key in st.session_state or key in told:
        return
    try:
        fine = possible(asked)
    except ValueError:
        fine = False
    if not fine:
        told.add(key)
        quoted = f"`{shorten(asked).replace('`', '’')}`" if asked else "nothing"
        note = f"This link asked for **{key}** = {quoted}, which is not possible; it is back at {_shown(default)}."
        st.session_state[NOTES] = [*st.session_state.get(NOTES, []), note]
        st.rerun()


def _shown(default: object) -> str:
    if isinstance(default, int | float):
        return f"{default:,g}" if isinstance(default, float) else f"{default:,}"
    return f"*{default}*" if default else "empty"
