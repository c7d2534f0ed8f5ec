"""What tokens cost: the hour's price is shared out to the last cent, and the cheapest card that does it comes first."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.cli import main
from planner.cost import cost, read_price
from planner.energy import PowerShare, device_power, energy, stated_power
from planner.errors import PlannerError
from planner.speed.constants import Seconds
from planner.speed.fit import predicted_s
from planner.speed.work import decode_work
from tests.speed.test_speed import CARD, CONSTANTS, dense, prepared


@given(st.integers(1, 500), st.integers(1, 10_000), st.integers(1, 10_000), st.floats(0.01, 100))
def test_an_hour_of_tokens_costs_an_hour(users: int, prompt: int, output: int, price: float) -> None:
    found = cost(
        prepared(dense()), CONSTANTS, price_per_hour=price, users=users, prompt_tokens=prompt, output_tokens=output
    )
    prompts = 3_600 * found.prompt_tokens_per_s * found.prompt_per_million / 1e6
    answers = 3_600 * found.output_tokens_per_s * found.output_per_million / 1e6
    assert prompts + answers == pytest.approx(price)


def test_a_million_tokens_by_hand() -> None:
    """Half a currency unit an hour, one user, a prompt of one token: a million steps' time at that price."""
    model = prepared(dense())
    step_s = predicted_s(decode_work(model, 1, 1 + 500), CONSTANTS)
    found = cost(
        model, CONSTANTS, price_per_hour=0.5, users=1, prompt_tokens=1, output_tokens=1_000, power=stated_power(300.0)
    )
    assert found.output_per_million == pytest.approx(0.5 / 3_600 * step_s * 1e6)
    assert found.energy is not None
    assert found.energy.joules_per_output_token == pytest.approx(300 * step_s, rel=1e-3)
    assert found.request == pytest.approx((found.prompt_per_million + 1_000 * found.output_per_million) / 1e6)


SHARE = PowerShare(low=0.2, expected=0.6, high=1.0, source="assumption: for tests")


@given(st.integers(1, 1_400), st.integers(1, 64), st.floats(1e-6, 10), st.integers(1, 1_000))
def test_a_tokens_energy_is_power_by_time(watts: int, count: int, seconds: float, tokens: int) -> None:
    """The card's limit over the whole step is the most that a token can take."""
    power = device_power(replace(CARD, power_watts=watts, power_source="assumption: for tests"), count, SHARE)
    assert power is not None
    found = energy(power, Seconds(value_s=seconds, low_s=seconds, high_s=seconds, ceiling_s=0.0), tokens)
    assert found.high_joules == pytest.approx(count * watts * seconds / tokens)
    assert found.low_joules <= found.joules_per_output_token <= found.high_joules
    assert found.kwh_per_million_tokens == pytest.approx(found.joules_per_output_token / 3.6)


def test_a_card_of_unknown_power_has_no_energy(capsys: pytest.CaptureFixture[str]) -> None:
    assert device_power(CARD, 1, SHARE) is None
    words = ["cost", "--model", "llama-3.1-8b", "--device", "apple-m3-max-48gb", "--price", "1"]
    assert main([*words, "--speed-engine", "llama_cpp", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["energy"] is None


@pytest.mark.parametrize("watts", [-1.0, float("nan"), float("inf")])
def test_what_is_no_power_is_refused(watts: float) -> None:
    with pytest.raises(PlannerError, match="is not possible"):
        stated_power(watts)


def test_more_users_make_tokens_cheaper() -> None:
    prices = [
        cost(
            prepared(dense()), CONSTANTS, price_per_hour=1, users=users, prompt_tokens=100, output_tokens=100
        ).output_per_million
        for users in (1, 8, 64)
    ]
    assert prices == sorted(prices, reverse=True)


@pytest.mark.parametrize("price", [-1, True, "2", float("nan"), float("inf"), 1e308])
def test_what_is_no_price_is_refused(price: object) -> None:
    with pytest.raises(PlannerError, match=r"rtx-4090 = .* is not a price"):
        read_price("rtx-4090", price, "prices.toml")


def test_the_cheapest_cards_that_do_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """16 GB of weights: one card of 24 GB holds them; of two kinds the cheaper comes first; of 8 GB it takes two."""
    file = tmp_path / "prices.toml"
    file.write_text("rtx-4090 = 0.4\nrtx-3090 = 0.2\nrtx-4060 = 0.1\n", encoding="utf-8")
    words = ["cost", "--model", "llama-3.1-8b", "--prices", str(file), "--users", "2", "--prompt", "500"]
    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert (rows[0]["device"], rows[0]["device_count"], rows[0]["price_per_hour"]) == ("rtx-3090", 1, 0.2)
    assert [row["price_per_hour"] for row in rows] == sorted(row["price_per_hour"] for row in rows)
    assert min(row["device_count"] for row in rows if row["device"] == "rtx-4060") == 2
    assert main([*words, "--min-tokens-per-s", "55", "--json"]) == 0
    faster = json.loads(capsys.readouterr().out)
    assert all(row["tokens_per_s_user"] >= 55 for row in faster)
    assert faster[0]["price_per_hour"] > 0.2
    assert main([*words, "--min-tokens-per-s", "100000"]) == 1


def test_one_card_and_its_price(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["cost", "--model", "llama-3.1-8b", "--device", "h100-sxm"]
    assert main([*words, "--price", "2.5", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["price_per_hour"] == 2.5
    # 700 W a card, of which a fifth to all is drawn
    power = printed["energy"]["power"]
    assert (power["low_watts"], power["watts"], power["high_watts"], power["basis"]) == (140, 448, 700, "assumed")
    assert printed["energy"]["joules_per_output_token"] == pytest.approx(448 / printed["output_tokens_per_s"])
    assert main([*words, "--price", "2.5", "--watts", "300", "--json"]) == 0
    stated = json.loads(capsys.readouterr().out)["energy"]
    assert stated["power"]["low_watts"] == stated["power"]["high_watts"] == 300
    assert stated["low_joules"] < stated["joules_per_output_token"] < stated["high_joules"]
    assert main(words) == 2
    assert capsys.readouterr().err.startswith("Give --device and --price")
    assert main([*words, "--price", "2.5"]) == 0
    assert capsys.readouterr().out.startswith("A million tokens of answers cost ")


def test_what_does_not_fit_has_a_price_only_as_if_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--model", "llama-3.1-70b", "--device", "rtx-2060")
    draft = ("--acceptance", "0.7", "--draft-tokens", "4", "--batch", "1", "--draft-model", "ngram")
    for command in (("cost", *words, "--price", "0.1"), ("speed", *words), ("speculate", *words, *draft)):
        assert main(command) == 1
        text = capsys.readouterr().out
        assert text.startswith("It does not fit. If it did: ")
        assert "Note: The weights alone are 125.62 GiB too big. These figures are as if it did fit." in text
    main(("speculate", *words, "--batch", "1", "--draft", "ngram=0.7"))
    assert capsys.readouterr().out.startswith("It does not fit. If it did: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("llama-3.1-8b --device m4-max-128gb --engine vllm", "vLLM does not run on Apple M4 Max"),
        ("llama-3.1-8b --device gaudi-2 --engine llama_cpp", "llama.cpp does not run on Intel Gaudi 2. These"),
        ("falcon-mamba-7b --device l4 --engine vllm", "vLLM would refuse to start: max_num_seqs = 256 is more than"),
    ],
)
def test_why_it_would_not_run_is_said_in_the_engines_own_name(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["speed", "--model", *words.split(), "--context", "2048"]) == 1
    assert f"Note: {said}" in capsys.readouterr().out
