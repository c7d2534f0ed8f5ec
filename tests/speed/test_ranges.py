"""Every speed, and every price that follows from one, has its range: field by field of every answer."""

from dataclasses import fields

import pytest

from planner.cost import Cost
from planner.draft_trade import DraftPoint
from planner.energy import Energy
from planner.serving.offers import Offer
from planner.serving.question import ServingOption
from planner.serving.rate_offers import RateOffer
from planner.speculation import Speculation
from planner.speed.drafting import BatchSpeculation

ANSWERS = (Cost, Energy, Offer, RateOffer, ServingOption, Speculation, BatchSpeculation, DraftPoint)
MEASURES = ("speedup", "per_million", "tokens_per_s", "rate_per_s", "request", "joules", "first_token")
STATED = {
    ("Speculation", "best_speedup"): "of another length than the one asked for, by the same formula",
    ("RateOffer", "first_token_s"): "the percentile that the target bounds",
    ("ServingOption", "first_token_s"): "the percentile that the target bounds",
    ("ServingOption", "output_tokens_per_s"): "rate_per_s times the mean answer",
    ("ServingOption", "rate_lost_per_s"): "rate_per_s times the replicas that are left",
}


def spoken(answer: type, name: str) -> bool:
    return any(measure in name for measure in MEASURES) and "low" not in name and "high" not in name


FIGURES = [
    (answer, field.name)
    for answer in ANSWERS
    for field in fields(answer)
    if field.type in (float, "float", float | None) and spoken(answer, field.name)
]


def ends(name: str) -> tuple[set[str], set[str]]:
    """The names that the two ends of *name* may have."""
    stem = name.removesuffix("_s").removesuffix("_per_output_token")
    low, high = (
        {f"{name}_{end}", f"{stem}_{end}", f"{stem}_{end}_s", name.replace("_per_s", f"_{end}_per_s"), f"{end}_joules"}
        for end in ("low", "high")
    )
    return low - {name}, high - {name}


@pytest.mark.parametrize(("answer", "name"), FIGURES, ids=lambda value: getattr(value, "__name__", value))
def test_a_figure_of_speed_has_two_ends(answer: type, name: str) -> None:
    names = {field.name for field in fields(answer)}
    low, high = ends(name)
    if (answer.__name__, name) in STATED:
        assert not names & low
    else:
        assert names & low
        assert names & high


def test_there_are_figures_of_every_answer() -> None:
    assert {answer for answer, _ in FIGURES} == set(ANSWERS)
