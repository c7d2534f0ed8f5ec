"""Profiles as files: one brought from another machine is kept on this one, and any kept one is taken away."""

import re
from pathlib import PurePath

import streamlit as st

from planner.errors import PlannerError
from planner.export import to_json
from planner.inputs.profile_files import MAX_NAME_CHARACTERS, find_profile, read_profile, save_profile
from ui import form
from ui.option_words import in_fields
from ui.own_config import no_markup

MAX_MB = 4
_TOLD, _ROUND = "_profile_file_told", "_profile_file_round"
_HELP = (
    "As kvbudget log --save, python -m measure calibrate and this app write it. It is kept on this machine by its name."
)


def take_away(name: str, key: str) -> None:
    """A button that downloads the kept profile *name*; nothing where it cannot be read."""
    try:
        text = f"{to_json(find_profile(name))}\n"
    except PlannerError:
        return
    st.download_button(
        "Download",
        text,
        file_name=f"{name}.json",
        mime="application/json",
        key=key,
        on_click="ignore",
        icon=":material/download:",
        type="tertiary",
    )


def in_sidebar() -> None:
    """Beneath the field that chooses a profile: one from a file is kept and chosen, the chosen one is taken away."""
    with st.expander("Profile files", key="profile_files"):
        bring("sidebar")
        if (chosen := st.session_state.get("profile", form.NONE)) != form.NONE:
            take_away(chosen, "profile_chosen_file")


def bring(place: str) -> None:
    """A field for a profile's file, and at the same *place* what came of it."""
    key = f"profile_upload_{place}_{st.session_state.get(_ROUND, 0)}"
    st.file_uploader(
        "A profile from another machine",
        type="json",
        key=key,
        max_upload_size=MAX_MB,
        on_change=_uploaded,
        args=(key, place),
        help=_HELP,
    )
    told, problem, kept = st.session_state.get(_TOLD, ("", "", ""))
    if told == place and problem:
        st.warning(no_markup(problem), icon=":material/description:")
    elif told == place:
        del st.session_state[_TOLD]
        st.caption(f":green[:material/check_circle:] *{kept}* is kept, and the set-up asks for it.")


def _uploaded(key: str, place: str) -> None:
    file = st.session_state.get(key)
    if file is None:
        return
    name = re.sub(r"[^\w.-]+", "-", PurePath(file.name).stem, flags=re.ASCII).strip("-._")[:MAX_NAME_CHARACTERS]
    try:
        save_profile(read_profile(file.getvalue(), file.name), name)
    except PlannerError as error:
        st.session_state[_TOLD] = place, in_fields(error), ""
        return
    st.session_state["profile"] = name
    st.session_state[_TOLD] = place, "", name
    st.session_state[_ROUND] = st.session_state.get(_ROUND, 0) + 1
