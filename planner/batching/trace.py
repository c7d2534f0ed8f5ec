"""Requests as they come in: when, how long the prompt, how long the answer."""

import random
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from planner.errors import PlannerError

MAX_REQUESTS = 10**7
MAX_REQUEST_TOKENS = 2**27
MAX_ARRIVAL_S = 10**12
MAX_RATE = 10**12
"""Requests a second; no step of a server is shorter than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Requests in order of arrival, as columns. Seconds count from the first moment of the trace.

    *skipped* counts rows of a file that made no request, such as failed ones without an answer.
    """

    arrivals_s: tuple[float, ...]
    prompt_tokens: tuple[int, ...]
    output_tokens: tuple[int, ...]
    source: str = ""
    skipped: int = 0

    def __post_init__(self) -> None:
        lengths = {len(self.arrivals_s), len(self.prompt_tokens), len(self.output_tokens)}
        if len(lengths) != 1 or not 1 <= len(self.arrivals_s) <= MAX_REQUESTS:
            raise PlannerError(f"A trace needs 1 to {MAX_REQUESTS:,} requests, each with an arrival and two lengths.")
        if not all(0 <= first <= second <= MAX_ARRIVAL_S for first, second in pairwise((0.0, *self.arrivals_s))):
            raise PlannerError(
                f"The arrivals of a trace must be seconds from 0 to {MAX_ARRIVAL_S:,}, in order of time."
            )
        for name, tokens in (("prompt", self.prompt_tokens), ("output", self.output_tokens)):
            if min(tokens) < 1 or max(tokens) > MAX_REQUEST_TOKENS:
                raise PlannerError(f"Each {name} of a trace must be between 1 and {MAX_REQUEST_TOKENS:,} tokens.")

    def __len__(self) -> int:
        return len(self.arrivals_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Token counts around *median_tokens*: all equal at *sigma* 0, else lognormal, σ of the logarithm being *sigma*."""

    median_tokens: int
    sigma: float = 0.0
    max_tokens: int = MAX_REQUEST_TOKENS

    def __post_init__(self) -> None:
        if not 1 <= self.median_tokens <= self.max_tokens <= MAX_REQUEST_TOKENS or not 0 <= self.sigma <= 5:
            raise PlannerError(
                f"Lengths with median {self.median_tokens:,}, sigma {self.sigma:g} and at most {self.max_tokens:,} "
                "tokens are not possible: the median is at least 1 and at most the limit, sigma between 0 and 5."
            )

    def draw(self, count: int, random_numbers: random.Random) -> tuple[int, ...]:
        """*count* lengths, each between 1 and *max_tokens*."""
        if self.sigma == 0:
            return (self.median_tokens,) * count
        return tuple(
            min(self.max_tokens, max(1, round(self.median_tokens * random_numbers.lognormvariate(0, self.sigma))))
            for _ in range(count)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSet:
    """Answers whose lengths are given one by one, to be put in any order. *slots*: the batch to show them with."""

    name: str
    title: str
    prompt_tokens: int
    output_tokens: tuple[int, ...]
    slots: int
    source: str


def synthetic_trace(
    requests: int,
    prompts: Lengths,
    outputs: Lengths,
    requests_per_s: float | None = None,
    seed: int = 0,
    shared_prefix_tokens: int = 0,
    longest_request: int | None = None,
) -> Trace:
    """*requests* drawn by *seed*: Poisson arrivals at *requests_per_s*, or all present at the start without a rate.

    A seed's lengths are the same at every rate, and its arrivals come in the same rhythm, faster or slower.
    Where all prompts begin with the same *shared_prefix_tokens*, none is shorter than these and one token of its own.
    No request has more than *longest_request* tokens, as ``max_model_len`` has it: a prompt leaves room for the median
    answer, and an answer ends with the room that its prompt leaves.
    """
    if not 1 <= requests <= MAX_REQUESTS:
        raise PlannerError(f"requests = {requests:,} is not possible: it must be between 1 and {MAX_REQUESTS:,}.")
    random_numbers = random.Random(seed)
    prompt_tokens = tuple(max(shared_prefix_tokens + 1, t) for t in prompts.draw(requests, random_numbers))
    output_tokens = outputs.draw(requests, random_numbers)
    if longest_request is not None:
        longest_prompt = longest_request - outputs.median_tokens
        if longest_prompt < max(prompts.median_tokens, shared_prefix_tokens + 1):
            raise PlannerError(
                f"Of at most {longest_request:,} tokens, an answer of {outputs.median_tokens:,} leaves no room for a "
                f"prompt of {max(prompts.median_tokens, shared_prefix_tokens + 1):,}: ask for a longer request."
            )
        prompt_tokens = tuple(min(longest_prompt, tokens) for tokens in prompt_tokens)
        output_tokens = tuple(
            min(longest_request - prompt, answer) for prompt, answer in zip(prompt_tokens, output_tokens, strict=True)
        )
    return Trace(
        arrivals_s=poisson_arrivals(requests, requests_per_s, random_numbers),
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        source=f"drawn with seed {seed}",
    )


def repeated(trace: Trace, least_requests: int) -> Trace:
    """*trace* again and again in its own rhythm, until it has *least_requests* or more; a longer one as it is.

    Between two rounds the mean gap between requests passes, so that their rate stays as it is; a single one comes every
    second.
    """
    count = len(trace)
    rounds = -(-least_requests // count)
    if rounds <= 1:
        return trace
    first, last = trace.arrivals_s[0], trace.arrivals_s[-1]
    period = (last - first) * count / (count - 1) if count > 1 else 1.0
    return Trace(
        arrivals_s=tuple(turn * period + arrival for turn in range(rounds) for arrival in trace.arrivals_s),
        prompt_tokens=rounds * trace.prompt_tokens,
        output_tokens=rounds * trace.output_tokens,
        source=trace.source,
        skipped=trace.skipped,
    )


def beginning(trace: Trace, requests: int) -> Trace:
    """The first *requests* of *trace*; all where it has no more."""
    if len(trace) <= requests:
        return trace
    return replace(
        trace,
        arrivals_s=trace.arrivals_s[:requests],
        prompt_tokens=trace.prompt_tokens[:requests],
        output_tokens=trace.output_tokens[:requests],
    )


def longest_tokens(trace: Trace) -> int:
    """Prompt and answer of the longest request."""
    return max(map(int.__add__, trace.prompt_tokens, trace.output_tokens))


def check_rate(requests_per_s: float) -> None:
    """Raises PlannerError for what is no rate of requests."""
    if not 0 < requests_per_s <= MAX_RATE:
        raise PlannerError(
            f"A rate of {requests_per_s:g} requests per second is not possible: it must be above 0, and at most "
            f"{MAX_RATE:,}."
        )


def poisson_arrivals(requests: int, requests_per_s: float | None, random_numbers: random.Random) -> tuple[float, ...]:
    """Arrivals whose gaps are exponential; all at 0 without a rate."""
    if requests_per_s is None:
        return (0.0,) * requests
    check_rate(requests_per_s)
    return tuple(accumulate(random_numbers.expovariate(requests_per_s) for _ in range(requests)))


def shuffled_trace(requests: RequestSet, requests_per_s: float | None = None, seed: int = 0) -> Trace:
    """The requests of *requests* in an order drawn by *seed*; arrivals as in ``synthetic_trace``."""
    random_numbers = random.Random(seed)
    outputs = list(requests.output_tokens)
    random_numbers.shuffle(outputs)
    return Trace(
        arrivals_s=poisson_arrivals(len(outputs), requests_per_s, random_numbers),
        prompt_tokens=(requests.prompt_tokens,) * len(outputs),
        output_tokens=tuple(outputs),
        source=f"{requests.name}, seed {seed}",
    )
