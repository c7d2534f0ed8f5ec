"""A model that nobody has published: its config as a few keys that fit into a link."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

from planner import presets
from planner.architecture import Architecture
from planner.errors import PlannerError
from planner.inputs.model_files import CONFIG, read_config_text
from planner.readers.json_text import parse_json
from planner.readers.text_config import find_text

TITLE = "Your model"
MAX_CHARACTERS = 2_500
"""Twice as many in a link, whose quotes and braces are written in three letters: servers take 8,000."""
MAIN_KEYS = (
    "num_hidden_layers",
    "hidden_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
    "sliding_window",
)
"""What a form asks for, by Hugging Face's names; the other keys are written as JSON."""
_AROUND = ("tie_word_embeddings", "torch_dtype", "dtype", "quantization_config")
"""What a config with a text model inside decides for it."""


@lru_cache(maxsize=64)
def read_custom(text: str) -> Architecture:
    """The architecture of a config written as JSON in a field or a link; raises PlannerError."""
    if len(text) > MAX_CHARACTERS:
        raise PlannerError(
            f"A custom config here has up to {MAX_CHARACTERS:,} characters and this one {len(text):,}: "
            "upload it as a file."
        )
    found = read_config_text(text, TITLE, "The custom config")
    return replace(found, name=CONFIG, source="tensor shapes of the custom config")


def custom_text(fields: Mapping[str, int | None], model_type: str, others: str) -> str:
    """The config as compact JSON: *fields* that have a number, *model_type*, and *others*, a JSON object of more keys.

    Raises PlannerError for *others* that are not such an object, or name a key that has a field of its own.
    """
    more = parse_json(others, "Other keys") if others.strip() else {}
    given = {"model_type": model_type, **{key: value for key, value in fields.items() if value is not None}}
    twice = [key for key in more if key in given]
    if twice:
        raise PlannerError(f"Other keys name {twice[0]}, which has a field of its own: leave it out of one of them.")
    return to_text({**given, **more})


def to_text(config: Mapping[str, object]) -> str:
    """*config* as JSON without a blank, as short as it can be in a link."""
    return json.dumps(dict(config), separators=(",", ":"))


def split_config(config: Mapping[str, object]) -> tuple[dict[str, int | None], str, dict[str, object]]:
    """A config as the form shows it: the main fields, the ``model_type``, and the other keys.

    Of a config with a text model inside, that one, with the sizes that its wrapper's class gives it; its towers are
    left out, see ``left_out``. What the family spells otherwise has its usual name.
    """
    spellings: Mapping[str, Sequence[str]] = {}
    with suppress(PlannerError):  # what is typed so far may be no model
        text = find_text(config, presets.knowledge())
        spellings = text.family.aliases if text.family else {}
        if text.place:
            around = {key: config[key] for key in _AROUND if key in config}
            lifted = {key: value for key, (value, _) in text.lifted.items()}
            config = {**text.fallback, **text.table, **lifted, **around, "model_type": text.model_type}
    others = {key: value for key, value in config.items() if key != "model_type"}
    fields: dict[str, int | None] = dict.fromkeys(MAIN_KEYS)
    for key in MAIN_KEYS:
        for written in (key, *spellings.get(key, ())):
            value = others.get(written)
            if type(value) is int:
                fields[key] = value
                del others[written]
                break
    return fields, str(config.get("model_type", "")), others


def left_out(start: Architecture, found: Architecture) -> dict[str, int]:
    """Parameters by kind of the towers of *start* that *found*, made of its text model, does not have."""
    lost: dict[str, int] = {}
    for tower in () if found.towers else start.towers:
        lost[tower.kind] = lost.get(tower.kind, 0) + sum(tensor.elements for tensor in tower.tensors)
    return lost


def field_at_fault(sentence: str, keys: Iterable[str], changed: str = "") -> str | None:
    """The one of *keys* that *sentence* is about: the one *changed* last if it is named, else the first that is."""
    places = {key: match.start() for key in keys if (match := re.search(rf"(?<!\w){re.escape(key)}(?!\w)", sentence))}
    return changed if changed in places else min(places, key=lambda key: places[key], default=None)
