"""Who drafts, what of it is accepted, how much is drafted each time: the fields of the page Speculation."""

import streamlit as st

from planner.catalogue.published_drafts import MODEL, published_acceptance, smaller_siblings
from planner.draft import EAGLE, MTP, NGRAM
from planner.errors import PlannerError
from planner.speculation import acceptance_for
from planner.text.speculation import published_words
from planner.units import counted
from ui import form
from ui.fields import choice as fields
from ui.scenario import Scenario

COST = "a stated cost"
MOST_CHECKED = 1_024
"""Tokens of the largest tree that can be asked for."""
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


def kind_field(plan: Scenario) -> str:
    """Which kind of draft; prediction layers only where the model has them."""
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


def sibling_field(plan: Scenario) -> str:
    """Which model drafts, by its name."""
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


def sliders(kind: str) -> tuple[float, int, float, int | None]:
    """Acceptance, drafted tokens, the cost of one where that is stated, and what a pass checks where that is a tree."""
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
    with st.grid(2, min_column_width=250):
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
        checked = None if kind == COST else _checked_field(tokens)
    verified = _tree(tokens, checked)
    if measured is None:
        return percent / 100, tokens, cost, verified
    try:
        acceptance = acceptance_for(measured, tokens)
    except PlannerError as error:
        st.info(f"{error} The slider holds.", icon=":material/edit:")
        return percent / 100, tokens, cost, verified
    st.caption(f"{measured:g} tokens a pass with {tokens} drafted: an acceptance of **{acceptance:.0%}**, used here.")
    return acceptance, tokens, cost, verified


def _checked_field(tokens: int) -> int:
    """What a pass checks for each user: the drafted tokens and its own, or a tree."""
    return fields.optional_whole(
        "verified_tokens",
        "Checked a pass, tokens: more for a tree",
        tokens + 1,
        MOST_CHECKED,
        help=f"Empty: a chain of drafts, {tokens} and the model's own. A tree tries several next words at once and has "
        "more, such as 64; *drafted each time* is then how deep it is.",
    )


def _tree(tokens: int, checked: int | None) -> int | None:
    """*checked* where that is a tree; ``None`` for a chain of *tokens*."""
    if checked is not None and checked <= tokens:
        st.info(
            f"A pass checks the {counted(tokens, 'drafted token')} and makes its own: {checked} is too few, a chain is "
            "taken.",
            icon=":material/edit:",
        )
    return checked if checked is not None and checked > tokens + 1 else None
