"""Experiments on what a rounded model answers, on a tiny model of random weights."""

import math

import pytest
import torch

from measure.certainty import chi_square_p, mean_interval, share_interval
from measure.experiments import quality, speculation
from measure.models import load
from measure.quantizers import SCHEMES, quantize_model
from measure.records import Case
from measure.setup import Setup
from measure.speculative import draw, speculate, verify
from tests.measure.tiny import VOCABULARY
from tests.measure.trial import trial


def test_agreement_follows_the_error(tiny: Setup) -> None:
    names = [quality.FULL, "int8-row", "nf4", "int4-tensor"]
    cases = [Case(experiment="quality", name=n, settings={"scheme": n, "tokens": 300}) for n in names]
    rows = trial(quality, cases, tiny).tables[0].rows
    agreement = [row["agreement"] for row in rows]
    assert agreement[0] == 1.0
    assert agreement == sorted(agreement, reverse=True)
    assert agreement[1] > 0.9 > agreement[3]
    assert all(row["agreement_low"] <= row["agreement"] <= row["agreement_high"] for row in rows)
    assert rows[0]["perplexity"] > VOCABULARY  # random weights are worse than guessing: they are sure of themselves
    assert rows[0]["right"] is None


def test_an_interval_of_a_share_by_hand() -> None:
    """Wilson, 8 of 16: centre 0.5, half 1.96/(1 + 3.8416/16) · √(0.25/16 + 3.8416/(4·16²))."""
    half = 1.96 / (1 + 3.8416 / 16) * math.sqrt(0.25 / 16 + 3.8416 / (4 * 256))
    assert share_interval(8, 16) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-4)
    assert share_interval(16, 16)[1] == 1.0
    assert mean_interval([1.0, 3.0]) == pytest.approx((2 - 1.96, 2 + 1.96), abs=1e-3)


def test_chi_square_against_a_table() -> None:
    """Critical values at 5%: 9.488 with 4 degrees of freedom, 18.307 with 10."""
    for degrees, critical in ((4, 9.488), (10, 18.307)):
        cells = degrees + 1
        off = math.sqrt(critical * 1_000 / 2)
        counts = [1_000 + off, 1_000 - off, *[1_000] * (cells - 2)]
        assert chi_square_p(counts, [1 / cells] * cells) == pytest.approx(0.05, abs=0.002)


def test_greedy_speculation_makes_the_targets_own_tokens(tiny: Setup) -> None:
    target, draft = load(tiny).model, load(tiny).model
    quantize_model(draft, SCHEMES["int4-tensor"])
    prompt = torch.arange(20)[None] + 20
    plain = speculate(target, target, prompt, 40, 0, None)
    found = speculate(target, draft, prompt, 40, 3, None)
    assert found.tokens[:40] == plain.tokens[:40]
    assert 0 < found.acceptance < 1
    perfect = speculate(target, target, prompt, 40, 3, None)
    assert (perfect.acceptance, perfect.tokens[:40]) == (1.0, plain.tokens[:40])
    assert (len(perfect.tokens) - 1) / perfect.passes == 4


def test_the_acceptance_rule_keeps_the_targets_distribution() -> None:
    """p = (0.6, 0.3, 0.1) from drafts of q = (0.1, 0.3, 0.6): Σ min(p, q) = 0.5 of them are kept."""
    p, q = torch.tensor([0.6, 0.3, 0.1]), torch.tensor([0.1, 0.3, 0.6])
    generator = torch.Generator().manual_seed(0)
    counts, kept, draws = [0, 0, 0], 0, 6_000
    for _ in range(draws):
        token = draw(q, generator)
        accepted, other = verify([token], [q], torch.stack([p, p]), generator)
        kept += accepted
        counts[token if accepted else other] += 1
    assert kept / draws == pytest.approx(0.5, abs=0.02)
    assert chi_square_p(counts, p.tolist()) > 1e-3
    assert chi_square_p(counts, q.tolist()) < 1e-6


def test_acceptance_decides_tokens_a_pass(tiny: Setup) -> None:
    drafts = ("int8-row", "int4-tensor")
    settings = [{"kind": "run", "draft": draft, "how": "greedy", "tokens": 40} for draft in drafts]
    settings.append({"kind": "test", "draft": "int4-tensor"})
    cases = [Case(experiment="speculation", name=str(each), settings=each) for each in settings]
    report = trial(speculation, cases, tiny)
    (good, poor), (test,) = (table.rows for table in report.tables)
    assert good["acceptance"] > poor["acceptance"]
    assert good["measured_tokens_a_pass"] > poor["measured_tokens_a_pass"]
    assert test["acceptance"] == pytest.approx(test["predicted_acceptance"], abs=0.04)
    for row in (good, poor):  # the formula takes each token as accepted by the same chance: ten passes are near it
        assert row["measured_tokens_a_pass"] == pytest.approx(row["predicted_tokens_a_pass"], rel=0.1)
    assert not any("chance of these" in sentence for sentence in report.disagreements)
