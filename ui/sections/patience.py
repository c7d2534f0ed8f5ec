"""How many requests stay within one's patience: on this server, and on several cards with one node lost."""

from collections.abc import Iterator, Sequence

import streamlit as st

from planner.batching.server import Server
from planner.batching.step_time import StepTime
from planner.batching.targets import Sustained, Target, enough_requests, few_requests, sustained
from planner.batching.trace import Trace, repeated
from planner.errors import PlannerError
from planner.inputs.choices import Choices
from planner.serving.question import MAX_DEVICES, ServingOption, ServingQuestion
from planner.serving.ways import serving_options
from planner.text.batching import (
    cluster_sentence,
    cluster_title,
    option_name,
    rate_figure,
    repeated_words,
    sustained_sentence,
    sustained_title,
)
from planner.units import format_seconds
from ui import own_config
from ui.batch_commands import capacity_command
from ui.batch_setting import Setting
from ui.charts.serving import serving_bars
from ui.fields import choice as fields
from ui.figure import figure
from ui.one_server import ServerPlan
from ui.option_words import in_fields
from ui.pace import PaceWish
from ui.requests import FILE

LIMIT = 5_000
"""Requests up to which rates are tried: each is a run of its own."""


def patience_section(plan: ServerPlan, found: Setting, wish: PaceWish) -> None:
    """Asks for a target, and answers for the server of the page; then for as many cards as there are."""
    title, sentence = st.empty(), st.empty()
    title.header("How many requests a minute, really?", anchor=False)
    with st.grid(2, min_column_width=170):
        first = fields.figure("ttft", "First token within, seconds", 2.0, 0.001, 1e5, step=0.5, format="%g")
        pace = fields.figure("pace", "Then at least, tokens/s for each", 10.0, 0.01, 1e5, step=5.0, format="%g")
    if len(found.trace) > LIMIT:
        sentence.markdown(f"Searched for up to {LIMIT:,} requests: take fewer of them for this question.")
        return
    if found.trace.arrivals_s[-1] <= 0:
        sentence.markdown("Requests that are all there at once have no rate: let them come at random to see it.")
        return
    trace = repeated(found.trace, enough_requests(found.slots)) if found.wish.kind == FILE else found.trace
    target = Target(first_token_s=first, token_s=None if pace is None else 1 / pace)
    middle, slow, fast = (
        _sustained(trace, hash(trace), found.server, found.step_time.scaled(by), target)
        for by in (1.0, 1 + found.error, 1 / (1 + found.error))
    )
    title.header(sustained_title(middle), anchor=False)
    sentence.markdown(sustained_sentence(middle, slow, fast, target))
    few = few_requests(len(trace), found.slots)
    for note in few if trace is found.trace else (repeated_words(len(found.trace), len(trace)),):
        st.caption(f":material/info: {in_fields(note)}")
    _cluster(plan, found, trace, target, wish)


def _cluster(plan: ServerPlan, found: Setting, trace: Trace, target: Target, wish: PaceWish) -> None:
    """Ways to use several cards: large replicas, many small ones, prompts and answers apart."""
    assert plan.answer is not None
    title, sentence, place = st.empty(), st.empty(), st.container()
    with st.grid(4, min_column_width=150):
        cards = fields.optional_whole("cards", "Cards in all", plan.answer.device_count, MAX_DEVICES)
        node = fields.whole("node", "Cards that fail together", 1, MAX_DEVICES, help="Those of one machine.")
        link = fields.figure(
            "apart",
            "Link between replicas, GB/s",
            None,
            0.001,
            1e5,
            format="%g",
            placeholder="none",
            help="With a link, prompts and answers on replicas of their own are tried as well.",
        )
        think = fields.figure("think", "A user reads, seconds", 0.0, 0.0, 1e6, format="%g", help="Before asking again.")
    if cards == 1:
        title.header("Several cards", anchor=False)
        sentence.markdown("Say how many there are: then every way to share them out is tried, and one node lost.")
        return
    title.header("Several cards", anchor=False)
    try:
        question = ServingQuestion(
            trace=trace,
            target=target,
            device_count=cards,
            node_devices=node,
            replica=found.shape,
            think_s=think or 0.0,
            link_bytes_per_s=None if link is None else link * 1e9,
        )
        model = own_config.architecture()
        options = _options(plan.choices, question, hash(question), wish, hash(model), model)
    except PlannerError as error:
        sentence.markdown(f":orange[:material/edit:] {error}")
        return
    title.header(cluster_title(options, cards), anchor=False)
    sentence.markdown(cluster_sentence(options))
    with place:
        _option_figure([option for option in options if option.fits])
        st.caption(
            " ".join(["Dark: what is left with one node lost. Line: the speed model's range.", *_left_out(found)])
        )
        if words := capacity_command(plan, found, question):
            with st.expander("The same search in a terminal", key="cards_terminal"):
                st.code(words, language=None, wrap_lines=True)


def _left_out(found: Setting) -> Iterator[str]:
    """What of the server above no search over cards counts."""
    if found.server.shared_prefix_tokens:
        yield "Prompts share nothing here."
    if found.server.tiers:
        yield "Evicted caches are computed again here."


@st.cache_data(max_entries=64, show_spinner="Trying rates …")
def _sustained(_trace: Trace, trace: int, server: Server, step_time: StepTime, target: Target) -> Sustained:
    return sustained(_trace, server, step_time, target)


@st.cache_data(max_entries=32, show_spinner="Trying every way to share the cards out …")
def _options(
    choices: Choices, _question: ServingQuestion, question: int, wish: PaceWish, own: int, _architecture: object
) -> list[ServingOption]:
    """*question* and *own* stand for what Streamlit would take long to tell apart, or cannot."""
    return serving_options(choices, _question, wish.engine, _architecture, wish.measured)  # type: ignore[arg-type]


def _option_figure(options: Sequence[ServingOption]) -> None:
    if not options:
        return
    figure(
        serving_bars,
        tuple(options),
        alt="Requests a minute by how the cards are used: "
        + "; ".join(f"{option_name(option)}: {rate_figure(option.rate_per_s)}" for option in options)
        + ".",
        key="options",
        columns=("As", "Requests a minute", "A node lost", "Users", "First token (95%)", "Ends at"),
        cells=[
            (
                option_name(option),
                f"{rate_figure(option.rate_per_s)}\n{rate_figure(option.rate_low_per_s)} – "
                f"{rate_figure(option.rate_high_per_s)}",
                rate_figure(option.rate_lost_per_s),
                f"{option.users:,}",
                format_seconds(option.first_token_s),
                option.limit,
            )
            for option in options
        ],
        rows=[
            {
                "tensor_parallel": option.tensor_parallel,
                "replicas": option.replicas,
                "prefill_replicas": option.prefill_replicas,
                "rate_per_s": option.rate_per_s,
                "rate_low_per_s": option.rate_low_per_s,
                "rate_high_per_s": option.rate_high_per_s,
                "rate_lost_per_s": option.rate_lost_per_s,
                "users": option.users,
                "users_lost": option.users_lost,
                "first_token_s": option.first_token_s,
                "token_s": option.token_s,
                "limit": option.limit,
            }
            for option in options
        ],
        text=(0, 5),
        wide_only=(3, 4, 5),
        own=0,
    )
