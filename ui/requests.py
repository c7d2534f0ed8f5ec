"""The requests of the page Batching: drawn from a distribution, read from a CSV, or the textbook's 64."""

import hashlib
import io
from dataclasses import dataclass, replace

import streamlit as st

from planner.batching.targets import at_rate
from planner.batching.trace import MAX_REQUESTS, Lengths, Trace, shuffled_trace, synthetic_trace
from planner.batching.trace_file import read_trace
from planner.catalogue.performance_presets import find_request_set
from planner.errors import BadFile
from planner.text.batching import MINUTE_S
from ui.fields import choice as fields
from ui.pace import answer_field, prompt_tokens

DRAWN, FILE, TEXTBOOK = "drawn", "your CSV", "textbook"
AT_RANDOM, AT_ONCE, ASK_AGAIN = "at random", "all at once", "each asks again"
TEXTBOOK_SET = "skewed-64"
TEXTBOOK_RATE = 0.15
OF_BATCHES = "80% of what whole batches take"
MOST_DRAWN = 10**6
MOST_TOKENS = 2**20
CSV_HELP = (
    "Columns arrival_s, prompt_tokens, output_tokens; or those of the public Azure traces (TIMESTAMP, ContextTokens, "
    "GeneratedTokens) and of BurstGPT (Timestamp, Request tokens, Response tokens). Read here and kept nowhere; "
    "a link does not carry it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked. *rate* ``None``: the page's own default; *median_…* ``None``: derived from the set-up."""

    kind: str
    requests: int = 0
    median_prompt: int = 0
    median_output: int = 0
    longest: int = 0
    sigma: float = 0.0
    prefix: int = 0
    seed: int = 0
    arrival: str = AT_RANDOM
    rate: float | None = None
    file: bytes = b""
    file_name: str = ""

    @property
    def is_closed(self) -> bool:
        return self.arrival == ASK_AGAIN

    @property
    def in_steps(self) -> bool:
        """Whether time counts in steps that all take the same."""
        return self.kind == TEXTBOOK


def kind_field() -> str:
    """Where the requests come from."""
    return fields.segments(
        "requests",
        "Requests",
        (DRAWN, FILE, TEXTBOOK),
        DRAWN,
        help="*drawn*: many short ones and a few long ones (lognormal). *your CSV*: a trace of your own server. "
        "*textbook*: 64 answers, median 18 tokens, longest 231, over eight slots whose steps all take the same time.",
    )


def request_fields(kind: str, context_tokens: int) -> Wish | None:
    """The fields of that kind, which begin with the set-up's *context_tokens*; ``None`` until there is a file."""
    match kind:
        case "drawn":
            return _drawn(context_tokens)
        case "textbook":
            return _textbook()
        case _:
            return _file()


def _drawn(context_tokens: int) -> Wish:
    with st.grid(4, min_column_width=150):
        count = fields.whole("count", "How many", 400, MOST_DRAWN, help="A million takes a while; a bar shows how far.")
        prompt_place = st.container()
        prompt, output = prompt_tokens(context_tokens, answer_field("Typical answer, tokens"))
        with prompt_place:
            median_prompt = fields.optional_whole("prompt", "Typical prompt, tokens", prompt, MOST_TOKENS)
        sigma = fields.figure(
            "sigma",
            "Spread",
            1.0,
            0.0,
            3.0,
            step=0.1,
            format="%g",
            help="σ of the logarithm of the lengths. 0: all alike; 1: one in twenty would be five times the typical "
            "one, if that had room.",
        )
    arrival = _arrival_field((AT_RANDOM, AT_ONCE, ASK_AGAIN))
    with st.grid(2, min_column_width=150):
        rate = _minute_field("automatic", OF_BATCHES) if arrival == AT_RANDOM else None
        seed = _seed_field()
    longest = max(context_tokens, median_prompt + output)
    st.caption(
        f"No request is longer than {longest:,} tokens{', as in the set-up' if longest == context_tokens else ''}: the "
        "longest prompt leaves room for a typical answer, and an answer ends with the room that its prompt leaves."
    )
    return Wish(
        kind=DRAWN,
        requests=count,
        median_prompt=median_prompt,
        median_output=output,
        longest=longest,
        sigma=1.0 if sigma is None else sigma,
        seed=seed,
        arrival=arrival,
        rate=rate,
    )


def _textbook() -> Wish:
    arrival = _arrival_field((AT_RANDOM, AT_ONCE))
    with st.grid(2, min_column_width=150):
        usual = f"{TEXTBOOK_RATE:g}"
        rate = _rate_field("rate", "Requests a step", usual, usual) if arrival == AT_RANDOM else None
        seed = _seed_field()
    return Wish(
        kind=TEXTBOOK, seed=seed, arrival=arrival, rate=rate or (TEXTBOOK_RATE if arrival == AT_RANDOM else None)
    )


def _file() -> Wish | None:
    uploaded = st.file_uploader("A trace as CSV", type="csv", key="trace", help=CSV_HELP)
    arrival = _arrival_field((AT_RANDOM, AT_ONCE, ASK_AGAIN))
    with st.grid(2, min_column_width=150):
        count = fields.whole("rows", "Read the first", 20_000, MAX_REQUESTS)
        rate = _minute_field("the file's", "as in the file") if arrival == AT_RANDOM else None
    if uploaded is None:
        return None
    return Wish(
        kind=FILE,
        requests=count,
        arrival=arrival,
        rate=rate,
        file=hashlib.sha256(uploaded.getvalue()).digest(),
        file_name=uploaded.name,
    )


def _arrival_field(options: tuple[str, ...]) -> str:
    return fields.pills(
        "arrival",
        "They come",
        options,
        AT_RANDOM,
        help="*at random*: one after another without regard for the server (Poisson). *all at once*: everybody is "
        "there at the start. *each asks again*: as many users as slots, each with a new question when answered.",
    )


def _minute_field(usual: str, in_words: str) -> float | None:
    """Requests a second."""
    a_minute = _rate_field("per_minute", "Requests a minute", usual, in_words)
    return None if a_minute is None else a_minute / MINUTE_S


def _rate_field(key: str, label: str, usual: str, in_words: str) -> float | None:
    return fields.figure(key, label, None, 0.001, 1e7, format="%g", placeholder=usual, help=f"Empty: {in_words}.")


def _seed_field() -> int:
    return fields.whole(
        "seed", "Seed", 0, 10**6, least=0, help="The same seed draws the same requests. Try others to see the spread."
    )


@st.cache_resource(max_entries=8, show_spinner="Drawing the requests …")
def drawn_trace(wish: Wish, rate: float | None) -> Trace:
    """Requests by lengths and seed; at *rate* a second, or all at the start."""
    if wish.kind == TEXTBOOK:
        return shuffled_trace(find_request_set(TEXTBOOK_SET), rate, wish.seed)
    prompts, outputs = (
        Lengths(median_tokens=median, sigma=wish.sigma) for median in (wish.median_prompt, wish.median_output)
    )
    longest = wish.longest if wish.sigma else None
    return synthetic_trace(wish.requests, prompts, outputs, rate, wish.seed, wish.prefix, longest)


def file_trace(wish: Wish) -> Trace:
    """The uploaded file's requests in its own rhythm, at the asked rate, or all at the start."""
    uploaded = st.session_state["trace"]
    trace = _read(uploaded.getvalue(), uploaded.name, wish.requests)
    if wish.arrival != AT_RANDOM:
        return replace(trace, arrivals_s=(0.0,) * len(trace))
    return trace if wish.rate is None else at_rate(trace, wish.rate)


@st.cache_resource(max_entries=4, show_spinner="Reading the trace …")
def _read(content: bytes, name: str, limit: int) -> Trace:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile(f"{name} is no CSV in UTF-8: save it as such.") from error
    return read_trace(io.StringIO(text, newline=""), name, limit)
