import argparse
import sys
from pathlib import Path

from planner.calibration import CalibrationProfile
from planner.commands import DOES_NOT_FIT, DONE
from planner.commands.given import Unused
from planner.commands.options import add_json, add_storage, choices_from, unused_storage, whole
from planner.errors import PlannerError
from planner.export import to_json
from planner.inputs.profile_files import write_profile
from planner.logs.read import read_log_file, read_log_stream
from planner.startups.report import report_log
from planner.startups.text import log_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="what the engine printed, from its start on; - reads standard input")
    parser.add_argument("--start", type=whole, help="which start in the log, from 1; default: the last")
    parser.add_argument("--model", default="", help="where the log's own name is no preset's")
    parser.add_argument("--device", help="the card, where the log does not say how large it is")
    parser.add_argument("--memory", help="its memory instead, such as 24GiB")
    parser.add_argument("--weights", help="a name from 'kvbudget formats', where the checkpoint's name does not say")
    parser.add_argument("--save", metavar="FILE", help="write what was measured, for plan --profile")
    add_storage(parser)
    add_json(parser)


def unused(arguments: argparse.Namespace) -> Unused:
    """What a log decides itself, or another option has decided."""
    yield ("engine",), "on a log, which says itself whose it is"
    yield from unused_storage(arguments)


def run(arguments: argparse.Namespace) -> int:
    found = read_log_stream(sys.stdin) if arguments.file == "-" else read_log_file(Path(arguments.file))
    report = report_log(found, choices_from(arguments), arguments.start)
    if arguments.save:
        _save(report.profile, Path(arguments.save))
    print(to_json(report) if arguments.json else log_text(report))
    return DONE if report.failure is None else DOES_NOT_FIT


def _save(profile: CalibrationProfile | None, path: Path) -> None:
    if profile is None:
        raise PlannerError(
            "The log shows nothing of the items that the planner assumes, so there is no profile to save."
        )
    write_profile(profile, path)
