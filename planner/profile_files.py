"""Calibration profiles as JSON files, validated where they come in."""

from pathlib import Path

from planner.borders import validate
from planner.calibration import CalibrationProfile
from planner.errors import BadFile
from planner.readers.json_text import parse_json
from planner.units import shorten_path


def load_profile(path: Path) -> CalibrationProfile:
    """The profile in *path*, as ``kvbudget log --save`` writes it. Raises PlannerError naming what is wrong."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadFile(f"{shorten_path(path)} cannot be read: {error.strerror or error}.") from error
    return validate(CalibrationProfile, parse_json(data, path.name), path.name)
