"""Profiles: what a log showed, saved by name on this machine, listed, and used in the plan."""

import re
from dataclasses import replace

import streamlit as st

from planner.errors import PlannerError
from planner.export import to_json
from planner.inputs.choices import Choices
from planner.inputs.profile_files import (
    MAX_NAME_CHARACTERS,
    delete_profile,
    load_profile,
    own_folder,
    profile_paths,
    save_profile,
)
from planner.startups.report import LogReport
from planner.units import format_bytes, format_size
from ui import own_config
from ui.fields import profiles as profile_fields
from ui.option_words import in_fields
from ui.own_config import no_markup
from ui.scenario import apply
from ui.sections import log_form
from ui.words import engine_words

PLAN = "ui/pages/plan.py"
NAME = "log_profile_name"
TRIED, MEASURED, SAVED = "tried", "measured", "saved"
"""Places on the page from which a plan is taken."""
_PROBLEM, _TAKEN = "_profile_problem", "_log_taken"


def use(report: LogReport) -> None:
    """The measured items of this log, to be saved and used."""
    profile, choices = report.profile, report.choices
    if profile is None or choices is None:
        return
    st.header("Use these readings in other plans", anchor=False)
    items = ", ".join(f"{item.name} {format_bytes(item.bytes)}" for item in profile.items)
    st.markdown(
        f"Measured by this start: **{items}**. In a plan of the same model, engine, version and card they take the "
        "place of what is assumed: other contexts, users and cache formats are then as exact as the log."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("Name", value=_name(choices), key=NAME, max_chars=MAX_NAME_CHARACTERS)
        started = next((one.choices for one in report.would_start if one.starts and one.choices), choices)
        st.button("Save and use in the plan", key="log_save", type="primary", on_click=_save, args=(report, started))
        st.download_button(
            "Download", f"{to_json(profile)}\n", file_name=f"{_name(choices)}.json", mime="application/json",
            key="log_profile_file", on_click="ignore", icon=":material/download:",
        )  # fmt: skip
    if problem := st.session_state.pop(_PROBLEM, ""):
        st.caption(f":orange[:material/edit:] {no_markup(problem)}")
    taken(MEASURED)


def saved() -> None:
    """Every profile of one's own: of what it is, to use it or to delete it."""
    names = {name: path for name, path in profile_paths().items() if path.parent == own_folder()}
    st.header("Saved readings", anchor=False)
    if not names:
        st.caption("None yet: save what a log shows, or bring what another machine saved.")
    for number, (name, path) in enumerate(names.items()):
        try:
            profile = load_profile(path)
        except PlannerError as error:
            said, choices = no_markup(in_fields(error)), None
        else:
            of = profile.subject
            card = format_size(of.memory_bytes) if of.device == "stated" else of.device
            said = f"{of.model or 'any model'}, {engine_words(of.engine, of.engine_version)}, {card}"
            is_stated = of.device == "stated" or of.is_machine
            device = {"memory": str(of.memory_bytes)} if is_stated else {"device": of.device}
            choices = Choices(
                model=of.model, engine=of.engine, engine_version=of.engine_version, profile=name, **device
            )
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{name}**: {said}", width="content")
            if choices is not None:
                st.button("Use", key=f"profile_use_{number}", on_click=take, args=(choices, SAVED))
            profile_fields.take_away(name, f"profile_file_{number}")
            st.button("Delete", key=f"profile_delete_{number}", on_click=_delete, args=(name,), type="tertiary")
    profile_fields.bring("log")
    taken(SAVED)


def take(choices: Choices, place: str) -> None:
    """*choices* into the set-up, which is then said at *place*; for use in a widget's callback."""
    if log_form.architecture(choices) is None:
        own_config.forget()
    apply(choices)
    st.session_state[_TAKEN] = place


def taken(place: str) -> None:
    """Says that the set-up asks for it now, where it was clicked, with the way to the plan."""
    if st.session_state.get(_TAKEN) == place:
        del st.session_state[_TAKEN]
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(":green[:material/check_circle:] The set-up asks for it now.", width="content")
            st.page_link(PLAN, label="See the plan", icon=":material/fact_check:")


def _save(report: LogReport, choices: Choices) -> None:
    assert report.profile is not None
    name = st.session_state[NAME].strip()
    try:
        save_profile(report.profile, name)
    except PlannerError as error:
        st.session_state[_PROBLEM] = in_fields(error)
    else:
        take(replace(choices, profile=name), MEASURED)


def _delete(name: str) -> None:
    try:
        delete_profile(name)
    except PlannerError as error:
        st.session_state[_PROBLEM] = in_fields(error)


def _name(choices: Choices) -> str:
    """A name to begin with: model, engine, version and card."""
    words = (choices.model, choices.engine, choices.engine_version or "", choices.device or choices.memory or "")
    return re.sub(r"[^\w.-]+", "-", "-".join(filter(None, words)), flags=re.ASCII)[:MAX_NAME_CHARACTERS].strip("-._")
