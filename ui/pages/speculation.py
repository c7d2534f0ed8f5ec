"""Speculation: is a draft faster or slower, from when on, for how many users, and what context does it cost."""

import shlex
from dataclasses import replace

import streamlit as st

from planner.choices import choose_draft
from planner.draft import EAGLE, MTP, NGRAM, Draft
from planner.draft_trade import DraftPoint, DraftWish, draft_model, draft_points
from planner.errors import PlannerError
from planner.performance_presets import drafts, speculation_overhead
from planner.published_drafts import MODEL, published_acceptance, smaller_siblings
from planner.speculation import acceptance_for, speculate
from planner.speculation_text import (
    PASSES,
    alone_sentence,
    draft_name,
    published_words,
    together_sentence,
    trade_sentence,
    users_sentence,
    verdict_title,
)
from planner.speed.draft_map import (
    Cell,
    Drafting,
    alone_map,
    best_length,
    break_even_acceptance,
    over_users,
    together_map,
)
from planner.speed.sweeps import drawn_users
from planner.units import format_bytes, format_figure
from ui import fields, form, own_config, page
from ui.draft_charts import FASTER, SLOWER, speculation_map, trade_chart, users_chart
from ui.figure import figure
from ui.html_table import html_table, swatches
from ui.pace import Pace, command, engine_field, ready
from ui.scenario import Scenario, scenario
from ui.words import set_up_line

COST = "a stated cost"
KINDS = {
    EAGLE: "EAGLE head",
    MTP: "MTP layers",
    NGRAM: "n-gram",
    MODEL: "a smaller model",
    COST: COST,
}
HELP = (
    "*EAGLE head*: one more layer, trained for it. *MTP layers*: prediction layers that the model was published with. "
    "*n-gram*: looks the next words up in the text so far, at no cost. *A smaller model* of the same family. "
    "*A stated cost*: the textbook formula, whatever drafts."
)
MAP_ACCEPTANCES = tuple(tenth / 10 for tenth in range(1, 10))
MAP_LENGTHS = tuple(range(1, 9))
TOO_NEAR = 0.045
"""The reader's own column takes the place of a tenth so near to it."""
FEWEST_USERS_DRAWN = 64


def main() -> None:
    plan = scenario()
    page.set_up(set_up_line(plan.chosen, plan.answer))
    if plan.chosen is None or plan.answer is None:
        page.problem(plan.problem)
        return
    top = st.container()
    kind = _kind_field(plan)
    sibling = _sibling_field(plan) if kind == MODEL else ""
    acceptance, tokens, cost = _sliders(kind)
    engine = engine_field(plan)
    try:
        pace, problem = ready(plan, engine), ""
        drafting = _drafting(plan, pace, kind, sibling, cost)
    except PlannerError as error:
        pace, drafting, problem = None, None, str(error)
    if kind == COST:
        _alone(top, acceptance, tokens, cost)
    elif drafting is None or pace is None:
        with top:
            page.problem(f"{problem} *A stated cost* works without.")
        return
    else:
        _together(top, drafting, pace.users, acceptance, tokens)
    if pace is not None and drafting is not None:
        _users(pace, drafting, acceptance, tokens)
        _trade(plan, pace, kind, sibling, acceptance, tokens)
    elif problem:
        st.caption(f":material/info: What many users make of it is not said. {problem}")
    _published()
    _command(plan, engine, kind, sibling, acceptance, tokens, cost)
    page.next_links(
        ("ui/pages/speed.py", "How fast without a draft?", ":material/speed:"),
        ("ui/pages/plan.py", "Does it fit?", ":material/fact_check:"),
    )


def _kind_field(plan: Scenario) -> str:
    assert plan.chosen is not None
    possible = [kind for kind in KINDS if kind != MTP or plan.chosen.architecture.mtp_layers]
    names = [KINDS[kind] for kind in possible]
    picked = fields.pills("drafter", "Who drafts", names, names[0], help=HELP, on_change=_forget_acceptance)
    return possible[names.index(picked)]


def _forget_acceptance() -> None:
    """Another kind of draft is accepted otherwise: its own published middle is where to start."""
    fields.forget_notes()
    for key in ("acceptance", "pass_tokens"):
        st.session_state.pop(key, None)


