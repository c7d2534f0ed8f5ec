"""``python -m measure``: list, run, all, compare, calibrate. A PlannerError becomes one sentence and exit code 2.

Only ``run``, ``all`` and ``hardware`` import torch; the others answer at once, and without it.
"""

import argparse
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from measure.experiments import EXPERIMENTS
from measure.libraries import load_torch
from measure.options import OF_A_MODEL, check_options
from measure.progress import FORMS
from measure.records import output_folder
from measure.setup import ATTENTION, DTYPES, SCALES, TRAINED, Setup
from planner.errors import PlannerError
from planner.export import to_json
from planner.units import format_bytes, shorten

DONE, NOT_ALL, BAD_INPUT, STOPPED = 0, 1, 2, 130
"""Exit codes: every case measured; some did not fit or failed; bad input; interrupted."""
MAX_SEED = 2**63 - 1
"""PyTorch's generators take no larger one."""
CHAPTER = "report.md"
"""What ``all`` writes: every table, picture and sentence in one file."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence instead of the usage block."""
        raise PlannerError(f"{message[:1].upper()}{message[1:]}; see {self.prog} --help.")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    try:
        arguments = _parser().parse_args(argv)
        code: int = arguments.run(arguments)
    except PlannerError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("Stopped. Every finished run is kept: the same command goes on from there.", file=sys.stderr)
        return STOPPED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m measure", description="Measures on this machine what the planner predicts.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="the experiments")
    listing.add_argument("--json", action="store_true")
    listing.set_defaults(run=_list)
    run = commands.add_parser("run", help="one experiment")
    run.add_argument("experiment", help=f"one of: {', '.join(EXPERIMENTS)}")
    _add_setup(run)
    run.set_defaults(run=_run)
    everything = commands.add_parser("all", help="every experiment, and one report")
    _add_setup(everything)
    everything.set_defaults(run=_all)
    found = commands.add_parser("hardware", help="the device, its memory, and what else holds some of it")
    found.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, xpu or mps")
    found.add_argument("--json", action="store_true")
    found.set_defaults(run=_hardware)
    compare = commands.add_parser("compare", help="what was measured beside what was predicted, from kept records")
    _add_output(compare)
    compare.add_argument("--json", action="store_true")
    compare.set_defaults(run=_compare)
    calibrate = commands.add_parser("calibrate", help="a profile from kept records, for 'kvbudget plan --profile'")
    _add_output(calibrate)
    calibrate.add_argument("--name", type=_said, help="how the profile is called; default: device and engine")
    calibrate.add_argument("--save", type=_folder, metavar="FILE", help="write it there, not among your own profiles")
    calibrate.add_argument("--json", action="store_true", help="the profile as JSON on stdout")
    calibrate.set_defaults(run=_calibrate)
    return parser


def _add_setup(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        type=_said,
        help=f"a preset (random weights), folder, Hugging Face id, or {TRAINED}, which is the default; a GGUF file for "
        "engine",
    )
    parser.add_argument("--scale", choices=SCALES, default="full", help="small: a small copy with random weights")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, xpu or mps")
    parser.add_argument("--dtype", choices=DTYPES, help="default fp32 on a CPU, bf16 elsewhere")
    parser.add_argument("--attention", choices=ATTENTION, default="auto")
    parser.add_argument("--seed", type=_seed, default=0)
    parser.add_argument(
        "--draft", type=_said, metavar="MODEL",
        help="for speculation: a model with the same vocabulary, or first-20 for the model's own first 20 layers",
    )  # fmt: skip
    parser.add_argument("--online", action="store_true", help="fetch a Hugging Face id that is not on this machine")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs: minutes on two cores")
    parser.add_argument("--again", action="store_true", help="measure again what has a record already")
    parser.add_argument("--progress", choices=FORMS, default="auto")
    parser.add_argument("--json", action="store_true", help="JSON on stdout and nothing else")
    _add_output(parser)


def _said(text: str) -> str:
    """An option's text, which must not be empty."""
    if not text.strip():
        raise argparse.ArgumentTypeError("nothing stands there; leave the option out for its default")
    return text


def _folder(text: str) -> Path:
    return Path(_said(text))


