"""What every reader of presets/ needs: a file's tables, records built of them, and the sentence for an unknown name."""

import tomllib
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from planner.errors import BadPreset

PRESETS = Path(__file__).resolve().parent.parent / "presets"

NEAREST = 3

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


def not_known(what: str, name: str, near: Iterable[str], where: str) -> str:
    """The sentence for a *name* that is none of those that are *near*."""
    shown = name if len(name) <= 60 else name[:59] + "…"
    hint = f"nearest: {', '.join(near)}; " if near else ""
    return f"{what} {shown!r} is not known; {hint}see {where}."


def nearest(name: str, known: list[str], alike: float = 0.5, count: int = NEAREST) -> list[str]:
    """At most *count* of *known* that begin with *name*, else those that are *alike* it, as a share of letters."""
    from difflib import get_close_matches  # only for errors

    wanted = name.strip().lower()
    begins = [each for each in known if wanted and each.startswith(wanted)]
    return begins[:count] or get_close_matches(wanted, known, n=count, cutoff=alike)