def _sibling_field(plan: Scenario) -> str:
    assert plan.chosen is not None
    titles = [preset.title for preset in smaller_siblings(plan.chosen.architecture)]
    others = [title for title in form.model_names() if title not in titles]
    picked = fields.choice(
        "draft_model",
        "Which smaller model",
        [*titles, *others],
        (titles or others)[0],
        help="Those of the same family and vocabulary stand first.",
    )
    return form.model_names()[picked]


def _sliders(kind: str) -> tuple[float, int, float]:
    """Acceptance, drafted tokens, and the cost of one where that is stated."""
    published = None if kind == COST else published_acceptance(kind)
    start = 70 if published is None else round(100 * published.typical)
    with st.grid(3 if kind == COST else 2, min_column_width=220):
        percent = fields.slider(
            "acceptance",
            "Accepted, % of drafted tokens",
            start,
            0,
            100,
            help="The chance α that the model would have written the drafted token itself. "
            + (f"This kind: {published_words(published)}." if published else ""),
        )
        tokens = fields.slider("draft_tokens", "Drafted each time, tokens", 4, 1, 16, help="γ in the papers.")
        cost = 0.0
        if kind == COST:
            cost = fields.slider("draft_cost", "A drafted token costs, % of a pass", 10, 0, 100, help="c") / 100
    measured = fields.figure(
        "pass_tokens",
        "Or measured: tokens a pass, its own one too",
        None,
        1.0,
        17.0,
        format="%g",
        placeholder="such as 2.4",
        help="Engines print it as the mean acceptance length.",
    )
    if measured is None:
        return percent / 100, tokens, cost
    try:
        acceptance = acceptance_for(measured, tokens)
    except PlannerError as error:
        st.info(f"{error} The slider holds.", icon=":material/edit:")
        return percent / 100, tokens, cost
    st.caption(f"{measured:g} tokens a pass with {tokens} drafted: an acceptance of **{acceptance:.0%}**, used here.")
    return acceptance, tokens, cost


def _draft(plan: Scenario, kind: str, sibling: str) -> Draft:
    assert plan.chosen is not None
    asked = replace(plan.choices, draft_model=sibling if kind == MODEL else kind, draft_tokens=1)
    draft = choose_draft(asked, plan.chosen.architecture, plan.chosen.deployment.weights)
    assert draft is not None
    return draft


def _drafting(plan: Scenario, pace: Pace, kind: str, sibling: str, cost: float) -> Drafting:
    drafter = None
    if kind != COST:
        draft = _draft(plan, kind, sibling)
        if warning := draft.warning(pace.chosen.architecture):
            st.caption(f":material/info: {warning}")
        drafter = draft_model(draft, pace.model)
    return Drafting(
        model=pace.model,
        constants=pace.constants,
        context_tokens=pace.context_tokens,
        overhead=speculation_overhead(),
        draft=drafter,
        draft_cost=cost if drafter is None else None,
    )


def _title(speedup: float, sentence: str, numbers: tuple[tuple[str, str, str], ...]) -> None:
    icon = ":green[:material/trending_up:]" if speedup >= 1 else ":orange[:material/trending_down:]"
    st.title(f"{icon} {verdict_title(speedup)}", anchor=False)
    st.markdown(sentence)
    with st.grid(4, min_column_width=150):
        for label, value, beneath in numbers:
            page.number(label, value, beneath)


def _alone(top: st.delta_generator.DeltaGenerator, acceptance: float, tokens: int, cost: float) -> None:
    result = speculate(acceptance, tokens, cost)
    best = result.best_draft_tokens
    with top:
        _title(
            result.speedup,
            alone_sentence(result),
            (
                ("Times the speed", f"{result.speedup:.2f}", "one request alone"),
                ("Tokens a pass", f"{result.expected_tokens:.2f}", "instead of 1"),
                ("Best length", "∞" if best is None else f"{best}", f"at {acceptance:.0%} accepted"),
                ("Pays from", _percent(result.break_even_acceptance), "accepted"),
            ),
        )
    alphas, lengths = _axes(acceptance, tokens)
    _map(alone_map(cost, alphas, lengths), acceptance, tokens, "one request alone, checking costs nothing more")


