"""What a log does not say, in one sentence that asks for exactly that; and what was stated beside it in vain."""

import re
from collections.abc import Iterator
from dataclasses import fields
from enum import StrEnum

from planner import presets
from planner.catalogue.checkpoint_ids import named_within
from planner.errors import PlannerError
from planner.formats import CHECKPOINT
from planner.inputs.choices import Choices
from planner.logs.readings import Start
from planner.startups.cards import may_tell_card
from planner.startups.model import shown_name
from planner.units import format_bytes


class Lack(StrEnum):
    """What a log does not say, or says of something that is not known here."""

    ENGINE = "engine"
    MODEL = "model"
    WEIGHTS = "weights"
    CARD = "card"
    COUNT = "count"


COUNTED_BY = {"sglang": "tp_size", "lmdeploy": "tp"}
"""By engine, its setting for the number of cards, where it is not called tensor_parallel_size."""
_NUMBER = re.compile(r"-?\d{1,12}(?:\.\d{1,12})?")
_READ_ANYWAY = {"model", "engine", "set", "online"}
"""What is stated of a log whose model is not known, and counts, or is refused elsewhere."""


def no_rules(start: Start) -> str:
    """Why nothing is planned for an engine that is none of the planner's."""
    return f"The planner has no rules for {start.engine}: readings alone are shown."


def ask_for_model(start: Start, given: Choices) -> str:
    """The sentence for a log whose model is not known, and perhaps its card neither."""
    shown = shown_name(start)
    what, card = ("names no model", " and no card")
    if shown:
        what, card = f"is of '{shown}', which no preset has", ", and names no card"
    like = f", such as --model {named}" if (named := named_within(shown)) else ""
    if may_tell_card(start, given):
        return f"The log {what}: give --model {_purpose(start)}{like}."
    return f"The log {what}{card}: give --model and --device {_purpose(start)}{like}."


def ask_for_weights(start: Start, given: Choices) -> str:
    """The sentence for a GGUF whose name and lines do not say how it is quantised: it has no format that all have."""
    shown = f" '{shown_name(start)}'" if shown_name(start) else ""
    options = "--weights" if may_tell_card(start, given) else "--weights and --device"
    return f"The log does not say how the file{shown} is quantised: give {options} {_purpose(start)}."


def ask_for_card(start: Start) -> str:
    """The sentence for a log that says nothing of the size of its card."""
    return f"The log does not say how large the card is: give --device or --memory {_purpose(start)}."


def ask_for_count(start: Start, size_bytes: int) -> str:
    """The sentence for figures that no single card of the model's could have printed."""
    setting = COUNTED_BY.get(start.engine, "tensor_parallel_size")
    return (
        f"By its figures the card would have {format_bytes(size_bytes)}, more than any has, so it ran on several: give "
        f"--set {setting}= and their number {_purpose(start)}."
    )


def stated_in_vain(given: Choices, planned: Choices | None) -> Iterator[str]:
    """What was stated and does not count, each with why."""
    if planned is None:
        names = [
            f"--{field.name.replace('_', '-')}"
            for field in fields(given)
            if field.name not in _READ_ANYWAY and getattr(given, field.name) != field.default
        ]
        names += ["--set"] if given.set else []
        if names:
            yield f"Without a plan {', '.join(names)} {'counts' if len(names) == 1 else 'count'} for nothing."
    elif given.quantize is not None and planned.weights in (None, CHECKPOINT):
        yield "--quantize counts for nothing without --weights: a checkpoint's own formats stay."


def out_of_range(start: Start) -> Iterator[str]:
    """The numbers that no start of the engine takes, each with that it does not count."""
    known = presets.engine_data(start.engine).settings
    for name, text in start.settings.items():
        if name in known and _NUMBER.fullmatch(text):
            try:
                known[name].parse(text)
            except PlannerError:
                yield f"{name} = {text}, which the log sets, is no value of it, and does not count."


def _purpose(start: Start) -> str:
    return "to compare it with a plan" if start.failure is None else "to see what would start"
