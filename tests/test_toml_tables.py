import tomllib
from pathlib import Path

import pytest

from planner import format_presets, preset_files, presets
from planner.errors import BadPreset
from planner.toml_tables import TomlTables

# Are read as a whole: they have values before a first table, if there is one.
WHOLE = {
    preset_files.PRESETS / name
    for name in (
        "example_prices.toml",
        "paging.toml",
        "ollama_releases.toml",
        "sglang_releases.toml",
        "vllm_releases.toml",
    )
}
CUT = sorted({*preset_files.PRESETS.glob("*.toml"), *(preset_files.PRESETS / "architectures").glob("*.toml")} - WHOLE)


@pytest.mark.parametrize("path", CUT, ids=lambda path: path.name)
def test_cut_and_whole_give_the_same_tables(path: Path) -> None:
    """Parsing table by table is parsing the file."""
    tables = TomlTables(path, path.name)
    assert {key: tables.parse(key) for key in tables} == tomllib.loads(path.read_text(encoding="utf-8"))


def test_bad_tables_are_named_with_their_file(tmp_path: Path) -> None:
    path = tmp_path / "devices.toml"
    path.write_text("[good]\na = 1\n\n[bad]\na = = 2\n")
    tables = TomlTables(path, "devices.toml")
    assert tables.parse("good") == {"a": 1}
    with pytest.raises(BadPreset, match=r"presets/devices.toml cannot be read: bad: Invalid value"):
        tables.parse("bad")
    with pytest.raises(BadPreset, match=r"presets/none.toml cannot be read"):
        TomlTables(tmp_path / "none.toml", "none.toml")


def test_names_and_aliases_find_the_same_thing() -> None:
    assert presets.find_device("4090") is presets.find_device(" RTX-4090 ")
    assert presets.find_model("meta-llama/llama-3.1-8b-instruct") == presets.find_model("llama3.1:8b")
    assert format_presets.formats()["fp8_e4m3"] is format_presets.formats()["fp8"]