def _together(
    top: st.delta_generator.DeltaGenerator, drafting: Drafting, users: int, acceptance: float, tokens: int
) -> None:
    found = drafting.at(users, acceptance, tokens)
    best, even = best_length(drafting, users, acceptance), break_even_acceptance(found)
    with top:
        _title(
            found.speedup,
            together_sentence(found, even, best),
            (
                ("Times the speed", f"{found.speedup:.2f}", f"for {users:,} at once"),
                ("Each user, tokens/s", format_figure(found.speedup / found.step_s), _without(found.step_s)),
                ("Best length", f"{best.draft_tokens}" if best.draft_tokens else "none", f"{best.speedup:.2f} times"),
                ("Pays from", _percent(even), "accepted"),
            ),
        )
    alphas, lengths = _axes(acceptance, tokens)
    who = "one user" if users == 1 else f"{users:,} users together"
    _map(together_map(drafting, users, alphas, lengths), acceptance, tokens, f"{who}, with all that engines spend")


def _without(step_s: float) -> str:
    return f"{format_figure(1 / step_s)} without"


def _percent(share: float | None) -> str:
    return "never" if share is None else f"{share:.0%}"


def _axes(acceptance: float, tokens: int) -> tuple[list[float], list[int]]:
    """The usual cells, and the reader's own row and column among them."""
    tenths = {tenth for tenth in MAP_ACCEPTANCES if abs(tenth - acceptance) > TOO_NEAR}
    return sorted({*tenths, acceptance}), sorted({*MAP_LENGTHS, tokens})


def _map(cells: tuple[Cell, ...], acceptance: float, tokens: int, basis: str) -> None:
    st.header("Where a draft pays", anchor=False)
    slower = sum(cell.speedup < 1 for cell in cells)
    figure(
        speculation_map,
        cells,
        acceptance,
        tokens,
        alt=f"Speed-up by acceptance and drafted tokens, {basis}: {slower} of {len(cells)} cells are slower than "
        "without a draft. "
        + "; ".join(
            f"{cell.acceptance:.0%} and {cell.draft_tokens}: {cell.speedup:.2f}"
            for cell in cells
            if cell.draft_tokens == tokens
        )
        + ".",
        key="map",
        columns=("Drafted", *(f"{alpha:.0%}" for alpha in sorted({cell.acceptance for cell in cells}))),
        cells=[
            (f"{length}", *(f"{cell.speedup:.2f}" for cell in cells if cell.draft_tokens == length))
            for length in sorted({cell.draft_tokens for cell in cells})
        ],
        rows=[
            {"acceptance": cell.acceptance, "draft_tokens": cell.draft_tokens, "speedup": cell.speedup}
            for cell in cells
        ],
    )
    st.html(swatches(((SLOWER[1], "slower than without a draft"), (FASTER[1], "faster"))))
    st.caption(f"Thick line: break-even. For {basis}.")


