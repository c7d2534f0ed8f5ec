"""Calibration profiles as JSON files, validated where they come in; by path, or by the name of a kept one."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from planner.borders import validate
from planner.calibration import CalibrationProfile
from planner.errors import BadFile, PlannerError, UnknownName
from planner.export import to_json
from planner.inputs.profile_checks import check_profile, plain
from planner.preset_files import PRESETS
from planner.readers.json_text import parse_json
from planner.units import shorten, shorten_path

SHIPPED = PRESETS / "calibration"
"""Profiles of machines that were measured for this project."""
MAX_NAME_CHARACTERS = 60
_NAME = re.compile(rf"[A-Za-z0-9][\w.-]{{0,{MAX_NAME_CHARACTERS - 1}}}", re.ASCII)


def own_folder() -> Path:
    """Where the user's own profiles are kept."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "kvbudget" / "profiles"


def profile_paths() -> Mapping[str, Path]:
    """Every kept profile's file by its name; the user's own come first and may take a shipped one's name."""
    own, shipped = (sorted(folder.glob("*.json")) for folder in (own_folder(), SHIPPED))
    return {path.stem: path for path in (*shipped, *own)}


def find_profile(name: str) -> CalibrationProfile:
    """The profile in the file *name*, or the kept one of that name. Raises PlannerError naming what is wrong."""
    path = Path(name)
    if path.suffix == ".json" or path.is_file():
        return load_profile(path)
    known = profile_paths()
    if name not in known:
        kept = f"choose one of: {', '.join(known)}" if known else "none is kept yet"
        raise UnknownName(f"Profile {shorten(name)!r} is neither a file nor a kept one; {kept}.")
    return load_profile(known[name])


def load_profile(path: Path) -> CalibrationProfile:
    """The profile in *path*, as ``kvbudget log --save`` and ``python -m measure calibrate`` write it.

    Raises PlannerError naming what is wrong.
    """
    if path.exists() and not path.is_file():
        raise BadFile(f"{shorten_path(path)} is no regular file, as a profile is.")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadFile(f"{shorten_path(path)} cannot be read: {error.strerror or error}.") from error
    return read_profile(data, path.name)


def read_profile(data: bytes, name: str) -> CalibrationProfile:
    """The profile in the content of a file called *name*. Raises PlannerError naming what is wrong."""
    found = validate(CalibrationProfile, plain(parse_json(data, name)), name, strict=True)
    check_profile(found, name)
    return found


def save_profile(profile: CalibrationProfile, name: str) -> Path:
    """Keeps *profile* by *name*, in place of the user's own that has it. Raises PlannerError for a name of no file."""
    if _NAME.fullmatch(name) is None or name.endswith(".json"):
        raise PlannerError(
            f"{shorten(name)!r} is no name for a profile: use up to {MAX_NAME_CHARACTERS} letters, digits, dots and "
            "dashes, a letter or digit first."
        )
    path = own_folder() / f"{name}.json"
    write_profile(profile, path)
    return path


def write_profile(profile: CalibrationProfile, path: Path) -> None:
    """*profile* as a file. Raises BadFile where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{to_json(profile)}\n", encoding="utf-8")
    except OSError as error:
        raise BadFile(f"{shorten_path(path)} cannot be written: {error.strerror or error}.") from error


def delete_profile(name: str) -> None:
    """Removes the user's own profile called *name*. Raises PlannerError where there is none, or it cannot be."""
    path = profile_paths().get(name)
    if path is None or path.parent != own_folder():
        raise UnknownName(f"No profile of your own is kept as {shorten(name)!r}.")
    try:
        path.unlink()
    except OSError as error:
        raise BadFile(f"{shorten_path(path)} cannot be removed: {error.strerror or error}.") from error
