"""What every reader of presets/ needs: a file's tables, records built of them, and the sentence for an unknown name."""

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from planner.errors import BadPreset

PRESETS = Path(__file__).resolve().parent.parent / "presets"

T = TypeVar("T")


def load_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dict; raises BadPreset naming the file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadPreset(f"presets/{path.relative_to(PRESETS)} cannot be read: {error}.") from error


def build(cls: type[T], table: Any, path: str, **given: Any) -> T:
    """*cls* from a TOML *table*; an unknown or missing key is reported as ``path.key``."""
    if not isinstance(table, dict):
        raise BadPreset(f"Value of {path!r} must be a table.")
    known = {f.name for f in fields(cls)} - given.keys()  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise BadPreset(f"Unknown key {path + '.' + key!r}.")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    try:
        return cls(**values, **given)
    except TypeError as error:
        missing = str(error).rpartition(": ")[2]
        raise BadPreset(f"Missing value in {path!r}: {missing}.") from error


def not_known(what: str, name: str, known: list[str], where: str) -> str:
    from difflib import get_close_matches  # only for the error

    shown = name if len(name) <= 60 else name[:59] + "…"
    near = get_close_matches(name.strip().lower(), known, n=3, cutoff=0.5)
    hint = f"nearest: {', '.join(near)}; " if near else ""
    return f"{what} {shown!r} is not known; {hint}see {where}."
