"""What a log does not say, or says in a way that was read wrong: the reader's own word, beside it and before it."""

from dataclasses import dataclass

import streamlit as st

from planner import presets
from planner.architecture import Architecture
from planner.inputs.choices import Choices, choose_cards
from planner.logs.readings import Readings
from planner.startups.report import LogReport
from ui import form, own_config
from ui.own_config import no_markup
from ui.words import AS_PUBLISHED, engine_title

KEYS = ("log_start", "log_model", "log_device", "log_memory", "log_weights", "log_version", "log_set")
MAX_SETTINGS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What is stated beside the log: *number* of the start, *choices*, and the reader's own *architecture*."""

    number: int | None
    choices: Choices
    architecture: Architecture | None


def stated(readings: Readings) -> Stated:
    """The fields as they stand."""
    model, device = st.session_state.get("log_model"), st.session_state.get("log_device")
    own = own_config.architecture()
    is_own = own is not None and model == own.title
    weights = st.session_state.get("log_weights")
    number = st.session_state.get("log_start")
    memory = st.session_state.get("log_memory", form.DEFAULTS["memory"]) if device == form.ANOTHER_SIZE else None
    choices = Choices(
        model=own.name if own is not None and is_own else form.model_names().get(model or "", ""),
        device=form.device_names().get(device or ""),
        memory=memory,
        weights="checkpoint" if weights == AS_PUBLISHED else weights,
        engine="",
        engine_version=st.session_state.get("log_version", "").strip() or None,
        set=form.split_settings(st.session_state.get("log_set", "")),
    )
    return Stated(
        number=number if number is not None and number <= len(readings.starts) else None,
        choices=choices,
        architecture=own if is_own else None,
    )


def fields(report: LogReport) -> None:
    """Each field shows what the log says, and takes what is to be said in its place."""
    known, settings = report.choices, dict(report.settings)
    if report.starts > 1:
        st.selectbox(
            f"The log has {report.starts} starts",
            range(1, report.starts + 1),
            index=report.starts - 1,
            key="log_start",
            format_func=lambda number: f"start {number}",
            persist_state="session",
        )
    own = own_config.architecture()
    with st.grid(3, min_column_width=200):
        _select(
            "log_model", "Model", [*([own.title] if own else []), *form.model_names()],
            model_title(known.model) if known else "choose it",
        )  # fmt: skip
        with st.container():
            cards = [form.ANOTHER_SIZE, *form.device_names()]
            _select("log_device", "Card", cards, card_words(known) if known else "choose it")
            if st.session_state.get("log_device") == form.ANOTHER_SIZE:
                _text("log_memory", "Memory of the card", form.DEFAULTS["memory"], "")
        weights = (known.weights if known else None) or AS_PUBLISHED
        _select("log_weights", "Weights stored in", [AS_PUBLISHED, *form.format_names("weights")], weights)
        _text("log_version", "Version", "", report.version or "not said")
    st.text_area(
        "Settings that it ran with, name=value a line",
        key="log_set",
        max_chars=MAX_SETTINGS,
        height=80,
        placeholder="\n".join(f"{name}=…" for name in list(presets.engine_data(report.engine).settings)[:2]),
        help=f"By {engine_title(report.engine)}'s own names. What the log says itself need not be repeated.",
        persist_state="session",
    )
    if settings:
        said = ", ".join(f"{name} = {value}" for name, value in settings.items())
        st.caption(f"The log says: {no_markup(said)}.")


def forget() -> None:
    """Nothing is stated beside the next log; for use in a widget's callback."""
    for key in KEYS:
        st.session_state.pop(key, None)


def architecture(choices: Choices) -> Architecture | None:
    """The reader's own model, where *choices* are of it."""
    own = own_config.architecture()
    return own if own is not None and own.name == choices.model else None


def model_title(name: str) -> str:
    """A model as the list calls it."""
    return next((title for title, known in form.model_names().items() if known == name), name)


def card_words(choices: Choices) -> str:
    """The cards of *choices*: ``2 × GeForce RTX 4090``, ``23.30 GiB card and 15.20 GiB card``."""
    if choices.devices is not None:
        return " and ".join(card.title for card in choose_cards(choices))
    title = next((title for title, known in form.device_names().items() if known == choices.device), "")
    count = choices.card_count
    return f"{count} × " * (count > 1) + (title or choose_cards(choices)[0].title)


def _select(key: str, label: str, options: list[str], said: str) -> None:
    st.selectbox(label, options, index=None, key=key, placeholder=said, filter_mode="contains", persist_state="session")


def _text(key: str, label: str, value: str, said: str) -> None:
    st.text_input(label, value=value, key=key, placeholder=said, max_chars=40, persist_state="session")
