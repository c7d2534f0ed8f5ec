import argparse
from collections.abc import Sequence

from planner import which
from planner.choices import Choices
from planner.commands import DOES_NOT_FIT, DONE
from planner.commands.given import Unused
from planner.commands.options import (
    add_json,
    add_storage,
    choices_from,
    names,
    print_rows,
    unused_host_memory,
    unused_storage,
    whole,
)
from planner.errors import PlannerError
from planner.export import Row, to_json
from planner.model_files import load_model

SHOWN = 15
NOTHING = "Nothing in the presets does this; ask for less context or fewer users."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", help="list the devices that do it, smallest first")
    parser.add_argument("--device", help="say which model and format to take for it, the most useful first")
    parser.add_argument("--memory", help="the same for a size instead of a device, such as 8GiB")
    parser.add_argument("--weights", type=names, help="formats to try; default: those that the engine reads")
    add_storage(parser)
    parser.add_argument("--users", type=whole, default=1, help="requests resident at once; default 1")
    parser.add_argument(
        "--all", action="store_true", help="every device, or every model and format with the largest weights first"
    )
    add_json(parser)


def unused(arguments: argparse.Namespace) -> Unused:
    """What has no effect beside what was given."""
    yield from unused_storage(arguments)
    yield from unused_host_memory(arguments)


def run(arguments: argparse.Namespace) -> int:
    if (arguments.model is None) == ((arguments.device or arguments.memory) is None):
        raise PlannerError("Give --model to list devices, or --device or --memory to list models; one of the two.")
    if arguments.model is not None:
        rows = _devices(arguments)
    elif arguments.all:
        choices, weights = _asked(arguments)
        rows = [which.model_row(match) for match in which.models_for(choices, weights)]
        print_rows(rows, arguments.json, NOTHING)
    else:
        rows = _picks(arguments)
    return DONE if rows else DOES_NOT_FIT


def _asked(arguments: argparse.Namespace) -> tuple[Choices, Sequence[str]]:
    choices = choices_from(arguments, model="")
    device = which.check_device(choices)
    return choices, arguments.weights or which.default_weights(choices.engine, device)


def _devices(arguments: argparse.Namespace) -> Sequence[Row]:
    choices, architecture = choices_from(arguments), load_model(arguments.model, arguments.online)
    weights = arguments.weights or which.default_weights(choices.engine)
    found = [which.device_row(match) for match in which.devices_for(choices, architecture, weights)]
    shown = found if arguments.all or arguments.json else found[:SHOWN]
    print_rows(shown, arguments.json, NOTHING)
    if len(shown) < len(found):
        print(f"{len(found) - len(shown)} larger ones do it too: --all lists them.")
    return found


def _picks(arguments: argparse.Namespace) -> Sequence[Row]:
    from planner.picks import larger_for, pick_row, picks_for  # only for this question

    choices, weights = _asked(arguments)
    found = picks_for(choices, weights)
    larger = larger_for(choices, weights, found[0].match) if found else []
    rows = [pick_row(pick) for pick in (*found, *larger)]
    if arguments.json:
        print(to_json(rows))
    elif not rows:
        print(NOTHING)
    else:
        from planner.picks_text import picks_text

        print(picks_text(choices, found, larger))
    return rows
