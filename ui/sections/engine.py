"""What the chosen engine makes of the plan: its own figures, and the command that starts it."""

import streamlit as st

from planner.answers.answer import Answer
from planner.budget import Case
from planner.deployment import MINIMUM
from planner.engine_comparison import for_engine
from planner.errors import PlannerError
from planner.inputs.choices import Choices, Chosen
from planner.launch import LAUNCHERS
from planner.line_item import Basis
from planner.spread import Left, spread
from planner.starting import start
from planner.tried_formats import runs_on
from planner.units import format_bytes
from ui.option_words import in_fields
from ui.own_config import no_markup
from ui.tables.html import html_table
from ui.words import engine_title, engine_words

CASES = {
    Case.BEST: "Runtime low",
    Case.EXPECTED: "As expected",
    Case.WORST: "Runtime high",
}
ANY = "any"


def own_figures(chosen: Chosen, answer: Answer) -> None:
    """What the engine prints, and what assumed items leave at both ends of their range."""
    cases = spread(chosen)
    report = answer.report
    if len(cases) == 1 and report is None:
        return
    title = engine_title(answer.engine)
    st.header(f"What {title} reserves, and what is left" if report else "What is left at either end", anchor=False)
    if report is not None:
        st.markdown(_printed(answer))
    columns = ["", "Runtime", "Left for the cache", "Longest for one user", f"Users at {answer.context_tokens:,}"]
    if report is not None and report.num_blocks:
        columns += ["Tokens it prints", "Concurrency"]
    rows = [_row(case)[: len(columns)] for case in cases]
    st.html(html_table(columns, rows, wide_only=(1, 5, 6), own=next(i for i, c in enumerate(cases) if _is_own(c))))
    measured = "Nothing in it is assumed." if len(cases) == 1 else "Low and high: the range of public readings."
    groups = f" {'; '.join(report.groups)}." if report is not None and report.num_blocks else ""
    st.caption(f"{measured}{groups}")


def measured_on(choices: Choices, chosen: Chosen, answer: Answer, unused: str) -> None:
    """What a profile puts in the place of assumed items, or why it does not."""
    if unused:
        st.caption(f":material/straighten: {no_markup(unused)}")
    elif choices.profile is not None:
        items = [item.name for item in answer.items if item.basis is Basis.MEASURED]
        subject = None if chosen.deployment.profile is None else chosen.deployment.profile.subject
        is_machine = subject is not None and subject.is_machine
        how, where = ("its allocator", "this machine") if is_machine else ("a log", answer.device)
        said = f"{', '.join(items)}, read from {how}." if items else "nothing that holds for this plan."
        st.caption(
            f":material/straighten: **Measured on {where}** with "
            f"{engine_words(answer.engine, answer.engine_version)}, profile *{choices.profile}*: {said}"
        )


def start_it(choices: Choices, chosen: Chosen) -> None:
    """The command of the chosen engine, or of any other that has one, and the same plan as a command."""
    device = chosen.deployment.device
    engines = [name for name in LAUNCHERS if name == choices.engine or runs_on(name, device)]
    if engines:
        heading = st.empty()
        engine = st.pills(
            "The command for",
            engines,
            default=choices.engine if choices.engine in engines else engines[0],
            required=True,
            key=f"launch_{choices.engine}",
            format_func=engine_title,
        )
        heading.header(_command(choices, chosen, engine), anchor=False)
    st.header("The same plan in a terminal", anchor=False)
    st.code(choices.command(), language=None, wrap_lines=True)


def _command(choices: Choices, chosen: Chosen, engine: str) -> str:
    """The command for this plan with *engine*, and its title; what only the chosen engine has is left out."""
    try:
        found = start(for_engine(choices, engine), chosen.architecture)
    except PlannerError as error:
        st.markdown(f":orange[:material/edit:] {no_markup(in_fields(error))}")
        return "It does not start like this"
    assert found is not None, engine
    if found.command is None:
        if found.change:
            st.markdown("A command would have to name what is not known here, such as a checkpoint in that format.")
        else:
            st.markdown(f"{engine_title(engine)} would need more than one: so there is no command to copy.")
        return found.title
    if found.change:
        st.markdown(f":orange[:material/edit:] **{no_markup(found.change)}**")
    if found.command.files:
        st.markdown("No file in this format is known to be published: make it first.")
        st.code(found.command.files, language="sh", wrap_lines=True)
    st.code(found.command.text, language=found.command.language, wrap_lines=True)
    for note in found.command.notes:
        st.caption(f":material/info: {no_markup(in_fields(note))}")
    if engine != choices.engine:
        st.caption(f"With {engine_title(engine)}'s own defaults; this page counts with {_counted(choices)}.")
    return found.title


def _counted(choices: Choices) -> str:
    return "no engine" if choices.engine == MINIMUM else engine_title(choices.engine)


def _printed(answer: Answer) -> str:
    """The engine's own words for the pool, and whose rules were used."""
    report = answer.report
    assert report is not None
    words = engine_words(answer.engine, answer.engine_version)
    longest = report.longest_start_tokens
    starts = "a context of any length starts" if longest is None else f"the longest context that starts is {longest:,}"
    if report.block_size and report.pool_bytes <= 0:
        return f"By the rules of **{words}** there is no room for a pool, and nothing to print."
    if not report.num_blocks:
        printed = f": **{report.groups[0]}**" if report.groups else ", beside a draft"
        return f"By the rules of **{words}**{printed}; {starts}."
    return (
        f"By the rules of **{words}** it prints **{report.pool_tokens:,} tokens** of cache and a concurrency of "
        f"**{report.max_concurrency:.2f}x** at {answer.context_tokens:,} tokens: {report.num_blocks:,} blocks, "
        f"{report.blocks_per_request:,} for one request; {starts}."
    )


def _row(left: Left) -> tuple[str, ...]:
    is_short = left.room_bytes < 0
    return (
        CASES[left.case],
        format_bytes(left.runtime_bytes),
        f"{format_bytes(-left.room_bytes)} short" if is_short else format_bytes(left.room_bytes),
        # The card has room for a token, and what lies in main memory has not.
        "main memory short" if left.room_bytes > 0 and left.one_user_tokens == 0 else _count(left.one_user_tokens),
        _count(left.max_users),
        _count(left.pool_tokens),
        ANY if left.max_concurrency is None else f"{left.max_concurrency:.2f}x",
    )


def _is_own(left: Left) -> bool:
    return left.case is Case.EXPECTED


def _count(number: int | None) -> str:
    return ANY if number is None else f"{number:,}"