def _users(pace: Pace, drafting: Drafting, acceptance: float, tokens: int) -> None:
    memory = pace.answer.max_users
    end = max(FEWEST_USERS_DRAWN, drawn_users(pace.users, 1, memory))
    also = (pace.users, *((memory,) if memory and memory <= end else ()))
    points = over_users(drafting, acceptance, tokens, end, also)
    st.header("What more users make of it", anchor=False)
    st.markdown(users_sentence(points))
    figure(
        users_chart,
        points,
        pace.users,
        memory,
        alt=f"Speed-up of a draft of {tokens} tokens over users: "
        + "; ".join(f"{point.users:,}: {point.speedup:.2f}" for point in points[:: max(1, len(points) // 8)])
        + ".",
        key="users",
        columns=("Users", "Times the speed", "Step without", "Checking", "Drafting"),
        cells=[
            (
                f"{point.users:,}",
                f"{point.speedup:.2f}",
                f"{1e3 * point.step_s:.1f} ms",
                f"{1e3 * point.verify_s:.1f} ms",
                f"{1e3 * point.draft_s:.1f} ms",
            )
            for point in points
        ],
        rows=[
            {
                "users": point.users,
                "speedup": point.speedup,
                "step_s": point.step_s,
                "verify_s": point.verify_s,
                "draft_s": point.draft_s,
            }
            for point in points
        ],
        wide_only=(3, 4),
        own=next(index for index, point in enumerate(points) if point.users == pace.users),
    )
    st.caption(
        f"What engines spend on choosing and bookkeeping is counted as {drafting.overhead:g} times the passes. {PASSES}"
    )


def _trade(plan: Scenario, pace: Pace, kind: str, sibling: str, acceptance: float, tokens: int) -> None:
    st.header("Context lost for speed gained", anchor=False)
    assert plan.chosen is not None
    wishes = []
    for each in (EAGLE, MTP, NGRAM, MODEL):
        if each == MTP and not plan.chosen.architecture.mtp_layers:
            continue
        siblings = [preset.name for preset in smaller_siblings(plan.chosen.architecture)]
        name = (sibling or next(iter(siblings), "")) if each == MODEL else each
        if name:
            chosen = each == kind
            share = acceptance if chosen else published_acceptance(each).typical
            wishes.append(DraftWish(name=name, acceptance=share, draft_tokens=tokens if chosen else None))
    try:
        points = draft_points(plan.choices, wishes, pace.engine, own_config.architecture())
    except PlannerError as error:
        st.markdown(str(error))
        return
    sentence = trade_sentence(points, pace.users, pace.context_tokens)
    st.markdown(f"A draft's weights and cache come out of the same memory. {sentence}")
    columns = ("Draft", "Accepted", "Drafted", "Times", "It takes", "Longest text", "Lost")
    cells = [_trade_cells(point) for point in points]
    if all(point.max_context_tokens is not None for point in points):
        figure(
            trade_chart,
            points,
            pace.context_tokens,
            alt="Longest context of each user against speed. "
            + "; ".join(
                f"{draft_name(point)}: {point.max_context_tokens:,} tokens, {point.speedup:.2f} times"
                for point in points
            )
            + ".",
            key="trade",
            columns=columns,
            cells=cells,
            rows=[
                {
                    "draft": point.draft,
                    "acceptance": point.acceptance,
                    "draft_tokens": point.draft_tokens,
                    "speedup": point.speedup,
                    "draft_bytes": point.draft_bytes,
                    "max_context_tokens": point.max_context_tokens,
                    "lost_tokens": point.lost_tokens,
                    "max_users": point.max_users,
                    "fits": point.fits,
                }
                for point in points
            ],
            text=(0,),
            wide_only=(1, 2, 6),
        )
    else:
        st.html(html_table(columns, cells, text=(0,), wide_only=(1, 2, 6)))
    st.caption(
        "Cross: what you asked no longer fits. Yours with the acceptance above; the others with the middle of what was "
        "published for their kind, at the length that is fastest here. "
        f"n-gram: {published_words(published_acceptance(NGRAM))}."
    )


def _trade_cells(point: DraftPoint) -> tuple[str, ...]:
    longest = "no limit" if point.max_context_tokens is None else f"{point.max_context_tokens:,}"
    return (
        draft_name(point),
        f"{point.acceptance:.0%}" if point.draft_tokens else "–",
        f"{point.draft_tokens}" if point.draft_tokens else "–",
        f"{point.speedup:.2f}",
        format_bytes(point.draft_bytes),
        longest,
        "–" if point.lost_tokens is None else f"{point.lost_tokens:,}",
    )


def _published() -> None:
    with st.expander("What was published: acceptance, tokens a pass, speed-ups and slow-downs", key="published"):
        rows = [
            (
                f"{draft.method}\n{draft.task}",
                f"{draft.model}\n{draft.hardware}",
                "–" if (alpha := draft.acceptance_per_token()) is None else f"{alpha:.0%}",
                "–" if draft.draft_tokens is None else f"{draft.draft_tokens}",
                "–" if draft.tokens_per_pass is None else f"{draft.tokens_per_pass:g}",
                "–" if draft.speedup is None else f"{draft.speedup:g} times",
            )
            for draft in sorted(drafts().values(), key=lambda draft: (draft.method.lower(), draft.model))
        ]
        columns = ("Method", "Model", "Accepted", "Drafted", "Tokens a pass", "Speed")
        st.html(html_table(columns, rows, text=(0, 1), wide_only=(3, 4)))
        sources = sorted({draft.source for draft in drafts().values()})
        st.caption(
            "For few requests at once unless it says otherwise. EAGLE-2, Medusa and Hydra draft trees, which have no "
            f"single share: of them the tokens a pass are known. Sources: {'; '.join(sources)}."
        )


def _command(plan: Scenario, engine: str, kind: str, sibling: str, acceptance: float, tokens: int, cost: float) -> None:
    st.header("The same in a terminal", anchor=False)
    words = ["--acceptance", f"{acceptance:.4g}", "--draft-tokens", str(tokens)]
    if kind == COST:
        text = shlex.join(["kvbudget", "speculate", *words, "--draft-cost", f"{cost:g}"])
    else:
        words += ["--batch", str(plan.choices.users), "--draft-model", sibling or kind, "--speed-engine", engine]
        text = command(replace(plan.choices, users=1), "speculate", *words)
    st.code(text, language="bash", wrap_lines=True)


main()
