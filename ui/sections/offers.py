"""The cheapest cards of the reader's own price table for what the set-up asks."""

from collections.abc import Sequence
from dataclasses import asdict, replace

import streamlit as st

from planner.answers.answer import Answer
from planner.architecture import Architecture
from planner.catalogue.performance_presets import example_prices
from planner.errors import PlannerError
from planner.inputs.choices import Choices
from planner.serving.offers import Offer, cheapest_of_each, find_offers
from planner.serving.price_files import of_known_speed, parse_prices, prices_toml
from planner.text.cost import (
    asked_price,
    money,
    offer_million,
    offer_name,
    offer_pace,
    offer_sentence,
    offer_title,
)
from planner.units import format_figure, format_seconds
from ui import form, own_config
from ui.charts.cost import offer_bars
from ui.fields import choice as fields
from ui.fields.prices import UNNAMED, HourPrice
from ui.figure import figure
from ui.option_words import in_fields
from ui.pace import command
from ui.scenario import Scenario, apply

SHOWN_OFFERS = 8
MOST_CHARACTERS = 4_000
TABLE = "The price table"
TABLE_FILE = "prices.toml"
_PROBLEM = "_price_problem"


def offers_section(plan: Scenario, answer: Answer, engine: str, request: tuple[int, int], price: HourPrice) -> None:
    """Asks for prices and a latency, and answers with the cheapest cards for users and context of the set-up.

    Without a table of the reader's own, the examples are tried.
    """
    examples = example_prices()
    title, sentence, place = st.empty(), st.empty(), st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        cards = list(form.device_names())
        own = cards.index(answer.device) if answer.device in cards else 0
        st.selectbox("Add a card", cards, own, key="add_card", filter_mode="contains")
        st.number_input("at, an hour", 0.0, 1e6, None, key="add_price", format="%g", placeholder="2.5")
        st.button("Add", key="add", icon=":material/add:", on_click=_add)
    text = fields.area(
        "prices",
        "Your price table: a line a card, price of one an hour",
        MOST_CHARACTERS,
        placeholder=prices_toml(examples.prices),
        help="Names as in the list of cards, or their short names. It stands in the address: a link carries it. Empty: "
        "the examples that stand there.",
    )
    with st.grid(3, min_column_width=170):
        least = fields.figure("target", "At least, tokens/s for each user", 20.0, 0.1, 1e5, step=5.0, format="%g")
        longest = fields.figure(
            "first", "First token within, seconds", None, 0.001, 1e5, format="%g", placeholder="any time"
        )
        st.file_uploader("Or a file, TOML or CSV", type=["toml", "csv"], key="price_file", on_change=_uploaded)
    title.header("Which cards are the cheapest for this?", anchor=False)
    if problem := st.session_state.get(_PROBLEM):
        st.info(problem, icon=":material/edit:")
    is_example, currency = not text.strip(), price.currency
    if is_example:
        currency = examples.currency
    elif price.is_example:
        currency = UNNAMED  # a table of one's own is not in the currency of an example
    try:
        given = dict(examples.prices) if is_example else parse_prices(text.encode(), TABLE, is_csv=False)
        prices, left_out = of_known_speed(given)
        model = own_config.architecture()
        offers = _searched(plan.choices, prices, engine, request, least or 0.0, longest, hash(model), model)
    except PlannerError as error:
        sentence.markdown(f":orange[:material/edit:] {error}")
        return
    title.header(offer_title(offers, currency), anchor=False)
    sentence.markdown(offer_sentence(offers, currency))
    with place:
        if offers:
            _offer_figure(offers, currency)
            st.caption(
                "Bars: what an hour costs, of each card in the number that is the cheapest; the table has the others."
            )
            _take(plan.choices, offers)
            _command(plan.choices, prices, request, least or 0.0, longest, engine, price.option)
        load = f"{answer.users:,} × {answer.context_tokens:,} tokens, new prompts all the time"
        tried = f"{load}, one to eight cards of each kind"
        if is_example:
            st.caption(
                f":material/info: For {tried}. Assumed prices: {examples.title} ({examples.source}). They change by "
                "the week: type the cards that you can have, and what an hour of one costs you."
            )
        else:
            st.caption(" ".join([f"For {tried}.", *left_out]))


