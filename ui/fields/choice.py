"""Choices of a page: kept in the address, where a link's impossible value is named instead of dropped in silence."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

import streamlit as st

from planner.units import shorten
from ui.address import NOTES

T = TypeVar("T")

_LISTED = 3
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


def several(key: str, label: str, options: Sequence[str], default: Sequence[str], **more: Any) -> list[str]:
    """Any number of many."""
    name_unknown(key, options)
    found: list[str] = st.multiselect(
        label,
        list(options),
        default=list(default),
        key=key,
        filter_mode="contains",
        bind="query-params",
        on_change=forget_notes,
        **more,
    )
    return found


def name_unknown(key: str, options: Sequence[str]) -> None:
    """Before a field for several is drawn: what a link asks for beside *options* is left out, and said."""
    unknown = [asked for asked in st.query_params.get_all(key) if asked not in options]
    if unknown and _is_first(key):
        listed = ", ".join(map(_quoted, unknown[:_LISTED])) + (" …" if len(unknown) > _LISTED else "")
        _tell(key, f"This link asked for **{key}** = {listed}, which is not known; it is left out.")


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
    if asked is None or not _is_first(key):
        return
    try:
        fine = possible(asked)
    except ValueError:
        fine = False
    if not fine:
        said = f"This link asked for **{key}** = {_quoted(asked)}, which is not possible; "
        _tell(key, f"{said}it is back at {_shown(default)}.")


def _is_first(key: str) -> bool:
    """Whether a link may still be asked what it says of a field: not once that was drawn, or was told of."""
    told: set[str] = st.session_state.setdefault(_TOLD, set())
    return key not in st.session_state and key not in told


def _tell(key: str, note: str) -> None:
    """Once, above the page, which starts anew for it."""
    st.session_state[_TOLD].add(key)
    st.session_state[NOTES] = [*st.session_state.get(NOTES, []), note]
    st.rerun()


def _quoted(asked: str) -> str:
    return f"`{shorten(asked).replace('`', '’')}`" if asked else "nothing"


def _shown(default: object) -> str:
    if isinstance(default, int | float):
        return f"{default:,g}" if isinstance(default, float) else f"{default:,}"
    return f"*{default}*" if default else "empty"
