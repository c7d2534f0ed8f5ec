"""Speculation: is a draft faster or slower, from when on, for how many users, and what context does it cost."""

import shlex
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from planner.answers.answer import draft_warnings
from planner.answers.words import if_it_did
from planner.catalogue.performance_presets import speculation_overhead
from planner.catalogue.published_drafts import MODEL
from planner.draft import Draft
from planner.draft_trade import draft_model
from planner.errors import PlannerError
from planner.inputs.choices import choose_draft
from planner.speculation import speculate
from planner.speed.draft_map import (
    Drafting,
    alone_map,
    best_length,
    break_even_acceptance,
    together_map,
)
from planner.speed.drafting import BatchSpeculation
from planner.text.speculation import (
    WHAT_A_DRAFT_IS,
    alone_sentence,
    if_words_were_same,
    speedup_range,
    together_sentence,
    verdict_title,
)
from planner.units import format_figure
from ui import page
from ui.fields.drafts import COST, kind_field, sibling_field, sliders
from ui.one_server import ServerPlan, one_server
from ui.option_words import in_fields
from ui.pace import Pace, command, pace_fields, pace_words, ready, say_problem
from ui.sections.drafts import map_section, published_section, trade_section, users_section

MAP_ACCEPTANCES = tuple(tenth / 10 for tenth in range(1, 10))
MAP_LENGTHS = tuple(range(1, 9))
HELP = {
    "Times the speed": "Tokens a second with the draft, over those without it. Beneath: nine of ten published ones lay "
    "so near to what is counted here.",
    "Tokens a pass": "A pass gives the model's own token and the drafted ones before the first that it refuses.",
    "Each user, tokens/s": "What each of them gets with the draft, by the speed model.",
    "Best length": "How many drafted tokens each time make it fastest, when this share of them is accepted.",
    "Pays from": "At this length it is faster than no draft from this share of accepted tokens on.",
}
TOO_NEAR = 0.045
"""The reader's own column takes the place of a tenth so near to it."""


def main() -> None:
    plan = page.answered_plan()
    if plan is None:
        return
    plan = one_server(plan)
    top = st.container()
    kind = kind_field(plan)
    sibling = sibling_field(plan) if kind == MODEL else ""
    acceptance, tokens, cost, verified = sliders(kind)
    wish = pace_fields(plan)
    try:
        pace, refusal = ready(plan, wish), None
        drafting, warnings = _drafting(plan, pace, kind, sibling, cost, verified)
    except PlannerError as error:
        pace, drafting, warnings, refusal = None, None, (), error
    if kind == COST:
        _alone(top, acceptance, tokens, cost)
    elif drafting is None or pace is None or refusal is not None:
        with top:
            page.refused(type(refusal)(f"{refusal} *A stated cost* works without."))
        return
    else:
        _together(top, drafting, pace, acceptance, tokens, warnings)
        with top:
            page.as_if_it_fitted(pace.answer)
    if pace is not None and drafting is not None:
        say_problem(pace)
        users_section(pace, drafting, acceptance, tokens)
        trade_section(plan, pace, kind, sibling, acceptance, tokens, verified)
    elif refusal:
        st.caption(f":material/info: What many users make of it is not said. {refusal}")
    published_section()
    _command(plan, pace, drafting, kind, sibling, acceptance, tokens, cost)
    page.next_links(
        ("ui/pages/speed.py", "How fast without a draft?", ":material/speed:"),
        ("ui/pages/plan.py", "Does it fit?", ":material/fact_check:"),
    )


def _draft(plan: ServerPlan, kind: str, sibling: str) -> Draft:
    assert plan.chosen is not None
    asked = replace(plan.choices, draft_model=sibling if kind == MODEL else kind, draft_tokens=1)
    draft = choose_draft(asked, plan.chosen.architecture, plan.chosen.deployment.weights)
    assert draft is not None
    return draft


def _drafting(
    plan: ServerPlan, pace: Pace, kind: str, sibling: str, cost: float, verified: int | None
) -> tuple[Drafting, tuple[str, ...]]:
    """What drafts, and what is wrong with it as a draft of the model."""
    drafter, warnings = None, ()
    if kind != COST:
        draft = _draft(plan, kind, sibling)
        warnings = draft_warnings(draft, pace.chosen.architecture, pace.chosen.deployment)
        drafter = draft_model(draft, pace.model)
    found = Drafting(
        model=pace.model,
        constants=pace.constants,
        context_tokens=pace.context_tokens,
        overhead=speculation_overhead(),
        draft=drafter,
        draft_cost=cost if drafter is None else None,
        verified_tokens=verified,
    )
    return found, warnings


