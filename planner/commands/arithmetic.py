import argparse

from planner.commands import DONE
from planner.commands.options import add_json, whole
from planner.export import to_json
from planner.multiply_accumulates import USUAL_HEAD_DIM, cache_arithmetic


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tokens", type=whole, required=True, help="tokens generated, one step each")
    parser.add_argument(
        "--head-dim", type=whole, default=USUAL_HEAD_DIM, help=f"width of the head; default {USUAL_HEAD_DIM}"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    result = cache_arithmetic(arguments.tokens, arguments.head_dim)
    if arguments.json:
        print(to_json(result))
    else:
        from planner.text.performance import arithmetic_text

        print(arithmetic_text(result))
    return DONE
