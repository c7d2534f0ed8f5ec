"""Your own model: from files, from Hugging Face, or as a form of its config's keys that is checked at every change."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from planner import presets
from planner.answers.cache_words import attention_words
from planner.answers.inspection import inspect_model
from planner.architecture import Architecture
from planner.errors import PlannerError
from planner.inputs.custom import (
    MAIN_KEYS,
    MAX_CHARACTERS,
    custom_text,
    field_at_fault,
    left_out,
    read_custom,
    split_config,
    to_text,
)
from planner.readers.json_text import parse_json
from planner.readers.nominal import NOMINAL_KEY
from planner.text.cache import in_words
from planner.units import format_rate
from planner.weights import parameters
from ui import form, own_config, page
from ui.option_words import in_fields
from ui.scenario import scenario

MEANINGS = {
    "model_type": "The family, whose class decides what no key says. A word that is not known gets an upper bound.",
    "num_hidden_layers": "Layers.",
    "hidden_size": "Width of the residual stream.",
    "num_attention_heads": "Heads of a layer's attention.",
    "num_key_value_heads": "Heads with keys and values of their own; fewer means that some share (GQA).",
    "head_dim": "Width of a head. Empty: hidden_size over heads.",
    "intermediate_size": "Width of the feed-forward part.",
    "vocab_size": "Tokens in the vocabulary.",
    "max_position_embeddings": "The longest context that it is made for.",
    "sliding_window": "Tokens that layers with a window look back. Empty: none, or the family's.",
}
KEYS = ("own_model_type", "own_others", *(f"own_{name}" for name in MAIN_KEYS))
_START, _TYPED, _CHANGED = "_own_form_start", "_own_form_typed", "_own_form_changed"


def main() -> None:
    plan = scenario()
    page.set_up("Your own model, in place of one from the list")
    own = own_config.architecture()
    st.title(
        f"{own.title}: {in_words(parameters(own))} parameters" if own else "Plan a model of your own", anchor=False
    )
    st.markdown(
        "Three ways, and the first that you use takes the place of the model in the set-up: its own files, an id on "
        "Hugging Face, or its shapes."
    )
    st.header("Its files", anchor=False)
    own_config.uploader("own_upload")
    st.caption(own_config.FILES)
    st.header("From Hugging Face", anchor=False)
    own_config.hub_field()
    if said := own_config.problem():  # on a phone the sidebar, which says it too, is folded away
        st.warning(said, icon=":material/description:")
    st.header("Its shapes", anchor=False)
    start, model = _start(plan.choices.model)
    whose = f"those of {model.title}" if model else "what was put in before"
    st.markdown(f"Filled in with {whose}. Change what you like: what comes of it stands below at once.")
    _form(start, model)
    page.next_links(
        ("ui/pages/plan.py", "Plan it", ":material/fact_check:"),
        ("ui/pages/cache.py", "What a conversation costs", ":material/stacked_bar_chart:"),
    )


def _start(model: str) -> tuple[Mapping[str, Any], Architecture | None]:
    """What the form begins with: the custom config, else the chosen model's with that model, else the first one's.

    A class of models has no config, and one long config does not fit into the form.
    """
    text = st.session_state.get(own_config.CUSTOM, "").strip()
    if text:
        try:
            return parse_json(text), None
        except PlannerError:
            pass
    for name in (model, form.model_names()[form.DEFAULTS["model"]]):
        if name in form.model_names().values():
            config = presets.find_model(name).published_config
            if NOMINAL_KEY not in config and len(to_text(split_config(config)[2])) <= MAX_CHARACTERS:
                return config, presets.load_preset(name)
    return {}, None


def _form(start: Mapping[str, Any], model: Architecture | None) -> None:
    _fill(start)
    _remember()
    text, found, problem = _read()
    changed = st.session_state.get(_CHANGED, "")
    at_fault = field_at_fault(problem, MAIN_KEYS, changed) or field_at_fault(problem, ["model_type"])
    with st.grid(2, min_column_width=240):
        _field("model_type", problem if at_fault == "model_type" else "")
        for name in MAIN_KEYS:
            _field(name, problem if at_fault == name else "")
    st.text_area(
        "Other keys, as JSON",
        key="own_others",
        max_chars=MAX_CHARACTERS,
        help="Every other key of a config.json: experts, layer_types, kv_lora_rank, torch_dtype …",
    )
    if problem and at_fault is None:
        _say(problem)
    if found is not None:
        _result(found, text, _left_out(model, found) if model else "")
    elif at_fault:
        st.markdown(f":orange[:material/edit:] One thing to correct: **{at_fault}**.")


def _fill(start: Mapping[str, Any]) -> None:
    """Sets the fields once for each *start*; back on the page, to what was typed before, which the page's end drops."""
    if st.session_state.get(_START) != start:
        fields, model_type, others = split_config(start)
        typed = {f"own_{name}": value for name, value in fields.items()}
        typed |= {"own_model_type": model_type, "own_others": to_text(others) if others else ""}
        st.session_state.update({_START: start, _TYPED: typed, _CHANGED: "", **typed})
    elif "own_model_type" not in st.session_state:
        st.session_state.update(st.session_state[_TYPED])


