"""A model that is not in the list: uploaded, read from Hugging Face, or written down as a custom config.

What was uploaded or fetched stays in this session. A custom config stands in the field ``custom``: a link carries it.
"""

import re
from collections.abc import Callable

import streamlit as st

from planner.architecture import Architecture
from planner.errors import PlannerError, UnknownName
from planner.inputs.custom import read_custom
from planner.inputs.model_files import load_model
from planner.inputs.uploads import SUFFIXES, read_uploads
from ui import form
from ui.address import NOTES, model_state
from ui.option_words import in_fields

MAX_MB = 16
CUSTOM = "custom"
OWN_PAGE = "ui/pages/own.py"
_LAST = "_last_model"
_OWN = "_own_architecture"
_ONLINE = "_own_online"
_PROBLEM = "_own_problem"
_ROUND = "_upload_round"
FILES = (
    "A config.json, with its hf_quant_config.json or model.safetensors.index.json if it has them; or the beginning of "
    "a .gguf or .safetensors, which says all: head -c 15M model.gguf > head.gguf. Read here and kept nowhere. "
    "Whole files of any size: kvbudget plan --model FILE."
)


def architecture() -> Architecture | None:
    """The reader's own model, if there is one."""
    own: Architecture | None = st.session_state.get(_OWN)
    return own or _custom()


def is_online() -> bool:
    """Whether it was read from Hugging Face, so that a command must be allowed to."""
    return _OWN in st.session_state and bool(st.session_state.get(_ONLINE))


def forget() -> None:
    """Back to the list of models; for use in a widget's callback."""
    for key in (_OWN, _ONLINE, _PROBLEM, NOTES):
        st.session_state.pop(key, None)
    if st.session_state.get(CUSTOM):
        st.session_state[CUSTOM] = ""
    st.session_state[_ROUND] = st.session_state.get(_ROUND, 0) + 1


def model_chosen() -> None:
    """A model picked from the list, or found by what was typed: an id, a tag, an address; a widget's callback."""
    typed = str(st.session_state["model"] or "")
    forget()
    try:
        st.session_state.update(model_state(typed))
    except PlannerError as error:
        listed = next((title for title in form.model_names() if typed.lower() in title.lower()), None)
        if listed is not None:  # the first of those that the list showed, which Enter takes
            st.session_state["model"] = listed
            return
        elsewhere = " Other ids are read under *From Hugging Face*." if "/" in typed else ""
        st.session_state[_PROBLEM] = f"{no_markup(in_fields(error))}{elsewhere}"
        st.session_state["model"] = st.session_state.get(_LAST, form.DEFAULTS["model"])


def keep_model() -> None:
    """Keeps what the field says, to come back to when something else is typed in vain."""
    st.session_state[_LAST] = st.session_state["model"]


def note() -> None:
    """Says what is the model now, or why it is not; beneath the field for the model."""
    if said := problem():
        st.warning(f"{said} The model is still the one chosen above.", icon=":material/description:")
    own = architecture()
    if own is None:
        return
    if _OWN not in st.session_state:
        said = "a custom config, takes its place. A link to this page carries it."
    elif is_online():
        said = "read from Hugging Face, takes its place. A link to this page does not carry it."
    else:
        said = "your own file, takes its place. A link to this page does not carry it."
    st.caption(f"**{plain(own.title, 'Your model')}**, {said}")
    st.button("Use the list again", key="forget_own", on_click=forget, icon=":material/undo:")


def problem() -> str:
    """Why the last file, id or custom config is no model; empty where nothing is wrong."""
    return st.session_state.get(_PROBLEM) or _custom_problem()


def uploader(place: str = "upload") -> None:
    """The field for files; *place* tells two of them apart."""
    key = f"{place}_{st.session_state.get(_ROUND, 0)}"
    st.file_uploader(
        "Your own config.json, GGUF …",
        type=list(SUFFIXES),
        accept_multiple_files=True,
        key=key,
        max_upload_size=MAX_MB,
        on_change=_uploaded,
        args=(key,),
        help=FILES,
    )


def hub_field() -> None:
    """An id on Hugging Face, read when the button is pressed and never before."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("Id on Hugging Face", key="hub_id", max_chars=200, placeholder="organisation/model")
        st.button("Read from Hugging Face", key="read_hub", icon=":material/cloud_download:", on_click=_fetched)
    st.caption(
        "Offline until you press. Then the model's configs and the headers of its weights are asked for, a few MB at "
        "most, and kept in the cache that huggingface_hub has on this machine. Nothing of yours is sent but the id, "
        "and for a gated model the token from its usual place, which is never shown."
    )


def use_custom(text: str) -> None:
    """*text* becomes the custom config; for use in a widget's callback."""
    forget()
    st.session_state[CUSTOM] = text


def _uploaded(key: str) -> None:
    files = st.session_state.get(key) or []
    if not files:
        st.session_state.pop(_PROBLEM, None)
        st.session_state.pop(_OWN, None)
        return
    _take(lambda: read_uploads({plain(file.name, "config.json"): file.getvalue() for file in files}))


def _fetched() -> None:
    name = st.session_state.get("hub_id", "").strip()
    if not name:
        return
    try:
        found = model_state(name)
    except UnknownName:
        _take(lambda: load_model(name, online=True), online=True)
    else:
        forget()
        st.session_state.update(found)


def _take(read: Callable[[], Architecture], online: bool = False) -> None:
    st.session_state.pop(_PROBLEM, None)
    try:
        st.session_state[_OWN] = read()
        st.session_state[_ONLINE] = online
    except PlannerError as error:
        st.session_state.pop(_OWN, None)
        st.session_state[_PROBLEM] = no_markup(in_fields(error))


def _custom() -> Architecture | None:
    text = st.session_state.get(CUSTOM, "").strip()
    try:
        return read_custom(text) if text else None
    except PlannerError:
        return None


def _custom_problem() -> str:
    text = st.session_state.get(CUSTOM, "").strip()
    try:
        if text:
            read_custom(text)
    except PlannerError as error:
        return no_markup(in_fields(error))
    return ""


def no_markup(sentence: str) -> str:
    """A sentence with a stranger's words in it, so that none is read as markup."""
    return re.sub(r"([\\`*\[\]<>$])", r"\\\1", sentence)


def plain(name: str, otherwise: str) -> str:
    """A name without anything that a page could read as markup."""
    return re.sub(r"[^\w./ -]", "", name)[:60] or otherwise
