"""My log: what happened, what would start, each figure beside its prediction, and the readings for other plans."""

import shlex
from dataclasses import replace

import streamlit as st

from planner.catalogue.downloads import checkpoint_id, hub_id
from planner.inputs.choices import choose
from planner.launch import launch
from planner.launch.spelling import stand_in
from planner.logs.readings import Readings
from planner.startups.failures import failure_words
from planner.startups.lacks import COUNTED_BY, Lack
from planner.startups.report import LogReport, report_log
from planner.startups.trial import Try
from planner.startups.words import log_sentence, log_title, said_once, tries_words, try_words
from ui import page
from ui.option_words import in_fields
from ui.own_config import no_markup, plain
from ui.scenario import scenario
from ui.sections import log_form, log_input, log_profiles
from ui.sections.log_form import card_words, model_title
from ui.sections.log_profiles import PLAN, TRIED, take, taken
from ui.tables.log import log_table
from ui.words import engine_title

SHOWN_TRIES = 3
EXAMPLE_HEIGHT = 100
CONCLUDED = (
    "The log names no card",
    "One request takes",
    "By the plan there is room",
    "The weights are",
    "The cache on cards is",
    "It asked for",
    "It started, and",
)
"""How notes begin that the answer itself rests on."""
FAILED, STARTED = ":red[:material/cancel:]", ":green[:material/check_circle:]"


def main() -> None:
    readings = log_input.readings()
    if problem := log_input.unread():
        _unread(problem)
    elif readings is None:
        _example()
    else:
        _answer(readings)
    log_profiles.saved()
    page.next_links((PLAN, "Plan it", ":material/fact_check:"))


def _unread(problem: str) -> None:
    """What was given is no log: nothing is shown beside it that could be taken for its answer."""
    st.title(":orange[:material/edit:] Nothing in it is about memory", anchor=False)
    st.markdown(f"{problem} What you entered stays.")
    with st.container(border=True):
        log_input.fields()


def _example() -> None:
    """What the page makes of a log; one's own goes high up, so that its answer is in sight when it is read."""
    report, _ = _report(log_input.example())
    st.caption(" · ".join(["An example, until you paste your own log", *_words(report)]))
    title = log_title(report)
    st.title(f"Example: {title[:1].lower()}{title[1:]}", anchor=False)
    st.markdown(failure_words(report))
    with st.container(border=True):
        log_input.fields(EXAMPLE_HEIGHT)
    makes = tries_words(report.would_start)
    st.markdown(f"In this example {makes[:1].lower()}{makes[1:]}")
    _tries(report)
    _own_words(report)
    _figures(report)


def _answer(readings: Readings) -> None:
    report, assumed = _report(readings)
    st.caption(" · ".join(_words(report)))
    _title(report)
    st.markdown(log_sentence(report))
    if assumed:
        st.info(
            f"The log does not say which card it ran on: choose it here. Until then this is for a **{assumed}**, the "
            "set-up's.",
            icon=":material/memory:",
        )
    _tries(report)
    _missing(report)
    asks = bool(report.lacks or assumed)
    if asks:
        with st.container(border=True, key="log_ask"):
            log_form.fields(report)
    _own_words(report)
    _figures(report)
    log_profiles.use(report)
    if not asks:
        with st.expander("Not your model, card or settings? Correct them", key="log_correct"):
            for note in report.notes:
                if note != report.missing:
                    st.caption(f":material/info: {no_markup(in_fields(note))}")
            log_form.fields(report)
    with st.expander(f"Another log, or this one again ({log_input.source()})", key="log_itself"):
        log_input.fields()
        st.button("Forget it", key="log_forget", on_click=log_input.forget, icon=":material/delete:")


def _title(report: LogReport) -> None:
    icon = STARTED if report.failure is None else FAILED
    st.title(f"{icon} {log_title(report)}", anchor=False)


def _own_words(report: LogReport) -> None:
    if report.failure is not None:
        st.caption(f"In its own words, line {report.failure.line}: {no_markup(report.failure.message)}")


def _figures(report: LogReport) -> None:
    if not report.readings:
        return
    st.header("What the log says, and what we would have said", anchor=False)
    st.html(log_table(report.readings))
    st.caption("Click a figure for where it stands in the log and what its prediction rests on.")


def _report(readings: Readings) -> tuple[LogReport, str]:
    """The report on what is stated; where no card is, on the set-up's, and the words for that."""
    stated = log_form.stated(readings)
    found = report_log(readings, stated.choices, stated.number, stated.architecture)
    if found.lacks is not Lack.CARD:
        return found, ""
    plan = scenario()
    given = replace(stated.choices, device=plan.choices.device, memory=plan.choices.memory)
    card = plan.answer.device if plan.answer else plan.choices.memory or ""
    return report_log(readings, given, stated.number, stated.architecture), card