def _icon(speedup: float, is_real: bool) -> str:
    if not is_real:
        return ":orange[:material/block:]"
    return ":green[:material/trending_up:]" if speedup >= 1 else ":orange[:material/trending_down:]"


def _title(title: str, icon: str, sentence: str, numbers: tuple[tuple[str, str, str], ...]) -> None:
    st.title(f"{icon} {title}", anchor=False)
    st.markdown(f"{WHAT_A_DRAFT_IS} {sentence}")
    with st.grid(4, min_column_width=150):
        for label, value, beneath in numbers:
            page.number(label, value, beneath, help=HELP[label])


def _alone(top: st.delta_generator.DeltaGenerator, acceptance: float, tokens: int, cost: float) -> None:
    result = speculate(acceptance, tokens, cost, speculation_overhead().formula_p90_error)
    best = result.best_draft_tokens
    with top:
        _title(
            verdict_title(result.speedup),
            _icon(result.speedup, is_real=True),
            alone_sentence(result),
            (
                ("Times the speed", f"{result.speedup:.2f}", speedup_range(result)),
                ("Tokens a pass", f"{result.expected_tokens:.2f}", "instead of 1"),
                ("Best length", "∞" if best is None else f"{best}", f"at {acceptance:.0%} accepted"),
                ("Pays from", _percent(result.break_even_acceptance), "accepted"),
            ),
        )
    alphas, lengths = _axes(acceptance, tokens)
    map_section(alone_map(cost, alphas, lengths), acceptance, tokens, "one request alone, checking costs nothing more")


def _together(
    top: st.delta_generator.DeltaGenerator,
    drafting: Drafting,
    pace: Pace,
    acceptance: float,
    tokens: int,
    warnings: Sequence[str],
) -> None:
    users = pace.users
    found = drafting.at(users, acceptance, tokens)
    best, even = best_length(drafting, users, acceptance), break_even_acceptance(found)
    with top:
        _title(
            if_it_did(if_words_were_same(verdict_title(found.speedup), not warnings), pace.answer.fits),
            _icon(found.speedup, pace.answer.fits and not warnings),
            together_sentence(found, even, best),
            (
                ("Times the speed", f"{found.speedup:.2f}", speedup_range(found)),
                ("Each user, tokens/s", format_figure(found.tokens_per_s_user), _pace(found)),
                ("Best length", f"{best.draft_tokens}" if best.draft_tokens else "none", f"{best.speedup:.2f} times"),
                ("Pays from", _percent(even), "accepted"),
            ),
        )
        for warning in warnings:
            st.caption(f":material/info: {in_fields(warning)}")
    alphas, lengths = _axes(acceptance, tokens)
    who = "one user" if users == 1 else f"{users:,} users together"
    map_section(
        together_map(drafting, users, alphas, lengths), acceptance, tokens, f"{who}, with all that engines spend"
    )


def _pace(found: BatchSpeculation) -> str:
    low, high = map(format_figure, (found.tokens_per_s_user_low, found.tokens_per_s_user_high))
    return f"{low} – {high}; {format_figure(1 / found.step_s)} without"


def _percent(share: float | None) -> str:
    return "never" if share is None else f"{share:.0%}"


def _axes(acceptance: float, tokens: int) -> tuple[list[float], list[int]]:
    """The usual cells, and the reader's own row and column among them."""
    tenths = {tenth for tenth in MAP_ACCEPTANCES if abs(tenth - acceptance) > TOO_NEAR}
    return sorted({*tenths, acceptance}), sorted({*MAP_LENGTHS, tokens})


def _command(
    plan: ServerPlan,
    pace: Pace | None,
    drafting: Drafting | None,
    kind: str,
    sibling: str,
    acceptance: float,
    tokens: int,
    cost: float,
) -> None:
    st.header("The same in a terminal", anchor=False)
    words = ["--acceptance", f"{acceptance:.4g}", "--draft-tokens", str(tokens)]
    if kind == COST or pace is None:
        text = shlex.join(["kvbudget", "speculate", *words, "--draft-cost", f"{cost:g}"])
    else:
        if drafting is not None and drafting.verified_tokens is not None:
            words += ["--verified-tokens", str(drafting.verified_tokens)]
        words += ["--batch", str(plan.choices.users), "--draft-model", sibling or kind, *pace_words(pace)]
        text = command(replace(plan.choices, users=1), "speculate", *words)
    st.code(text, language=None, wrap_lines=True)


main()
