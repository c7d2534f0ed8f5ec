import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from planner.answers.answer import answer, beyond_model
from planner.answers.verdict import as_if
from planner.batching.targets import Target
from planner.catalogue.performance_presets import power_share
from planner.commands import DOES_NOT_FIT, DONE
from planner.commands.exports import add_format, rows_as, write
from planner.commands.given import Unused
from planner.commands.options import add_storage, choices_from, number, whole
from planner.commands.pace import add_pace, check_host_memory, speed_engine, unused_in_speed
from planner.commands.requests import OUTPUT, PROMPT, SIGMA, drawn_words, requests_drawn
from planner.cost import Cost, cost
from planner.deployment import Workload
from planner.energy import device_power, stated_power
from planner.errors import PlannerError
from planner.export import to_json
from planner.inputs.choices import choose
from planner.inputs.model_files import load_model
from planner.paced import paced
from planner.serving.offers import Offer, find_offers
from planner.serving.price_files import load_prices, of_known_speed
from planner.serving.question import ServingQuestion
from planner.serving.rate_offers import RateOffer, find_rate_offers
from planner.serving.served import USUAL_SLOTS
from planner.serving.shape import ShapeWish, server_shape
from planner.speed.cautions import stated

_MANY = ("min_tokens_per_s", "max_ttft", "rate", "max_time_per_token", "sigma", "slots", "spare")
_ONE = (
    *(
        "device",
        "memory",
        "price",
        "tensor_parallel",
        "pipeline_parallel",
        "interconnect",
        "bandwidth",
        "watts",
        "measured",
        "profile",
        "host_memory",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", required=True, help="preset name or alias, file, or folder")
    parser.add_argument("--device", help="a name from 'kvbudget devices', with --price")
    parser.add_argument(
        "--memory", help="a card's memory instead, with --bandwidth or a --profile that says how fast it is"
    )
    parser.add_argument("--price", type=number, help="of one device, an hour, in any currency")
    parser.add_argument("--currency", default="", help="what money is called in the answer, such as EUR")
    parser.add_argument("--weights", help="a name from 'kvbudget formats'; default: as the checkpoint stores them")
    add_storage(parser)
    parser.add_argument("--users", type=whole, default=8, help="requests that decode together; default 8")
    parser.add_argument("--prompt", type=whole, default=PROMPT, help="tokens of a prompt; default 1,024")
    parser.add_argument("--output", type=whole, default=OUTPUT, help="tokens of an answer; default 256")
    parser.add_argument("--tensor-parallel", type=whole)
    parser.add_argument("--pipeline-parallel", type=whole)
    parser.add_argument(
        "--watts", type=number, help="what one device draws; default: by the limit of its power, where known"
    )
    add_pace(parser)
    many = parser.add_argument_group("the cheapest of many")
    many.add_argument("--prices", type=Path, help="TOML, device = price an hour, or CSV: device, price_per_hour")
    many.add_argument("--min-tokens-per-s", type=number, default=0.0, help="what each user must get")
    many.add_argument("--max-ttft", type=number, help="seconds to the first token, at most")
    many.add_argument("--rate", type=number, help="requests a second instead of users: 95 of 100 within the latency")
    many.add_argument("--max-time-per-token", type=number, help="with --rate: seconds between tokens, at most")
    many.add_argument("--sigma", type=number, default=SIGMA, help="with --rate: spread of the lengths; default 1")
    many.add_argument(
        "--slots",
        type=whole,
        help=f"with --rate: requests that run at once on a replica; default: as the engine has it, else {USUAL_SLOTS}",
    )
    many.add_argument("--spare", type=whole, default=0, help="with --rate: replicas that may be lost; default 0")
    add_format(parser)
    parser.add_argument("--save", type=Path, metavar="FILE", help="write to this file instead of stdout")


def unused(arguments: argparse.Namespace) -> Unused:
    """What has no effect beside what was given."""
    yield from unused_in_speed(arguments)
    of_rate = ("max_time_per_token", "sigma", "slots", "spare")
    if arguments.prices is None:
        yield _MANY, "for one kind of card: it looks for the cheapest of a table, --prices FILE"
        yield ("context",), "where --prompt and --output say how long a request is"
        return
    yield _ONE, "with --prices, which names the cards; 1 to 8 of each are tried"
    if arguments.rate is None:
        yield of_rate, "without --rate"
    else:
        yield ("users", "context"), "with --rate, which decides how many requests are there at once"
        yield ("min_tokens_per_s",), "with --rate, where --max-time-per-token says it"


def run(arguments: argparse.Namespace) -> int:
    has_card = arguments.device is not None or arguments.memory is not None
    if (arguments.prices is None) != (has_card and arguments.price is not None):
        raise PlannerError("Give --device and --price for one kind of card, or --prices FILE for the cheapest of many.")
    if arguments.prices is None:
        return _one_card(arguments)
    prices, left_out = of_known_speed(load_prices(arguments.prices))
    question = _question(arguments, prices) if arguments.rate is not None else None
    rated = [] if question is None else _rate_offers(arguments, prices, question)
    plain = _offers(arguments, prices) if arguments.rate is None else []
    if arguments.format == "text":
        from planner.text.prices import offers_text, rate_offers_text

        if question is None:
            text = offers_text(plain, arguments.currency)
        else:
            drawn = drawn_words(question.trace, arguments.prompt, arguments.output, arguments.sigma)
            text = rate_offers_text(rated, arguments.rate, arguments.currency, drawn)
        write("\n".join([text, *(f"Note: {words}" for words in left_out), ""]), arguments.save, "--save")
    else:
        offers: Sequence[Offer | RateOffer] = plain or rated
        rows = [_row(offer) | {"currency": arguments.currency} for offer in offers]
        write(rows_as(arguments.format, rows, ""), arguments.save, "--save")
    return DONE if plain or rated else DOES_NOT_FIT


def _row(offer: Offer | RateOffer) -> dict[str, object]:
    """For files: sentences as one."""
    row = asdict(offer)
    return row | {"notes": " ".join(row["notes"])} if "notes" in row else row


def _one_card(arguments: argparse.Namespace) -> int:
    if arguments.format not in ("text", "json"):
        raise PlannerError("Tables are for --prices FILE; one card's cost is text or --json.")
    result, fits = _cost(arguments)
    if arguments.format == "json":
        text = to_json(asdict(result) | {"currency": arguments.currency})
    else:
        from planner.text.prices import cost_text

        text = cost_text(result, arguments.currency, fits)
    write(f"{text}\n", arguments.save, "--save")
    return DONE if fits else DOES_NOT_FIT


def _cost(arguments: argparse.Namespace) -> tuple[Cost, bool]:
    """What one kind of card costs, and whether memory holds what was asked."""
    chosen = choose(choices_from(arguments))
    found = paced(chosen, speed_engine(arguments), arguments.measured)
    count = chosen.deployment.device_count
    context_tokens = arguments.prompt + arguments.output
    workload = Workload(context_tokens=context_tokens, users=arguments.users)
    memory = answer(chosen.architecture, chosen.deployment, workload)
    check_host_memory(arguments, memory)
    result = cost(
        found.model,
        found.constants,
        price_per_hour=count * arguments.price,
        users=arguments.users,
        limit=found.at_once.limit,
        prompt_tokens=arguments.prompt,
        output_tokens=arguments.output,
        power=device_power(chosen.deployment.device, count, power_share())
        if arguments.watts is None
        else stated_power(count * arguments.watts),
    )
    as_if_it_fitted = () if memory.fits else (as_if(memory),)
    beyond = beyond_model(chosen.architecture, context_tokens)
    notes = stated(found.model, found.constants)
    return replace(result, warnings=(*as_if_it_fitted, *beyond, *notes)), memory.fits


def _offers(arguments: argparse.Namespace, prices: Mapping[str, float]) -> list[Offer]:
    return find_offers(
        choices_from(
            arguments, context=arguments.prompt + arguments.output if arguments.context is None else arguments.context
        ),
        prices,
        speed_engine=speed_engine(arguments),
        prompt_tokens=arguments.prompt,
        output_tokens=arguments.output,
        min_tokens_per_s=arguments.min_tokens_per_s,
        max_first_token_s=arguments.max_ttft,
    )


def _question(arguments: argparse.Namespace, prices: Mapping[str, float]) -> ServingQuestion:
    """What --rate asks of the cards."""
    if arguments.max_ttft is None and arguments.max_time_per_token is None:
        raise PlannerError("--rate needs a target: --max-ttft, --max-time-per-token, or both, in seconds.")
    wish = ShapeWish(slots=arguments.slots)
    free = choices_from(arguments).without_cards()
    model = load_model(free.model, free.online)
    chosen = (choose(replace(free, device=device), model) for device in prices)
    slots = max(server_shape(each.deployment, wish, USUAL_SLOTS).slots for each in chosen)
    return ServingQuestion(
        trace=requests_drawn(arguments.prompt, arguments.output, arguments.sigma, slots, model),
        target=Target(first_token_s=arguments.max_ttft, token_s=arguments.max_time_per_token),
        replica=wish,
    )


def _rate_offers(
    arguments: argparse.Namespace, prices: Mapping[str, float], question: ServingQuestion
) -> list[RateOffer]:
    return find_rate_offers(
        choices_from(arguments),
        prices,
        question,
        arguments.rate,
        speed_engine(arguments),
        arguments.spare,
        progress=_teller(list(prices)) if sys.stderr.isatty() else None,
    )


def _teller(devices: Sequence[str]) -> Callable[[str], None]:
    """Says on stderr which of *devices* is tried, and how many there are."""

    def tell(device: str) -> None:
        print(f"trying {device} ({devices.index(device) + 1} of {len(devices)})", file=sys.stderr, flush=True)

    return tell
