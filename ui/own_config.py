"""A reader's own ``config.json`` in place of a model from the list. It stays in this session and out of the address."""

import re

import streamlit as st

from planner.architecture import Architecture
from planner.errors import PlannerError
from planner.model_files import read_config_text
from ui.address import NOTES

MAX_MB = 1
_OWN = "_own_architecture"
_PROBLEM = "_own_problem"
_ROUND = "_upload_round"


def architecture() -> Architecture | None:
    """The uploaded model, if there is one."""
    return st.session_state.get(_OWN)


def forget() -> None:
    """Back to the list of models; for use in a widget's callback."""
    st.session_state.pop(_OWN, None)
    st.session_state.pop(_PROBLEM, None)
    st.session_state.pop(NOTES, None)
    st.session_state[_ROUND] = st.session_state.get(_ROUND, 0) + 1


def note() -> None:
    """Says that the uploaded file is the model now, or why it is not; beneath the field for the model."""
    own = architecture()
    problem = st.session_state.get(_PROBLEM)
    if problem:
        st.warning(f"{problem} The model is still the one chosen above.", icon=":material/description:")
    if own is not None:
        st.caption(f"**{own.title}**, your own file, takes its place. A link to this page does not carry it.")
        st.button("Use the list again", key="forget_own", on_click=forget, icon=":material/undo:")


def uploader() -> None:
    """The field for the file, inside *More*."""
    key = f"upload_{st.session_state.get(_ROUND, 0)}"
    st.file_uploader(
        "Your own config.json",
        type="json",
        key=key,
        max_upload_size=MAX_MB,
        on_change=_uploaded,
        args=(key,),
        help="The file beside a model's weights that says its shapes. It is read here and kept nowhere.",
    )


def _uploaded(key: str) -> None:
    file = st.session_state.get(key)
    st.session_state.pop(_PROBLEM, None)
    if file is None:
        st.session_state.pop(_OWN, None)
        return
    try:
        st.session_state[_OWN] = read_config_text(file.getvalue(), "Your model", _plain(file.name))
    except PlannerError as error:
        st.session_state.pop(_OWN, None)
        st.session_state[_PROBLEM] = str(error)


def _plain(name: str) -> str:
    """A file's name without anything that a page could read as markup."""
    return re.sub(r"[^\w. -]", "", name)[:40] or "config.json"
