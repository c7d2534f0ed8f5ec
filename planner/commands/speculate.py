import argparse

from planner.commands import DONE
from planner.commands.options import add_json, number, whole
from planner.export import to_json
from planner.speculation import speculate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--acceptance", type=number, required=True, help="chance that a drafted token is accepted, such as 0.7"
    )
    parser.add_argument("--draft-tokens", type=whole, required=True, help="tokens drafted a pass, such as 4")
    parser.add_argument(
        "--draft-cost", type=number, required=True, help="one drafted token as a share of one pass, such as 0.1"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    result = speculate(arguments.acceptance, arguments.draft_tokens, arguments.draft_cost)
    if arguments.json:
        print(to_json(result))
    else:
        from planner.performance_text import speculation_text

        print(speculation_text(result))
    return DONE