def _words(report: LogReport) -> list[str]:
    """What was recognised, in the order of the set-up's line."""
    known = report.choices
    words = [f"start {report.start} of {report.starts}"] if report.starts > 1 else []
    words.append(f"{engine_title(report.engine)} {report.version}".strip())
    if known is None:
        return [*words, *([plain(report.model, "")] if report.model else [])]
    words += [model_title(known.model), card_words(known)]
    if known.context:
        words.append(f"{known.context:,} tokens")
    return words


def _missing(report: LogReport) -> None:
    """What the log does not say, and where to say it."""
    if report.lacks is Lack.MODEL:
        named = "names no model"
        if report.model:
            named = f"is of **{plain(report.model, 'a model')}**, which is not in the list"
        then = "each figure gets its prediction" if report.failure is None else "you see what would start"
        st.info(f"The log {named}: choose it here, and {then}.", icon=":material/help:")
    elif report.lacks is Lack.COUNT:
        name = COUNTED_BY.get(report.engine, "tensor_parallel_size")
        st.info(
            f"By its figures it ran on several cards, and the log does not say on how many: add `{name}=8`, or as many "
            "as there were, to the settings here.",
            icon=":material/help:",
        )
    elif report.missing:
        st.info(no_markup(in_fields(report.missing)), icon=":material/help:")
    for note in report.notes:
        if note.startswith(CONCLUDED):
            st.caption(f":material/info: {no_markup(in_fields(note))}")


def _tries(report: LogReport) -> None:
    tries = _in_order(report.would_start)
    if not tries:
        return
    with st.grid(SHOWN_TRIES, min_column_width=210):
        for number, one in enumerate(tries[:SHOWN_TRIES]):
            _try(one, number, report)
    taken(TRIED)
    if tries[SHOWN_TRIES:]:
        with st.expander("More ways", key="log_more_ways"), st.grid(SHOWN_TRIES, min_column_width=210):
            for number, one in enumerate(tries[SHOWN_TRIES:], SHOWN_TRIES):
                _try(one, number, report)
    if tries[0].starts and tries[0].option and tries[0].choices is not None:
        with st.expander("The whole command with the first of them", key="log_command"):
            _command(tries[0], report)


def _in_order(tries: tuple[Try, ...]) -> list[Try]:
    """Flags that are enough first, then those that are with a shorter context, the longest first, then cards."""
    own = said_once(tries)
    enough = [one for one in own if one.starts and one.option]
    shorter = sorted((one for one in own if one.shorter_option), key=lambda one: -(one.max_context_tokens or 0))
    return [*enough, *shorter, *(one for one in own if one not in enough and one not in shorter)]


def _try(one: Try, number: int, report: LogReport) -> None:
    icon = ":green[:material/check_circle:]" if one.starts else ":gray[:material/do_not_disturb_on:]"
    cheapest = " :green-badge[cheapest]" if number == 0 and one.starts else ""
    is_engines = one.says == "engine"
    is_length = is_engines and one.choices is not None and one.choices.context is not None
    change = f"At most {one.choices.context:,} tokens a request" if is_length and one.choices else one.change
    with st.container(border=True, height="stretch"):
        st.markdown(f"{icon} **{change}**{cheapest}")
        if option := one.shorter_option or one.option:
            st.code(option, language=None, wrap_lines=True)
        agrees = any(o.says == "planner" and o.option == one.option and o.starts for o in report.would_start)
        own = f" {engine_title(report.engine)}’s own estimate{', and ours' if agrees else ''}." if is_engines else ""
        st.caption(try_words(one) + own)
        if one.choices is not None:
            choices = replace(one.choices, context=one.max_context_tokens) if one.shorter_option else one.choices
            st.button(
                "Plan with it",
                key=f"log_try_{number}",
                on_click=take,
                args=(choices, TRIED),
                icon=":material/arrow_forward:",
            )


def _command(one: Try, report: LogReport) -> None:
    """The engine's command with this change, for the checkpoint that the log names."""
    assert one.choices is not None
    found = launch(one.choices, choose(one.choices, log_form.architecture(one.choices)))
    if found is not None:
        text = found.text
        if report.choices is not None and one.choices.weights == report.choices.weights:
            model, weights = one.choices.model, one.choices.weights or ""
            for named in (stand_in(model, weights), checkpoint_id(model, weights) or hub_id(model)):
                if named in text:
                    text = text.replace(named, shlex.quote(report.model or model), 1)
                    break
        st.code(text, language=found.language, wrap_lines=True)
        for note in found.notes:
            st.caption(f":material/info: {no_markup(in_fields(note))}")


main()
