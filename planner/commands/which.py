import argparse
from collections.abc import Sequence
from dataclasses import replace

from planner.answers.answer import answer
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
from planner.finding import which
from planner.finding.which_rows import device_row, file_row, model_row, pick_row
from planner.inputs.choices import Choices, choose
from planner.inputs.model_files import load_model
from planner.tried_formats import default_weights

SHOWN = 15
NOTHING = "Nothing in the presets does this; ask for less context or fewer users."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model", help="list the devices that do it, smallest first; with --device, which of its files to take"
    )
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
    has_card = (arguments.device or arguments.memory) is not None
    if arguments.model is not None and has_card:
        return _files(arguments)
    if arguments.model is not None:
        rows = _devices(arguments)
    elif not has_card:
        raise PlannerError("Give --model to list devices, --device or --memory to list models, or both to list files.")
    elif arguments.all:
        choices, weights = _asked(arguments)
        found = which.models_for(choices, weights)
        rows = _print([model_row(match) for match in found], found[:1], arguments.json)
    else:
        rows = _picks(arguments)
    return DONE if rows else DOES_NOT_FIT


def _asked(arguments: argparse.Namespace) -> tuple[Choices, Sequence[str]]:
    choices = choices_from(arguments, model="")
    device = which.check_device(choices)
    return choices, arguments.weights or default_weights(choices.engine, device)


def _print(rows: Sequence[Row], matches: Sequence[which.Match], as_json: bool) -> Sequence[Row]:
    """*rows* as JSON, or as columns with what *matches* leave out below, each sentence once."""
    if as_json:
        print(to_json(rows))
        return rows
    print_rows([{key: row[key] for key in row if key != "warnings"} for row in rows], False, NOTHING)
    for warning in dict.fromkeys(warning for match in matches for warning in match.warnings):
        print(f"Note: {warning}")
    return rows


def _devices(arguments: argparse.Namespace) -> Sequence[Row]:
    choices = choices_from(arguments)
    architecture = load_model(choices.model, choices.online)
    found = which.devices_for(choices, architecture, arguments.weights or default_weights(choices.engine))
    shown = found if arguments.all or arguments.json else found[:SHOWN]
    rows = _print([device_row(match) for match in shown], shown, arguments.json)
    if len(shown) < len(found):
        print(f"{len(found) - len(shown)} larger ones do it too: --all lists them.")
    return rows


def _files(arguments: argparse.Namespace) -> int:
    from planner.catalogue.downloads import hub_note
    from planner.catalogue.quality import unlike
    from planner.finding.best_file import best_file, to_take
    from planner.text.picks import file_command, sold_note
    from planner.text.which import file_sentence, file_title

    choices = choices_from(arguments, weights=None)
    architecture = load_model(choices.model, choices.online)
    if arguments.weights:
        found = which.formats_for(choices, architecture, arguments.weights)
    else:
        found = which.files_for(choices, architecture)
    told, whose = to_take(choices.engine, found)
    best = best_file(told)
    if not arguments.json:
        chosen = choose(replace(choices, weights=(best or found[-1]).weights), architecture)
        asked = answer(chosen.architecture, chosen.deployment, chosen.workload)
        title, command = file_title(told, whose), file_command(best, choices)
        print(title, *filter(None, [command]), sep="\n")
        print(file_sentence(told, asked).replace("**", ""), "", sep="\n")
    rows = _print([file_row(choices.engine, match) for match in found], found, arguments.json)
    if not arguments.json and (note := unlike(map(which.match_quality, found))):
        print(f"Note: {note}")
    if not arguments.json and (note := sold_note(which.check_device(choices))):
        print(f"Note: {note}")
    if not arguments.json and (note := hub_note(choices.engine, (str(row["get"] or "") for row in rows))):
        print(f"Note: {note}")
    return DOES_NOT_FIT if best is None else DONE


def _picks(arguments: argparse.Namespace) -> Sequence[Row]:
    from planner.finding.picks import larger_for, picks_for  # only for this question

    choices, weights = _asked(arguments)
    found = picks_for(choices, weights)
    larger = larger_for(choices, weights, found[0].match) if found else []
    rows = [pick_row(pick) for pick in (*found, *larger)]
    if arguments.json:
        print(to_json(rows))
    elif not rows:
        print(NOTHING)
    else:
        from planner.text.picks import picks_text

        print(picks_text(choices, found, larger))
    return rows