@st.cache_data(max_entries=32, show_spinner="Trying every card of the table …")
def _searched(
    choices: Choices,
    prices: dict[str, float],
    engine: str,
    request: tuple[int, int],
    least: float,
    longest: float | None,
    own: int,
    _architecture: Architecture | None,
) -> list[Offer]:
    """*own* tells one uploaded model from another, which Streamlit cannot."""
    return find_offers(
        choices,
        prices,
        speed_engine=engine,
        prompt_tokens=request[0],
        output_tokens=request[1],
        min_tokens_per_s=least,
        max_first_token_s=longest,
        architecture=_architecture,
    )


def _offer_figure(offers: Sequence[Offer], currency: str) -> None:
    drawn = tuple(cheapest_of_each(offers)[:SHOWN_OFFERS])
    figure(
        offer_bars,
        drawn,
        currency,
        alt="; ".join(
            f"{offer_name(offer)}: {asked_price(offer.price_per_hour, currency)} an hour, "
            f"{format_figure(offer.tokens_per_s_user)} tokens/s each"
            for offer in drawn
        )
        + ".",
        key="offers",
        columns=(
            *("Cards", f"An hour, {currency}", "Each, tokens/s", "First token"),
            *(f"Million answers, {currency}", "J a token"),
        ),
        cells=[
            (
                offer_name(offer),
                asked_price(offer.price_per_hour),
                f"{format_figure(offer.tokens_per_s_user)}\n{offer_pace(offer)}",
                format_seconds(offer.time_to_first_token_s),
                f"{money(offer.output_per_million)}\n{offer_million(offer)}",
                "–" if offer.joules_per_output_token is None else format_figure(offer.joules_per_output_token),
            )
            for offer in offers
        ],
        rows=[asdict(offer) for offer in offers],
        text=(0,),
        wide_only=(3, 5),
        own=0,
    )


def _command(
    choices: Choices,
    prices: dict[str, float],
    request: tuple[int, int],
    least: float,
    longest: float | None,
    engine: str,
    currency: str,
) -> None:
    """The same search in a terminal, and the table as the file that it reads."""
    with st.expander("The same search in a terminal", key="offers_terminal"):
        words = ["--prices", TABLE_FILE, "--prompt", f"{request[0]}", "--output", f"{request[1]}"]
        words += ["--min-tokens-per-s", f"{least:g}"] if least else []
        words += [] if longest is None else ["--max-ttft", f"{longest:g}"]
        words += ["--speed-engine", engine, *(["--currency", currency] if currency else [])]
        users = ["--users", "1"] if choices.users == 1 else []  # its default is another
        st.code(command(choices.without_cards(), "cost", *users, *words), language=None, wrap_lines=True)
        st.download_button(
            f"{TABLE_FILE}, the table that it reads",
            prices_toml(prices),
            TABLE_FILE,
            "application/toml",
            icon=":material/download:",
            key="price_table_file",
            on_click="ignore",
        )


def _take(choices: Choices, offers: Sequence[Offer]) -> None:
    """Puts the cards of an offer into the set-up, where one copy of the model uses them all."""
    whole = {offer_name(offer): offer for offer in offers if offer.replicas == 1}
    if not whole:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        picked = st.selectbox("Take these cards", list(whole), key="take_cards")
        offer = whole[picked]
        asked = replace(choices.without_cards(), device=offer.device, device_count=offer.device_count)
        st.button("Use them", key="use", icon=":material/check:", on_click=apply, args=(asked,))


def _add() -> None:
    """One more line of the table, in place of the card's old one."""
    card, hourly = st.session_state["add_card"], st.session_state["add_price"]
    if hourly is None:
        return
    text = st.session_state.get("prices", "")
    try:
        known = parse_prices(text.encode(), TABLE, is_csv=False) if text.strip() else {}
    except PlannerError as error:
        st.session_state[_PROBLEM] = f"{error} Correct that line first."
        return
    st.session_state.pop(_PROBLEM, None)
    st.session_state["prices"] = prices_toml(known | {form.device_names()[card]: hourly})


def _uploaded() -> None:
    """A file takes the place of the table, unless it is none."""
    st.session_state.pop(_PROBLEM, None)
    file = st.session_state["price_file"]
    if file is None:
        return
    try:
        prices = parse_prices(file.getvalue(), file.name, is_csv=file.name.lower().endswith(".csv"))
    except PlannerError as error:
        st.session_state[_PROBLEM] = in_fields(error)
    else:
        st.session_state["prices"] = prices_toml(prices)
