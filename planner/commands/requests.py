"""Options that say which requests come, for the commands that simulate them."""

import argparse
from pathlib import Path

from planner.architecture import Architecture
from planner.batching.targets import MANY, at_rate
from planner.batching.trace import MAX_REQUEST_TOKENS, Lengths, Trace, shuffled_trace, synthetic_trace
from planner.batching.trace_file import read_trace
from planner.catalogue.performance_presets import find_request_set
from planner.commands.given import Unused
from planner.commands.options import number, whole
from planner.errors import BadFile, PlannerError
from planner.inputs.model_files import load_model
from planner.units import counted, shorten

LEAST_REQUESTS = 1_024
PROMPT, OUTPUT, SIGMA = 1_024, 256, 1.0
"""Of a request where nothing is said, for every command: a chat with some history, and its spread."""
LONGEST = 8_192
"""Tokens of a drawn request, at most, unless asked for; twice the median one where that is more, and no more than the
model was made for."""


def add_requests(parser: argparse.ArgumentParser) -> None:
    """Where requests come from; how fast they come is each command's own."""
    requests = parser.add_argument_group("requests: a file, a workload, or a number of them")
    requests.add_argument("--trace", type=Path, help="CSV with arrival, prompt and output; also Azure's and BurstGPT's")
    requests.add_argument("--workload", help="a named set of lengths, such as skewed-64")
    requests.add_argument("--requests", type=whole, help="how many to draw, or to read from the trace")
    requests.add_argument("--prompt", type=whole, default=PROMPT, help="median prompt in tokens; default 1,024")
    requests.add_argument("--output", type=whole, default=OUTPUT, help="median answer in tokens; default 256")
    requests.add_argument(
        "--sigma", type=number, default=SIGMA, help="spread of lognormal lengths, 0: all equal; default 1"
    )
    requests.add_argument(
        "--longest",
        type=whole,
        help="tokens of the longest request, prompt and answer; default 8,192 or twice the median one, within the "
        "model's limit",
    )
    requests.add_argument("--seed", type=whole, default=0)


def unused_requests(arguments: argparse.Namespace) -> Unused:
    """Lengths that a file or a workload gives itself."""
    lengths = ("prompt", "output", "sigma", "longest")
    if arguments.trace is not None:
        yield (*lengths, "seed"), "with --trace, which has requests of its own"
    if arguments.workload is not None:
        yield (*lengths, "requests"), "with --workload, which has requests of its own"
    if arguments.trace is None and arguments.workload is None and arguments.sigma == 0:
        yield ("longest",), "with --sigma 0: all lengths are equal"


def requests_from(arguments: argparse.Namespace, requests_per_s: float | None) -> Trace:
    """The requests, which come at *requests_per_s*; without a rate those of a file when it says, others at once."""
    given = [name for name in ("trace", "workload") if getattr(arguments, name) is not None]
    if len(given) > 1 or (not given and arguments.requests is None):
        raise PlannerError("Give the requests as --trace FILE, as --workload NAME, or as --requests N; one of them.")
    if arguments.workload is not None:
        return shuffled_trace(find_request_set(arguments.workload), requests_per_s, arguments.seed)
    if arguments.trace is not None:
        found = _read(arguments.trace, arguments.requests)
        return found if requests_per_s is None else at_rate(found, requests_per_s)
    if arguments.longest is None:
        model = None if arguments.model is None else load_model(arguments.model, arguments.online)
        arguments.longest = _usual_longest(arguments.prompt, arguments.output, model)
    return synthetic_trace(
        arguments.requests,
        Lengths(median_tokens=arguments.prompt, sigma=arguments.sigma),
        Lengths(median_tokens=arguments.output, sigma=arguments.sigma),
        requests_per_s,
        arguments.seed,
        getattr(arguments, "shared_prefix", 0),
        arguments.longest,
    )


def requests_drawn(prompt_tokens: int, output_tokens: int, sigma: float, slots: int, model: Architecture) -> Trace:
    """As many as keep *slots* full for a while, one a second, with seed 0, none longer than *model* was made for."""
    return synthetic_trace(
        max(LEAST_REQUESTS, MANY * slots),
        Lengths(median_tokens=prompt_tokens, sigma=sigma),
        Lengths(median_tokens=output_tokens, sigma=sigma),
        requests_per_s=1.0,
        longest_request=_usual_longest(prompt_tokens, output_tokens, model),
    )


def _usual_longest(prompt_tokens: int, output_tokens: int, model: Architecture | None) -> int:
    median = prompt_tokens + output_tokens
    limit = None if model is None else model.max_position_embeddings
    return max(median, min(max(LONGEST, 2 * median), limit or MAX_REQUEST_TOKENS))


def drawn_words(trace: Trace, prompt_tokens: int, output_tokens: int, sigma: float) -> str:
    """Which requests an answer is for where they were drawn: defaults are nobody's own."""
    return (
        f"Drawn: {counted(len(trace), 'request')}, prompts of {prompt_tokens:,} and answers of {output_tokens:,} "
        f"tokens at the median, sigma {sigma:g}; --prompt, --output and --sigma say otherwise."
    )


def short_trace(arguments: argparse.Namespace, trace: Trace) -> tuple[str, ...]:
    """That a file has fewer requests than were asked of it."""
    if arguments.trace is None or arguments.requests is None or len(trace) >= arguments.requests:
        return ()
    return (
        f"{shorten(trace.source)} has {counted(len(trace), 'request')}, fewer than --requests {arguments.requests}.",
    )


def _read(path: Path, limit: int | None) -> Trace:
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            return read_trace(lines, path.name) if limit is None else read_trace(lines, path.name, limit)
    except (OSError, ValueError) as error:
        raise BadFile(f"{shorten(str(path))} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
