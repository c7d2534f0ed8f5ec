"""The Measure page's results: readings beside predictions, the report, and the profile made from them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from measure.calibrate import calibrate, default_name, keep, profile_note, profile_rows
from measure.chapter import chapter, source
from measure.compare import comparison, passed_over
from measure.effects import HOLDS, NOT_YET, Effect, effects
from measure.findings import RIGHT, Closeness, Finding, findings, size, worst_first
from measure.rows import Rows
from planner.errors import PlannerError
from planner.export import to_csv, to_json, to_markdown
from planner.inputs.choices import Choices
from planner.presets import find_device
from planner.units import GIB, format_bytes, parse_bytes
from ui.charts.measured import FILLS, SIGNS, identity_chart
from ui.draw import draw
from ui.option_words import in_fields
from ui.own_config import no_markup
from ui.scenario import apply
from ui.sections.measure_words import size_words
from ui.tables.html import html_table, swatches

SHOWN_ROWS, SHOWN_DISAGREEMENTS = 12, 3
SAME_CARD_SHARE = 0.95
"""A card with less of it free is planned by what is free."""
COLUMNS = ("What", "Predicted", "Measured", "Difference")


def read(folder: Path) -> tuple[list[Finding], str]:
    """The pairs in *folder*, and a sentence about a file that is no record, or lines that were cut short."""
    try:
        return findings(comparison(folder)), passed_over(folder)
    except PlannerError as error:
        return [], in_fields(error)


def beside(found: Sequence[Finding]) -> None:
    st.header("Predicted beside measured", anchor=False)
    apart = worst_first(one for one in found if one.closeness not in RIGHT)
    exact = [one for one in found if one.closeness in RIGHT]
    largest = {one.experiment: one for one in sorted(exact, key=lambda one: one.measured)}
    named = "; ".join(f"{one.name}, {size(one)}" for one in apart[:SHOWN_ROWS])
    if any(one.quantity.endswith("bytes") for one in found):
        st.html(
            swatches(
                [
                    (FILLS[kind], f"{SIGNS[kind]} {kind}")
                    for kind in Closeness
                    if any(one.closeness is kind for one in found)
                ]
            )
        )
        draw(
            identity_chart,
            tuple(found),
            alt=f"Measured against predicted bytes: {len(exact):,} of {len(found):,} on the line. {named}",
            key="identity",
        )
        st.caption("Grey band: within a factor of two. Every point stands in the table.")
    st.html(html_table(COLUMNS, [_row(one) for one in (*apart, *largest.values())][:SHOWN_ROWS]))
    with st.expander(f"All {len(found):,} pairs, and as files", key="all_pairs", on_change="rerun") as box:
        if box.open:
            st.html(html_table(COLUMNS, [_row(one) for one in found]))
            rows = [
                {"what": one.name, "predicted": one.predicted, "measured": one.measured, "ratio": one.ratio}
                for one in found
            ]
            _files("pairs", {"csv": to_csv(rows), "json": to_json(rows) + "\n"})


def report(found: Sequence[dict[str, Any]], folder: Path) -> None:
    """Each experiment's sentence; its tables and pictures one click away."""
    st.header("What each experiment showed", anchor=False)
    for result in found:
        name = result["experiment"]
        st.markdown(f"**{name}** · Learned: {no_markup(result['lesson'])}")
        for said in result["disagreements"][:SHOWN_DISAGREEMENTS]:
            st.markdown(f":orange[:material/rule:] Disagrees: {no_markup(said)}")
        for case in result["without_reading"]:
            st.markdown(f":gray[:material/do_not_disturb_on:] {no_markup(_without(case))}")
        more = len(result["disagreements"]) - SHOWN_DISAGREEMENTS
        beyond = f", {more} more that disagree" if more > 0 else ""
        with st.expander(f"{name}: tables and pictures{beyond}", key=f"result_{name}", on_change="rerun") as box:
            if box.open:
                for said in result["disagreements"][SHOWN_DISAGREEMENTS:]:
                    st.markdown(f"Disagrees too: {no_markup(said)}")
                _result(result)
    st.caption(f"All of it as files: {folder.resolve()}")


def effects_table(folder: Path) -> None:
    """The documented effects, and whether this machine's readings show them."""
    try:
        found = [one for one in effects(folder) if one.verdict != NOT_YET]
    except PlannerError:
        return  # the broken file is said above
    if not found:
        return
    shown = sum(one.verdict == HOLDS for one in found)
    st.header(f"{shown} of {len(found)} known effects show", anchor=False)
    st.caption(no_markup(Rows(folder).said()))
    st.html(html_table(("Effect", "Measured", "Figures"), [_effect_row(one) for one in found], text=(0, 1, 2)))


