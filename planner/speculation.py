"""Speculative decoding: a cheap draft proposes tokens, the model checks them all in one pass.

α is the chance that one drafted token is accepted, γ how many are drafted a pass, c the cost of drafting one token as a
share of one pass of the model. Source: Leviathan, Kalman and Matias, arXiv:2211.17192, equations 1 and theorem 3.8.
"""

import math
from collections.abc import Callable

from planner.errors import PlannerError
from planner.records import dataclass
from planner.search import largest

MAX_DRAFT_TOKENS = 2**20
"""No draft is longer; where a search ends."""
MAX_DRAFT_COST = 1_000
"""No drafted token costs more passes of the model."""
_HALVINGS = 200
"""More than a float has digits: a bisection stops by itself before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """What a draft is worth when one request runs alone. *speedup* below 1: the draft makes it slower.

    *speedup_low* and *speedup_high* are the ends of its range: nine of ten published speed-ups lay within.
    *best_draft_tokens*: 0 where no draft helps, ``None`` where every further token helps; *best_speedup* is then what
    it grows towards, ``None`` without end. *break_even_acceptance*: the least that is not slower, ``None`` where even
    1 is.
    """

    acceptance: float
    draft_tokens: int
    draft_cost: float
    expected_tokens: float
    speedup: float
    speedup_low: float
    speedup_high: float
    best_draft_tokens: int | None
    best_speedup: float | None
    break_even_acceptance: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftOverhead:
    """What the host does between two passes while the card waits: *pass_s*, and *request_s* more for each request.

    It starts what drafts and checks, and takes over what was accepted; without a draft it runs ahead of the card.
    *p90_error*: nine of ten published speed-ups of many requests lay so near to the speed model's, a share of 1;
    *formula_p90_error*: of one request alone, to the plain formula's.
    """

    pass_s: float
    request_s: float
    source: str
    p90_error: float
    formula_p90_error: float

    def seconds(self, users: int) -> float:
        """Between two passes of *users* requests."""
        return self.pass_s + self.request_s * users


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedDraft:
    """One published reading of a draft: its *acceptance*, or the *tokens_per_pass* of a chain or tree, and the outcome.

    ``None``: not stated. *draft_tokens* ``None`` beside *tokens_per_pass*: a tree of drafts, or a length that varies.
    """

    name: str
    method: str
    model: str
    source: str
    draft: str = ""
    hardware: str = ""
    task: str = ""
    acceptance: float | None = None
    draft_tokens: int | None = None
    tokens_per_pass: float | None = None
    draft_cost: float | None = None
    speedup: float | None = None
    note: str = ""

    def acceptance_per_token(self) -> float | None:
        """α as stated, or as a chain's tokens a pass imply it; ``None`` for trees, which have no single α."""
        if self.acceptance is None and self.tokens_per_pass is not None and self.draft_tokens is not None:
            return acceptance_for(self.tokens_per_pass, self.draft_tokens)
        return self.acceptance


def speculate(acceptance: float, draft_tokens: int, draft_cost: float, error: float = 0.0) -> Speculation:
    """Everything that α, γ and c decide, the speed-up within *error*. Raises PlannerError for what is no α, γ or c."""
    best = best_draft_tokens(acceptance, draft_cost)
    tokens, found = expected_tokens(acceptance, draft_tokens), speedup(acceptance, draft_tokens, draft_cost)
    low, high = speedup_range(found, error, tokens)
    return Speculation(
        acceptance=acceptance,
        draft_tokens=draft_tokens,
        draft_cost=draft_cost,
        expected_tokens=tokens,
        speedup=found,
        speedup_low=low,
        speedup_high=high,
        best_draft_tokens=best,
        best_speedup=_endless_speedup(acceptance, draft_cost)
        if best is None
        else speedup(acceptance, best, draft_cost),
        break_even_acceptance=break_even_acceptance(draft_tokens, draft_cost),
    )


def speedup_range(speedup: float, error: float, tokens: float) -> tuple[float, float]:
    """The ends of a speed-up that may be off by *error* to both sides; a pass is never shorter than a step, so that it
    is at most the *tokens* which one yields.

    >>> speedup_range(2.0, 0.25, 3.0), speedup_range(0.9, 0.25, 1.0)
    ((1.6, 2.5), (0.72, 1.0))
    """
    return speedup / (1 + error), max(speedup, min(speedup * (1 + error), tokens))