def _remember() -> None:
    """Keeps what stands in the fields, and which of them was changed last: a mistake is shown where it was made."""
    typed = {key: st.session_state[key] for key in KEYS}
    before = st.session_state.get(_TYPED, typed)
    for key in KEYS:
        if typed[key] != before[key]:
            st.session_state[_CHANGED] = key.removeprefix("own_")
    st.session_state[_TYPED] = typed


def _read() -> tuple[str, Architecture | None, str]:
    """The config as it stands, the model that it describes, or the sentence about why it describes none."""
    fields = {name: st.session_state.get(f"own_{name}") for name in MAIN_KEYS}
    try:
        text = custom_text(fields, st.session_state["own_model_type"] or "", st.session_state["own_others"])
        return text, read_custom(text), ""
    except PlannerError as error:
        return "", None, in_fields(error)


def _field(name: str, problem: str) -> None:
    with st.container():
        if name == "model_type":
            st.text_input(name, key="own_model_type", max_chars=60, help=MEANINGS[name])
        else:
            st.number_input(name, value=None, key=f"own_{name}", step=1, format="%d", help=MEANINGS[name])
        if problem:
            _say(problem)


def _say(problem: str) -> None:
    st.markdown(f":orange[:material/edit:] {own_config.no_markup(problem)}")


def _left_out(model: Architecture, found: Architecture) -> str:
    """A sentence about the towers of *model*, which the form began with, that what stands in it has not."""
    lost = left_out(model, found)
    if not lost:
        return ""
    return (
        f"Without {' and '.join(lost)} of {model.title} ({in_words(sum(lost.values()))} parameters): the form is for a "
        "text model alone. Upload a config.json to keep them."
    )


def _result(found: Architecture, text: str, lacks: str) -> None:
    inspected = inspect_model(found, found.cache_format, found.cache_format)
    per_token = sum(layer.kv_bytes_per_token for layer in inspected.layers)
    st.markdown(
        f":green[:material/check_circle:] {in_words(inspected.parameters)} parameters, {len(found.layers)} layers, "
        f"{attention_words(found)}: **{format_rate(per_token)}** for each token at first."
    )
    for warning in (*found.warnings, *((lacks,) if lacks else ())):
        st.caption(f":material/info: {own_config.no_markup(in_fields(warning))}")
    with st.container(horizontal=True):
        st.button("Use it", key="use_custom", type="primary", on_click=own_config.use_custom, args=(text,))
        st.download_button(
            "config.json", text, file_name="config.json", mime="application/json", key="config_file",
            on_click="ignore", icon=":material/download:",
        )  # fmt: skip
    st.caption("A link carries it. In a terminal, save the file: kvbudget plan --model config.json")


main()
