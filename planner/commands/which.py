import argparse

from planner import which
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
from planner.model_files import load_model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", help="list the devices that do it, smallest first")
    parser.add_argument("--device", help="list the models and formats that it runs, largest first")
    parser.add_argument("--memory", help="the same for a size instead of a device, such as 8GiB")
    parser.add_argument("--weights", type=names, help="formats to try; default: those that the engine reads")
    add_storage(parser)
    parser.add_argument("--users", type=whole, default=1, help="requests resident at once; default 1")
    add_json(parser)


def unused(arguments: argparse.Namespace) -> Unused:
    """What has no effect beside what was given."""
    yield from unused_storage(arguments)
    yield from unused_host_memory(arguments)


def run(arguments: argparse.Namespace) -> int:
    if (arguments.model is None) == ((arguments.device or arguments.memory) is None):
        raise PlannerError("Give --model to list devices, or --device or --memory to list models; one of the two.")
    weights = arguments.weights or which.default_weights(arguments.engine)
    if arguments.model is not None:
        architecture = load_model(arguments.model, arguments.online)
        rows = [which.device_row(match) for match in which.devices_for(choices_from(arguments), architecture, weights)]
    else:
        rows = [which.model_row(match) for match in which.models_for(choices_from(arguments, model=""), weights)]
    print_rows(rows, arguments.json, "Nothing in the presets does this; ask for less context or fewer users.")
    return DONE if rows else DOES_NOT_FIT