def _seed(text: str) -> int:
    if not (text.isdecimal() and int(text) <= MAX_SEED):
        raise argparse.ArgumentTypeError(f"{shorten(text)!r} is no whole number from 0 to {MAX_SEED:,}")
    return int(text)


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output", type=_folder, default=output_folder(), help="folder of records, tables and pictures"
    )


def _list(arguments: argparse.Namespace) -> int:
    if arguments.json:
        print(to_json([{"name": name, "title": title} for name, title in EXPERIMENTS.items()]))
    else:
        width = max(map(len, EXPERIMENTS))
        print("\n".join(f"{name:{width}}  {title}" for name, title in EXPERIMENTS.items()))
    return DONE


def _run(arguments: argparse.Namespace) -> int:
    return _measure([arguments.experiment], arguments)


def _all(arguments: argparse.Namespace) -> int:
    return _measure(list(EXPERIMENTS), arguments, CHAPTER)


def _measure(names: list[str], arguments: argparse.Namespace, report: str | None = None) -> int:
    load_torch()
    from measure.session import Session, write

    if len(names) == 1:
        check_options(names[0], _given(arguments))
    signal.signal(signal.SIGTERM, _interrupt)
    session = Session(_setup(arguments), arguments.output, arguments.progress, arguments.again)
    results = session.measure(names)
    if report:
        write(arguments.output / report, session.markdown(results))
    if arguments.json:
        print(to_json([result.plain() for result in results]))
    else:
        print("\n\n".join(result.text() for result in results))
    return DONE if all(result.is_complete for result in results) else NOT_ALL


def _setup(arguments: argparse.Namespace) -> Setup:
    from measure.instruments import find_instrument

    device = find_instrument(arguments.device).device
    return Setup(
        model=arguments.model or "",
        scale=arguments.scale,
        device=str(device),
        dtype=arguments.dtype or ("fp32" if device.type == "cpu" else "bf16"),
        attention=arguments.attention,
        seed=arguments.seed,
        draft=arguments.draft or "",
        online=arguments.online,
        quick=arguments.quick,
    )


def _given(arguments: argparse.Namespace) -> list[str]:
    """The options of what is measured that are not at their defaults."""
    defaults = vars(_parser().parse_args(["run", ""]))
    return [name for name in OF_A_MODEL | {"draft"} if getattr(arguments, name) != defaults[name]]


def _hardware(arguments: argparse.Namespace) -> int:
    load_torch()
    from measure.hardware import hardware

    found = hardware(arguments.device)
    if arguments.json:
        print(to_json(found))
    else:
        others = ", ".join(f"{one['name']} {format_bytes(one['bytes'])}" for one in found["others"])
        several = f", one of {found['cards']} cards" if found["cards"] > 1 else ""
        print(f"{found['title']} ({found['kind']}){several}, {found['cores']} cores")
        print(f"{format_bytes(found['total_bytes'])}, {format_bytes(found['free_bytes'])} free now")
        print(f"also there: {others or 'nothing of size'}")
    return DONE


def _compare(arguments: argparse.Namespace) -> int:
    from measure.compare import comparison, comparison_text, passed_over

    rows = comparison(arguments.output)
    if said := passed_over(arguments.output):
        print(said, file=sys.stderr)
    print(to_json(rows) if arguments.json else comparison_text(rows))
    return DONE


def _calibrate(arguments: argparse.Namespace) -> int:
    from measure.calibrate import calibrate, disagreeing, keep, profile_text

    profile, disagree = calibrate(arguments.output), disagreeing(arguments.output)
    path = keep(profile, arguments.name or "", arguments.save)
    if arguments.json:
        print(to_json(profile))
        return DONE
    print(profile_text(profile))
    for row in disagree:
        print(f"Exact, so not fitted: {row['case']}, {row['quantity']} is {row['ratio']:.4g} × its prediction.")
    option = f"--engine {profile.subject.engine} --profile {shlex.quote(str(arguments.save or path.stem))}"
    print(f"\nKept as {path}. Use it: kvbudget plan {option} …")
    return DONE


def _interrupt(*_: Any) -> NoReturn:
    raise KeyboardInterrupt