def expected_tokens(acceptance: float, draft_tokens: int) -> float:
    """Tokens that one pass of the model yields on average, its own one included.

        E = 1 + α + … + α^γ = (1 − α^(γ+1)) / (1 − α)

    >>> round(expected_tokens(0.9, 8), 2), expected_tokens(0, 8), expected_tokens(1, 8)
    (6.13, 1.0, 9.0)
    """
    check_draft(acceptance=acceptance, draft_tokens=draft_tokens)
    if acceptance in (0, 1):
        return 1.0 if acceptance == 0 else draft_tokens + 1.0
    # expm1 keeps the digits that 1 − α^(γ+1) loses as α nears 1.
    return -math.expm1((draft_tokens + 1) * math.log(acceptance)) / (1 - acceptance)


def speedup(acceptance: float, draft_tokens: int, draft_cost: float) -> float:
    """How many times as fast as without a draft, while checking γ + 1 tokens costs as much as making one.

        S = E / (1 + c·γ)

    >>> [round(speedup(*figures), 2) for figures in ((0.9, 8, 0.1), (0.3, 8, 0.1), (0.3, 4, 0.2))]
    [3.4, 0.79, 0.79]
    """
    check_draft(acceptance=acceptance, draft_tokens=draft_tokens, draft_cost=draft_cost)
    return expected_tokens(acceptance, draft_tokens) / (1 + draft_cost * draft_tokens)


def best_draft_tokens(acceptance: float, draft_cost: float) -> int | None:
    """The γ that is fastest, the smaller of two that are equal: 0 where no draft helps, ``None`` where all do.

    The γ-th token adds α^γ to E and c to the passes' time; once that no longer pays it never does again.
    >>> best_draft_tokens(0.9, 0.1), best_draft_tokens(0.3, 0.4), best_draft_tokens(1, 0.1)
    (10, 0, None)
    """
    check_draft(acceptance=acceptance, draft_cost=draft_cost)
    if (draft_cost == 0 and acceptance > 0) or (acceptance == 1 and draft_cost < 1):
        return None

    def pays(draft_tokens: int) -> bool:
        before = draft_tokens - 1
        gain: float = acceptance**draft_tokens * (1 + draft_cost * before)
        return gain > draft_cost * expected_tokens(acceptance, before)

    return largest(pays, MAX_DRAFT_TOKENS)


def break_even_acceptance(draft_tokens: int, draft_cost: float) -> float | None:
    """The least α with S ≥ 1; ``None`` where a drafted token costs more than a pass of the model.

    >>> break_even_acceptance(1, 0.25), break_even_acceptance(8, 0), break_even_acceptance(8, 1.5)
    (0.25, 0.0, None)
    """
    check_draft(draft_tokens=draft_tokens, draft_cost=draft_cost)
    if draft_cost > 1 and draft_tokens:
        return None
    return acceptance_for(1 + draft_cost * draft_tokens, draft_tokens)


def acceptance_for(tokens: float, draft_tokens: int) -> float:
    """The α with which a pass yields *tokens* on average: what a measured acceptance length says about a chain of γ.

    >>> round(acceptance_for(1.89, 2), 3), acceptance_for(1, 4), acceptance_for(5, 4)
    (0.568, 0.0, 1.0)
    """
    check_draft(draft_tokens=draft_tokens)
    if not 1 <= tokens <= draft_tokens + 1:
        raise PlannerError(
            f"A pass that checks {draft_tokens} drafted tokens yields between 1 and {draft_tokens + 1} tokens, "
            f"not {tokens:g}: give the tokens of one pass on average, the model's own one included."
        )
    if tokens == 1 or draft_tokens == 1:
        return tokens - 1.0
    return 1.0 if tokens == draft_tokens + 1 else _first(lambda alpha: expected_tokens(alpha, draft_tokens) >= tokens)


def _first(reached: Callable[[float], bool]) -> float:
    """The least float in 0 … 1 with *reached*, which is false at 0 and true at 1."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _endless_speedup(acceptance: float, draft_cost: float) -> float | None:
    """What S grows towards where every further token helps: 1 / (1 − α) for a free draft, 1 / c at α = 1."""
    if draft_cost == 0:
        return None if acceptance == 1 else 1 / (1 - acceptance)
    return 1 / draft_cost


def check_draft(acceptance: float = 0, draft_tokens: int = 0, draft_cost: float = 0) -> None:
    """Raises PlannerError for what is no α, γ or c."""
    if not 0 <= acceptance <= 1:
        raise PlannerError(f"acceptance = {acceptance:g} is not possible: it is a share between 0 and 1, such as 0.7.")
    if not 0 <= draft_tokens <= MAX_DRAFT_TOKENS:
        raise PlannerError(f"draft_tokens = {draft_tokens:,} is not possible: give 0 to {MAX_DRAFT_TOKENS:,}.")
    if not 0 <= draft_cost <= MAX_DRAFT_COST:
        raise PlannerError(
            f"draft_cost = {draft_cost:g} is not possible: give the cost of one drafted token "
            f"as a share of one pass of the model, such as 0.1, and at most {MAX_DRAFT_COST:,}."
        )
