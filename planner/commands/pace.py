"""Options that say how fast an engine is, for the commands that plan speed."""

import argparse

from planner.answers.answer import Answer
from planner.commands.given import Unused
from planner.commands.options import (
    add_bandwidth,
    add_interconnect,
    number,
    unused_interconnect,
    unused_quantize,
    unused_storage,
    whole,
)
from planner.errors import PlannerError
from planner.inputs.named_cards import is_without_card
from planner.paced import MeasuredRate, run_by


def add_pace(parser: argparse._ActionsContainer) -> None:
    """Whose speed is planned, what joins its cards, how fast they read, and what of it was measured."""
    add_interconnect(parser)
    add_bandwidth(parser)
    parser.add_argument(
        "--speed-engine",
        help="whose public measurements say how fast it is; default: --engine, vllm for minimum, or llama_cpp where "
        "there is no card",
    )
    parser.add_argument(
        "--measured",
        type=rate,
        action="append",
        default=[],
        metavar="TOKENS_PER_S[@CONTEXT]",
        help="tokens a second that one user alone got here, and with how many tokens, such as 52.3@8192: narrows the "
        "range; twice for two points",
    )


def rate(text: str) -> MeasuredRate:
    """A measured rate, and with how many tokens it was, such as 52.3 or 52.3@8192."""
    tokens_per_s, at, context = text.partition("@")
    try:
        return MeasuredRate(tokens_per_s=number(tokens_per_s), context_tokens=whole(context) if at else None)
    except PlannerError as error:
        raise argparse.ArgumentTypeError(f"{error}") from error


def speed_engine(arguments: argparse.Namespace) -> str:
    """Whose constants to use: those that were named, else those of the plan's own engine."""
    return arguments.speed_engine or run_by(arguments.engine.strip().lower(), is_without_card(arguments.device))


def unused_in_speed(arguments: argparse.Namespace) -> Unused:
    """What counts for nothing wherever speed is planned."""
    yield from unused_storage(arguments)
    yield from unused_quantize(arguments)
    yield from unused_interconnect(arguments)
    if arguments.profile is not None and _has_speed(arguments.profile):
        yield ("speed_engine", "measured", "bandwidth"), "with a --profile that timed the machine"


def _has_speed(profile: str) -> bool:
    from planner.inputs.profile_files import find_profile

    return find_profile(profile).speed is not None


def check_host_memory(arguments: argparse.Namespace, memory: Answer) -> None:
    """Raises PlannerError where the size of main memory was given and nothing lies there."""
    if arguments.host_memory is not None and not memory.host_items and not is_without_card(arguments.device):
        raise PlannerError("--host-memory has no effect: nothing of this plan lies in main memory; leave it out.")
