"""Options that several commands share, and what their words may be."""

import argparse
import math
import re
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from planner.catalogue.library_names import meant_by
from planner.catalogue.links import link_names
from planner.commands.given import Unused, refuse_repeated
from planner.deployment import CPU, MINIMUM
from planner.engines import ENGINES, find_engine
from planner.engines.base import PerRequest
from planner.export import Row, to_json
from planner.formats import CHECKPOINT
from planner.inputs.choices import Choices
from planner.inputs.format_choices import QUANTIZE
from planner.units import ungrouped

_MAX_DIGITS = 20


def whole(text: str) -> int:
    """A whole number, with separators if wanted."""
    digits = ungrouped(text).replace("_", "")
    if thousands := re.fullmatch(r"(\d{1,6})([kKmM])", text.strip(), re.ASCII):
        number, power = int(thousands[1]), 1 if thousands[2] in "kK" else 2
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is not a whole number: write {number * 1024**power} or {number * 1000**power}"
        )
    if len(digits) > _MAX_DIGITS or not digits.isascii() or not digits.removeprefix("-").isdigit():
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number")
    return int(digits)


def number(text: str) -> float:
    """A finite number, such as 0.7."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number")
    return value


def names(text: str) -> list[str]:
    """Names separated by commas, at least one."""
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise argparse.ArgumentTypeError("at least one name is needed")
    return found


def add_kv_cache(parser: argparse._ActionsContainer) -> None:
    """The cache format, for keys and values alike."""
    parser.add_argument(
        "--kv-cache", help="format of keys and values; default 16-bit unless the checkpoint says otherwise"
    )


def add_storage(parser: argparse._ActionsContainer) -> None:
    """How the model is stored and what is asked of it: the options of ``plan`` that tables and searches share."""
    parser.add_argument("--quantize", choices=QUANTIZE, help="which tensors take --weights; default linear")
    add_kv_cache(parser)
    parser.add_argument("--kv-cache-k", help="format of the keys alone")
    parser.add_argument("--kv-cache-v", help="format of the values alone")
    parser.add_argument("--engine", default=MINIMUM, help=f"one of: {', '.join(ENGINES)}")
    parser.add_argument("--engine-version", help="whose rules and defaults are used; default: the newest one known")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of the engine, such as max_num_seqs=64; repeat it for more",
    )
    parser.add_argument("--context", type=whole, help="tokens per request; default 8,192 or the model's limit")
    add_online(parser)
    parser.add_argument(
        "--host-memory", help="what the machine's own memory has to give, such as 32GiB; default: not asked"
    )
    parser.add_argument(
        "--profile",
        help="what was measured on this card: a name from 'kvbudget profiles', or a file of 'kvbudget log --save'",
    )
    parser.add_argument("--display", action="store_true", help="the card shows the machine's screen as well")
    parser.add_argument("--overhead", help="everything else on the card as one stated size, such as 1.5GiB")


def add_interconnect(parser: argparse._ActionsContainer) -> None:
    """What joins the cards."""
    parser.add_argument(
        "--interconnect",
        help=f"what joins cards that share each layer, one of: {', '.join(link_names())}; default: the device's own",
    )


def add_bandwidth(parser: argparse._ActionsContainer) -> None:
    """How fast the device reads its memory."""
    parser.add_argument(
        "--bandwidth",
        metavar="RATE",
        help="how fast the device reads its memory, such as 960GB/s, or 2xDDR5-5600 for main memory on two channels; "
        "default: the device's own",
    )


def unused_interconnect(arguments: argparse.Namespace) -> Unused:
    """What joins the cards, where none shares a layer with another."""
    counts = (getattr(arguments, name, None) or 1 for name in ("tensor_parallel", "device_count"))
    if all(count == 1 for count in counts):
        yield ("interconnect",), "with one card, or --tensor-parallel 1: no layer is shared"


def add_draft(parser: argparse.ArgumentParser) -> None:
    """A draft that shares the budget."""
    parser.add_argument("--draft-model", help="what drafts: a model, or mtp, eagle, ngram")
    parser.add_argument("--draft-tokens", type=whole, help="tokens that it proposes a pass, such as 4")
    parser.add_argument("--draft-weights", help="format of the draft model; default: as its checkpoint stores them")


def add_online(parser: argparse._ActionsContainer) -> None:
    """``--online``."""
    parser.add_argument(
        "--online", action="store_true", help="read a Hugging Face id from the hub: configs and headers only"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """``--json``."""
    parser.add_argument("--json", action="store_true", help="JSON on stdout and nothing else")


def unused_storage(arguments: argparse.Namespace) -> Unused:
    """What another option of ``add_storage`` has decided already."""
    if arguments.kv_cache_k is not None and arguments.kv_cache_v is not None:
        yield ("kv_cache",), "with --kv-cache-k and --kv-cache-v, which say both"
    if arguments.overhead is not None:
        yield ("display",), "with --overhead, which is everything beside weights and cache"


def unused_quantize(arguments: argparse.Namespace) -> Unused:
    """How a format is applied, where none was named."""
    weights = arguments.weights if isinstance(arguments.weights, list) else [arguments.weights]
    if all(name in (None, CHECKPOINT) for name in weights):
        yield ("quantize",), "without --weights: a checkpoint's own formats stay"


def unused_host_memory(arguments: argparse.Namespace) -> Unused:
    """Its size, where the engine never leaves anything there and it is not the device's own."""
    own: object = type(find_engine(arguments.engine)).host_items
    is_device = (getattr(arguments, "device", None) or "").strip().lower().startswith(CPU)
    if own is PerRequest.host_items and not is_device:
        yield ("host_memory",), f"with the engine {arguments.engine}, which leaves nothing in main memory"


def choices_from(arguments: argparse.Namespace, **given: Any) -> Choices:
    """The Choices among *arguments*; *given* comes first."""
    known = {field.name for field in fields(Choices)}
    values = {name: value for name, value in vars(arguments).items() if name in known}
    refuse_repeated(arguments.set, "--set")
    values |= {"set": tuple(arguments.set), "engine": arguments.engine.strip().lower()}
    if values.get("model"):
        values["model"] = meant_by(values["engine"], values["model"])
    return Choices(**values | given)


def print_rows(rows: Sequence[Row], as_json: bool, nothing: str) -> None:
    """*rows* as JSON or as columns; *nothing* when there are none."""
    if as_json:
        print(to_json(rows))
    elif rows:
        from planner.text.plan import listing_text

        print(listing_text(rows))
    else:
        print(nothing)