def chapter_table(folder: Path) -> None:
    """The textbook's figures beside this machine's; those that follow from shapes alone are everywhere the same."""
    try:
        rows = chapter(folder)
    except PlannerError:
        return  # the broken file is said above
    st.header("The chapter against this machine", anchor=False)
    st.caption(no_markup(f"Textbook: {source()}. {Rows(folder).said()} Ratios and shapes matter, not seconds."))
    cells = [(f"{row['figure']}\n{row['topic']}", row["textbook"], row["here"]) for row in rows]
    st.html(html_table(("Figure", "Textbook", "Measured"), cells, text=(0, 1, 2)))
    _files("chapter", {"csv": to_csv(rows), "json": to_json(rows) + "\n", "md": to_markdown(rows)})


def profile(choices: Choices, folder: Path, machine: dict[str, Any] | None) -> None:
    """What was fitted to the readings, and the button that keeps it and plans with it."""
    try:
        made = calibrate(folder)
    except PlannerError:
        st.caption("A profile for the plan needs passes: run *prefill-decode* and *batching*, or everything.")
        return
    st.header("A profile of this machine", anchor=False)
    st.markdown(f"{no_markup(made.title)}. What follows from shapes is exact already and never fitted.")
    st.html(html_table(("What", "Fitted", "Off by"), profile_rows(made), text=(0, 1, 2)))
    st.caption(profile_note(made))
    asked = choices if machine is None else on_machine(choices, machine)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("Its name", value=default_name(made), key="profile_name", max_chars=60)
        st.button(
            "Save it and use it in the plan",
            key="save_profile",
            icon=":material/save:",
            on_click=_use,
            args=(asked, folder),
        )
        st.button("Only save it", key="keep_profile", type="tertiary", on_click=_keep, args=(folder,))
    if _card(asked) != _card(choices):
        st.caption(
            f"A profile holds on this machine alone: used, the plan has its {no_markup(_card(asked))} in place of "
            f"{no_markup(_card(choices))}, and {no_markup(made.subject.engine)} as engine."
        )
    if said := st.session_state.get("_profile_said"):
        st.markdown(said)


def on_machine(choices: Choices, machine: dict[str, Any]) -> Choices:
    """The plan on *machine*: its card by name where nearly all of it is free, else what is free now."""
    if machine["preset"] and machine["free_bytes"] >= SAME_CARD_SHARE * machine["total_bytes"]:
        return replace(choices.without_cards(), device=machine["preset"])
    free = f"{max(machine['free_bytes'] / GIB, 0.01):.2f}GiB"
    return replace(choices.without_cards(), memory=free)


def _card(choices: Choices) -> str:
    """The device of a plan in words."""
    if choices.device:
        return find_device(choices.device).title
    return format_bytes(parse_bytes(choices.memory)) if choices.memory else "no card"


def _use(asked: Choices, folder: Path) -> None:
    """Keeps the profile, and the plan becomes *asked* with it."""
    if kept := _keep(folder):
        name, engine = kept
        apply(replace(asked, engine=engine, engine_version=None, set=(), overhead=None, profile=name))
        st.session_state["_profile_said"] += ", and the plan uses it."


def _keep(folder: Path) -> tuple[str, str] | None:
    """Under the name that stands there now: a click ends the typing of it. Its name and engine; ``None``: it cannot."""
    try:
        made = calibrate(folder)
        path = keep(made, st.session_state.profile_name)
    except PlannerError as error:
        st.session_state["_profile_said"] = f":orange[:material/edit:] {no_markup(in_fields(error))}"
        return None
    st.session_state["_profile_said"] = f":green[:material/check_circle:] Kept as **{no_markup(path.stem)}**"
    return path.stem, made.subject.engine


def _effect_row(one: Effect) -> tuple[str, str, str]:
    return one.effect, f"{'✓' if one.verdict == HOLDS else '✗'} {one.verdict}", one.figures


def _row(one: Finding) -> tuple[str, str, str, str]:
    sides = size_words(one, one.predicted), size_words(one, one.measured)
    what = one.name[:1].upper() + one.name[1:]
    return (f"{what}\n{one.experiment}", *sides, f"{SIGNS[one.closeness]} {size(one)}")


def _without(case: dict[str, str]) -> str:
    reason = case["reason"].strip().splitlines() or [""]
    return f"{case['case']}: {case['outcome'].replace('_', ' ')}. {reason[-1]}"


def _result(result: dict[str, Any]) -> None:
    name = result["experiment"]
    for number, table in enumerate(result["tables"]):
        rows = table["rows"]
        if not rows:
            continue
        if table["chart"] is not None:
            spec = {key: value for key, value in table["chart"].items() if key not in ("width", "config")}
            st.vega_lite_chart(spec=spec, alt=result["lesson"], key=f"chart_{name}_{number}", width="stretch")
        st.dataframe(rows, key=f"table_{name}_{number}", hide_index=True)
        stem = f"{name}-{table['name']}" if table["name"] else name
        _files(stem, {"csv": to_csv(rows), "json": to_json(rows) + "\n"})


def _files(stem: str, texts: dict[str, str]) -> None:
    with st.container(horizontal=True):
        for suffix, text in texts.items():
            st.download_button(
                suffix.upper(), text, file_name=f"kv-budget-{stem}.{suffix}", key=f"download_{stem}_{suffix}",
                on_click="ignore", icon=":material/download:",
            )  # fmt: skip
