import argparse
import tomllib
from dataclasses import asdict
from pathlib import Path

from planner.choices import choose
from planner.commands import DOES_NOT_FIT, DONE
from planner.commands.options import add_json, add_storage, choices_from, number, print_rows, whole
from planner.cost import Cost, cost, read_prices
from planner.energy import device_power, stated_power
from planner.errors import BadFile, PlannerError
from planner.export import to_json
from planner.offers import Offer, find_offers
from planner.performance_presets import eight_bit_formats, find_speed_constants, power_share
from planner.speed.work import has_experts, prepare_speed
from planner.units import shorten

DEFAULT_ENGINE = "vllm"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", required=True, help="preset name or alias, file, or folder")
    parser.add_argument("--device", help="a name from 'kvbudget devices', with --price")
    parser.add_argument("--price", type=number, help="of one device, an hour, in any currency")
    parser.add_argument("--prices", type=Path, help="a TOML file of prices, device = price an hour: finds the cheapest")
    parser.add_argument("--weights", help="a name from 'kvbudget formats'; default: as the checkpoint stores them")
    add_storage(parser)
    parser.add_argument("--users", type=whole, default=8, help="requests that decode together; default 8")
    parser.add_argument("--prompt", type=whole, default=1_024, help="tokens of a prompt; default 1,024")
    parser.add_argument("--output", type=whole, default=256, help="tokens of an answer; default 256")
    parser.add_argument("--tensor-parallel", type=whole)
    parser.add_argument(
        "--watts", type=number, help="what one device draws; default: by the limit of its power, where known"
    )
    parser.add_argument("--min-tokens-per-s", type=number, default=0.0, help="with --prices: what each user must get")
    parser.add_argument("--max-ttft", type=number, help="with --prices: seconds to the first token, at most")
    parser.add_argument("--speed-engine", default=DEFAULT_ENGINE, help="whose constants to use; default vllm")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    if (arguments.prices is None) == (arguments.device is None or arguments.price is None):
        raise PlannerError("Give --device and --price for one kind of card, or --prices FILE for the cheapest of many.")
    if arguments.prices is not None:
        rows = [asdict(offer) for offer in _offers(arguments)]
        print_rows(rows, arguments.json, "No card of the table does this; ask for less context, users or speed.")
        return DONE if rows else DOES_NOT_FIT
    result = _cost(arguments)
    if arguments.json:
        print(to_json(result))
    else:
        from planner.performance_text import cost_text

        print(cost_text(result))
    return DONE


def _cost(arguments: argparse.Namespace) -> Cost:
    chosen = choose(choices_from(arguments))
    model = prepare_speed(chosen.architecture, chosen.deployment, eight_bit_formats())
    count = chosen.deployment.device_count
    return cost(
        model,
        find_speed_constants(arguments.speed_engine, arguments.device, has_experts(model.architecture)),
        price_per_hour=count * arguments.price,
        users=arguments.users,
        prompt_tokens=arguments.prompt,
        output_tokens=arguments.output,
        power=device_power(chosen.deployment.device, count, power_share())
        if arguments.watts is None
        else stated_power(count * arguments.watts),
    )


def _offers(arguments: argparse.Namespace) -> list[Offer]:
    context_tokens = arguments.context or arguments.prompt + arguments.output
    return find_offers(
        choices_from(arguments, context=context_tokens),
        _read(arguments.prices),
        speed_engine=arguments.speed_engine,
        prompt_tokens=arguments.prompt,
        output_tokens=arguments.output,
        min_tokens_per_s=arguments.min_tokens_per_s,
        max_first_token_s=arguments.max_ttft,
    )


def _read(path: Path) -> dict[str, float]:
    shown = shorten(str(path))
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadFile(f"{shown} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    return read_prices(table, shown)
