"""The rarer choices of a plan: how cards share the work, cards that differ, a screen, and what drafts."""

from math import prod

import streamlit as st

from planner.catalogue.links import link_names
from planner.deployment import MAX_PARALLEL
from planner.draft import MAX_DRAFT_TOKENS
from ui import form
from ui.fields import set_up as fields

SPLITS = {
    "tensor_parallel": ("Tensor parallel", "Cards that share every layer."),
    "pipeline_parallel": ("Pipeline parallel", "Stages, each with whole layers, one after the other."),
    "data_parallel": (
        "Data parallel",
        "Copies with users of their own, of the attention alone where experts are shared.",
    ),
    "expert_parallel": ("Expert parallel", "Cards that share the experts, whole ones on each."),
    "replicas": ("Replicas", "Copies of the whole on cards of their own; users are shared among them."),
}
MAX_LIST = 400


def advanced_fields() -> None:
    """All that ``plan`` takes beside what the other fields say."""
    fields.text(
        "devices",
        "Cards that differ, in order",
        most=MAX_LIST,
        placeholder="rtx-4090, rtx-3060 or 24GiB, 12GiB",
        help="Names or sizes, tensor parallel first, then by stage. In place of the card above and of its number.",
    )
    for name, (label, meaning) in SPLITS.items():
        fields.number(name, label, MAX_PARALLEL, help=meaning)
    if form.shares_layers(st.session_state):
        links = [form.USUAL, *link_names()]
        fields.select("interconnect", "What joins the cards", links, help=_LINK_HELP)
    fields.toggle("display", "The first card shows the screen", help=_DISPLAY_HELP)
    fields.select("draft", "A draft", [*form.DRAFTS, *form.model_names()], help=_DRAFT_HELP)
    if st.session_state["draft"] != form.NONE:
        fields.number("draft_pass", "Drafted tokens a pass", MAX_DRAFT_TOKENS, help="γ in the papers, such as 4.")
    if st.session_state["draft"] not in form.DRAFTS:
        weights = [form.AS_PUBLISHED, *form.format_names("weights")]
        fields.select(
            "draft_weights", "Draft weights stored in", weights, help="*as published*: as its own file has them."
        )


def decided_cards() -> int | None:
    """How many cards the fields here make; ``None`` where they leave that to the number of cards."""
    state = st.session_state
    listed = state.get("devices", "").strip()
    if listed:
        return int(listed.count(",")) + 1
    count = prod(int(state.get(name, 1)) for name in SPLITS if name != "expert_parallel")
    return count if count > 1 else None


_WEIGHTS_HELP = "*as published*: as the draft's own file has them."
_LINK_HELP = (
    "For speed alone: cards that share a layer exchange what they have after each. *usual*: the card's own link."
)
_DISPLAY_HELP = (
    "A desktop takes some of the card before the engine starts: counted as a range of its own, from public start-ups."
)
_DRAFT_HELP = (
    "What proposes tokens beside the model and shares its memory: *mtp*, the model's own prediction layers; *eagle*, a "
    "head trained for it; *ngram*, its text so far; or a smaller model. The page Speculation says whether it pays."
)
