"""Plan: does it fit, by how much, what would help, and where every byte goes."""

import streamlit as st

from planner.advice import Fix, fixes
from planner.answers.answer import Answer
from planner.answers.card import driver_keeps_bytes, segments
from planner.answers.figures import beyond_limit, one_user_tokens
from planner.answers.words import asked
from planner.budget import prepare
from planner.deployment import Device
from planner.frontier import frontier
from planner.inputs.choices import Choices, Chosen
from planner.line_item import Basis
from planner.pulled_file import pulled_instead
from planner.units import format_bytes, format_rate, words_for_tokens
from ui import own_config, page
from ui.charts.plan import card_bar, frontier_chart
from ui.draw import draw
from ui.examples import EXAMPLES
from ui.option_words import in_fields
from ui.scenario import Scenario, apply
from ui.sections.engine import measured_on, own_figures, start_it
from ui.sections.engine_comparison import minimum_and_reserved
from ui.tables.items import host_table, item_table
from ui.tables.shares import share_table
from ui.words import BASIS_WORDS, ICONS

SHOWN_FIXES = 3


def main() -> None:
    plan = page.answered_plan()
    if plan is None:
        _examples()
        return
    _verdict(plan)
    measured_on(plan.choices, plan.chosen, plan.answer, plan.unused)
    _numbers(plan.answer)
    if not plan.answer.fits:
        _fixes(plan.choices, plan.chosen, plan.answer)
    _examples()
    _memory(plan.chosen, plan.answer)
    own_figures(plan.chosen, plan.answer)
    _stretch(plan.chosen, plan.answer)
    minimum_and_reserved(plan.choices, plan.chosen.architecture)
    start_it(plan.choices, plan.chosen)
    page.next_links(
        ("ui/pages/tables.py", "Compare 8, 16 and 24 GiB", ":material/table_chart:"),
        ("ui/pages/speed.py", "How fast will it be?", ":material/speed:"),
    )


def _verdict(plan: Scenario) -> None:
    assert plan.verdict is not None
    st.title(f"{ICONS[plan.verdict.state]} {plan.verdict.title}", anchor=False)
    st.markdown(plan.verdict.sentence)
    if plan.answer is not None and plan.chosen is not None:
        pulled = pulled_instead(plan.choices, plan.chosen.architecture, plan.answer)
        for said in (*([pulled] if pulled else []), *plan.answer.warnings):
            st.caption(f":material/info: {in_fields(said)}")


def _numbers(answer: Answer) -> None:
    room = one_user_tokens(answer)
    each = "tokens" if answer.users == 1 else "tokens each"
    if beyond_limit(answer):
        each = f"by memory; the model was made for {answer.model_limit_tokens:,}"
    users = "1 user" if answer.users == 1 else f"{answer.users:,} users"
    with st.grid(4, min_column_width=150):
        page.number(
            "Room in the cache",
            _count(room),
            _words(room),
            help="Tokens of one conversation that the card can hold once weights and runtime are in.",
        )
        page.number(f"Longest, for {users}", _count(answer.max_context_tokens), each)
        page.number(f"Most users at {answer.context_tokens:,}", _count(answer.max_users), "at once")
        cost = answer.kv_bytes_per_token
        page.number("One more token costs", format_rate(cost), f"{cost:,} B exactly")


def _count(number: int | None) -> str:
    return "no limit" if number is None else f"{number:,}"


def _words(tokens: int | None) -> str:
    if tokens is None:
        return "any length"
    return f"≈ {words_for_tokens(tokens):,} words" if tokens else "none"


def _fixes(choices: Choices, chosen: Chosen, answer: Answer) -> None:
    found = fixes(choices, chosen.architecture, answer)
    if not found:
        st.markdown("No single change of format, card or wish is enough, or brings it nearer.")
        return
    st.header("What would make it fit" if found[0].enough else "What would bring it nearer", anchor=False)
    with st.grid(SHOWN_FIXES, min_column_width=200):
        for number, fix in enumerate(found[:SHOWN_FIXES]):
            _fix(fix, number)
    if found[SHOWN_FIXES:]:
        with st.expander("More ways", key="more_ways"), st.grid(SHOWN_FIXES, min_column_width=200):
            for number, fix in enumerate(found[SHOWN_FIXES:], SHOWN_FIXES):
                _fix(fix, number)


def _fix(fix: Fix, number: int) -> None:
    icon = ":green[:material/check_circle:]" if fix.enough else ":gray[:material/do_not_disturb_on:]"
    with st.container(border=True, height="stretch"):
        st.markdown(f"{icon} **{fix.change}**")
        st.markdown(fix.result + ("." if fix.enough else ". Not enough alone."))
        st.button("Try it", key=f"fix_{number}", on_click=apply, args=(fix.choices,))


def _examples() -> None:
    st.pills("Or start from an example", list(EXAMPLES), key="example", on_change=_start_from)


def _start_from() -> None:
    picked = st.session_state["example"]
    st.session_state["example"] = None
    if picked in EXAMPLES:
        own_config.forget()
        apply(EXAMPLES[picked])


def _memory(chosen: Chosen, answer: Answer) -> None:
    device = chosen.deployment.device
    st.header("Where the memory goes", anchor=False)
    parts = ", ".join(f"{item.name} {format_bytes(item.bytes)}" for item in answer.items)
    draw(
        card_bar,
        segments(answer, device),
        answer.memory_bytes,
        alt=f"The card as a bar: {parts}; usable {format_bytes(answer.memory_bytes)}.",
        key="card_bar",
    )
    st.html(item_table(answer, chosen))
    if answer.shares:
        st.html(share_table(answer))
    if answer.host_items:
        st.html(host_table(answer))
    used = [basis for basis in Basis if any(item.basis is basis for item in answer.items)]
    badges = " · ".join(f"**{basis}** {BASIS_WORDS[basis]}" for basis in used)
    st.caption(f"{_card_words(device)}Click an item for its formula. Badges: {badges}.")


def _card_words(device: Device) -> str:
    if device.nominal_gb is None:
        return ""
    kept = driver_keeps_bytes(device)
    driver = f"the driver keeps {format_bytes(kept)}, so programs see" if kept else "programs see"
    return f"Sold as {device.nominal_gb:g} GB; {driver} {format_bytes(device.memory_bytes)} ({device.memory_basis}). "


def _stretch(chosen: Chosen, answer: Answer) -> None:
    st.header("How far it stretches", anchor=False)
    border = frontier(prepare(chosen.architecture, chosen.deployment), chosen.workload, answer.model_limit_tokens)
    if not border.points:
        st.markdown("Nothing to draw: weights and runtime leave no room, so no context of any length fits.")
        return
    limit = "no limit" if border.limit_users is None else f"{border.limit_users:,} at most"
    draw(
        frontier_chart,
        border,
        answer.context_tokens,
        answer.users,
        answer.fits,
        alt=f"Context against users. Asked: {asked(answer)}; users at {answer.context_tokens:,} tokens: {limit}.",
        key="frontier",
    )


main()
