"""What a token costs over users, with its range; and the words for prices, offers and energy."""

from dataclasses import asdict, replace

import pytest

from planner.cost import cost
from planner.cost_sweep import cost_over_users
from planner.energy import stated_power
from planner.inputs.choices import Choices
from planner.presets import load_preset
from planner.serving.offers import find_offers
from planner.text.cost import cost_sentence, cost_title, energy_sentence, money, offer_name, offer_sentence, offer_title
from tests.speed.test_sweeps import CONSTANTS, MODEL

ASKED = {"price_per_hour": 2.0, "prompt_tokens": 1_024, "output_tokens": 256}


def test_every_figure_of_a_cost_has_the_range_of_the_step() -> None:
    """A step that takes 1 + error times as long makes tokens as much dearer, and as many fewer."""
    found = asdict(cost(MODEL, CONSTANTS, users=8, **ASKED))
    slow = 1 + CONSTANTS.p90_error
    for name in ("output_per_million", "prompt_per_million", "request"):
        assert found[f"{name}_low"] < found[name] < found[f"{name}_high"]
        assert found[f"{name}_high"] / found[name] == pytest.approx(slow)
    for name in ("output_tokens_per_s", "prompt_tokens_per_s"):
        assert found[f"{name}_low"] < found[name] < found[f"{name}_high"]
        assert found[name] / found[f"{name}_low"] == pytest.approx(slow)


def test_the_more_share_the_hour_the_cheaper_a_token() -> None:
    points = cost_over_users(MODEL, CONSTANTS, most_users=100, also=(33,), **ASKED)
    prices = [point.output_per_million for point in points]
    assert prices == sorted(prices, reverse=True)
    assert {1, 33, 100} <= {point.users for point in points}


def test_prices_in_words() -> None:
    """Eight users: the hour's 2.00 over the tokens of an hour, prompts paid apart."""
    own, alone = (cost(MODEL, CONSTANTS, users=users, **ASKED) for users in (8, 1))
    assert cost_title(own, "EUR") == f"A million tokens of answers cost {money(own.output_per_million)} EUR"
    said = cost_sentence(own, alone, "EUR")
    assert said.startswith("8 users at once, requests of 1,024 + 256 tokens, 2.00 EUR an hour for all cards: between ")
    assert "One user alone would pay " in said
    assert "One user alone" not in cost_sentence(alone, alone, "EUR")


def test_energy_of_a_stated_power_has_the_range_of_the_time_alone() -> None:
    point = cost(MODEL, CONSTANTS, users=8, power=stated_power(700), **ASKED)
    assert point.energy is not None
    assert "at 700 W for all cards" in energy_sentence(point.energy)


def test_offers_in_words() -> None:
    choices = Choices(model="llama-3.1-8b", context=4_096, users=8)
    prices = {"rtx-4090": 0.4, "h100-sxm": 2.5}
    offers = find_offers(
        choices,
        prices,
        speed_engine="vllm",
        prompt_tokens=3_584,
        output_tokens=512,
        min_tokens_per_s=20,
        architecture=load_preset("llama-3.1-8b"),
    )
    assert offer_title(offers, "USD").startswith("The cheapest that does it: GeForce RTX 4090, 0.40 USD an hour")
    assert "Each user gets **" in offer_sentence(offers, "USD")
    assert offer_name(replace(offers[0], device_count=4, replicas=2)) == "4 × GeForce RTX 4090 in 2 replicas"
    other = replace(offers[-1], output_per_million=offers[0].output_per_million / 2)
    assert "The cheapest a token is" in offer_sentence([offers[0], other], "")
    alike = replace(other, output_per_million=0.9999 * offers[0].output_per_million)
    assert offer_sentence([offers[0], alike], "").endswith("A token costs about the least with it as well.")
    assert offer_title([], "") == "No card of your table does it"
    assert offer_sentence([], "").startswith("Ask for less context")
