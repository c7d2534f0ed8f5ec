import argparse
from dataclasses import asdict, replace

from planner.answers.answer import beyond_model
from planner.batching.targets import Target, enough_requests
from planner.batching.trace import check_rate, longest_tokens, repeated
from planner.commands import DOES_NOT_FIT, DONE
from planner.commands.given import Unused
from planner.commands.options import add_json, add_storage, choices_from, number, whole
from planner.commands.pace import add_pace, speed_engine, unused_in_speed
from planner.commands.requests import (
    LEAST_REQUESTS,
    add_requests,
    drawn_words,
    requests_from,
    short_trace,
    unused_requests,
)
from planner.commands.shape import add_shape, server_wish
from planner.errors import PlannerError
from planner.export import to_json
from planner.inputs.choices import choose
from planner.inputs.model_files import load_model
from planner.serving.question import ServingQuestion
from planner.serving.served import USUAL_SLOTS
from planner.serving.shape import server_shape
from planner.serving.ways import serving_options
from planner.text.batching import repeated_words
from planner.units import parse_bytes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", required=True, help="preset name or alias, file, or folder")
    parser.add_argument("--device", help="a name from 'kvbudget devices'")
    parser.add_argument(
        "--memory", help="a card's memory instead, with --bandwidth or a --profile that says how fast it is"
    )
    parser.add_argument("--device-count", type=whole, default=1, help="cards in all; default 1")
    parser.add_argument("--node-devices", type=whole, help="cards that fail together; default: those of one replica")
    parser.add_argument("--weights", help="a name from 'kvbudget formats'; default: as the checkpoint stores them")
    target = parser.add_argument_group("target: what 95 of 100 requests must get")
    target.add_argument("--max-ttft", type=number, help="seconds to the first token, at most")
    target.add_argument("--max-time-per-token", type=number, help="seconds between tokens after it, at most")
    target.add_argument("--rate", type=number, help="requests a second that are expected")
    target.add_argument("--think", type=number, default=0.0, help="seconds that a user reads before asking again")
    server = parser.add_argument_group("a replica")
    add_shape(server)
    server.add_argument("--link", help="prefill and decode apart too: a link between replicas, a second, such as 50GB")
    add_requests(parser)
    add_storage(parser)
    add_pace(parser)
    add_json(parser)


def unused(arguments: argparse.Namespace) -> Unused:
    """What has no effect beside what was given."""
    yield from unused_requests(arguments)
    yield from unused_in_speed(arguments)
    yield ("context",), "where requests come with lengths of their own: say --prompt and --output"
    yield ("host_memory",), "here: replicas lie on their cards alone"
    if arguments.device_count == 1:
        yield ("node_devices",), "for one card"
        yield ("link",), "for one card: prompts and answers apart need at least two"


def run(arguments: argparse.Namespace) -> int:
    if arguments.max_ttft is None and arguments.max_time_per_token is None:
        raise PlannerError("Give a target: --max-ttft, --max-time-per-token, or both, in seconds.")
    if arguments.rate is not None:
        check_rate(arguments.rate)
    choices = choices_from(arguments, device_count=None)
    wish = server_wish(arguments)
    slots = server_shape(choose(replace(choices, users=1)).deployment, wish, USUAL_SLOTS).slots
    enough = enough_requests(slots)
    is_drawn = arguments.trace is None and arguments.workload is None
    if arguments.requests is None and is_drawn:
        arguments.requests = max(LEAST_REQUESTS, enough)
    given = requests_from(arguments, 1.0)
    question = ServingQuestion(
        trace=given if is_drawn else repeated(given, enough),
        target=Target(first_token_s=arguments.max_ttft, token_s=arguments.max_time_per_token),
        device_count=arguments.device_count,
        node_devices=arguments.node_devices,
        replica=wish,
        think_s=arguments.think,
        link_bytes_per_s=None if arguments.link is None else parse_bytes(arguments.link, "link"),
    )
    options = serving_options(choices, question, speed_engine(arguments), measured=arguments.measured)
    if arguments.json:
        print(to_json([asdict(option) for option in options]))
    else:
        from planner.text.serving import serving_text

        lengths = (arguments.prompt, arguments.output, arguments.sigma)
        notes = (
            *((drawn_words(given, *lengths),) if is_drawn else ()),
            *short_trace(arguments, given),
            *((repeated_words(len(given), len(question.trace)),) if question.trace is not given else ()),
            *options[0].notes,
            *beyond_model(load_model(choices.model, choices.online), longest_tokens(question.trace)),
        )
        print("\n".join([serving_text(options, question, arguments.rate), *(f"Note: {words}" for words in notes)]))
    return DONE if options[0].rate_per_s > 0 and options[0].rate_per_s >= (arguments.rate or 0) else DOES_NOT_FIT
