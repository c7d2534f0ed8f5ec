"""Pages speak of their own fields: no sentence of the planner names an option of the command there."""

import argparse
import re
from pathlib import Path

import pytest

from planner.commands.plan import add_arguments
from tests.ui.conftest import OpenApp, words
from ui.option_words import FIELDS, in_fields

UI = Path(__file__).parents[2] / "ui"
SOURCES = {path: path.read_text(encoding="utf-8") for path in UI.rglob("*.py")}
FOR_TERMINALS = {"--help", "-h", "--json"}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def test_every_option_of_a_plan_has_a_field() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    known = {option for action in parser._actions for option in action.option_strings}
    assert known - FOR_TERMINALS - {f"--{name}" for name in FIELDS} == {"--command"}


@pytest.mark.parametrize("label", sorted(set(FIELDS.values())))
def test_every_field_is_called_so_where_it_is_drawn(label: str) -> None:
    assert any(f'"{label}"' in text for path, text in SOURCES.items() if path.name != "option_words.py")


def test_every_error_and_every_note_goes_through_it() -> None:
    """What an error says, and what stands behind the icon of a note, is the planner's."""
    raw = re.compile(r"str\(error\)|:material/info: \{(?:warning|note|words|sentence)\}|no_markup\((?:note|warning)\)")
    assert {path.name: raw.findall(text) for path, text in SOURCES.items() if raw.search(text)} == {}


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("give --device or --memory to compare", "give “Card” or “Memory of the card” to compare"),
        ("--set max_num_seqs=8 starts.", "“Every setting, name=value a line” max_num_seqs=8 starts."),
        ("give --kv-cache-v fp16", "give “Values stored in” fp16"),
        # Options of engines stay: they are what one copies.
        (
            "--fit moves layers; use --device-map or --model-path",
            "--fit moves layers; use --device-map or --model-path",
        ),
    ],
)
def test_options_become_fields(sentence: str, shown: str) -> None:
    assert in_fields(sentence) == shown


def test_a_page_asks_by_its_own_fields(open_app: OpenApp) -> None:
    app = open_app(engine="llama_cpp", tensor_parallel="2")
    said = words(app)
    assert "ask for several cards with “Number of cards” or “Pipeline parallel” alone" in said
    assert not OPTION.search(said)
