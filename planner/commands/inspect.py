import argparse

from planner.answers.inspection import inspect_model
from planner.commands import DONE
from planner.commands.options import add_json, add_kv_cache, add_online
from planner.export import to_json
from planner.inputs.format_choices import choose_cache
from planner.inputs.model_files import load_model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="preset name or alias, file, folder, or Hugging Face id (with --online)")
    add_kv_cache(parser)
    add_online(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    architecture = load_model(arguments.model, arguments.online)
    cache_format = choose_cache(arguments.kv_cache, architecture)
    found = inspect_model(architecture, cache_format, cache_format)
    if arguments.json:
        print(to_json(found))
    else:
        from planner.text.inspection import inspection_text

        print(inspection_text(found))
    return DONE
