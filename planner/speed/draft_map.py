"""What a draft is worth over acceptance, length and users: the pictures of one and the same formula."""

from collections.abc import Sequence

from planner.records import dataclass
from planner.speculation import DraftOverhead, acceptance_for, speedup
from planner.speed.constants import SpeedConstants
from planner.speed.drafting import BatchSpeculation, speculate_together
from planner.speed.sweeps import spaced
from planner.speed.work import Model

LONGEST_DRAFT = 16
"""The best length is looked for up to here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafting:
    """Who drafts for what: all but acceptance, length and users. A *draft* model, or *draft_cost* of a step a token.

    *verified_tokens*: those of a tree, where it is deeper than that a chain; ``None`` for chains of every length.
    """

    model: Model
    constants: SpeedConstants
    context_tokens: int
    overhead: DraftOverhead
    draft: Model | None = None
    draft_cost: float | None = None
    verified_tokens: int | None = None

    def at(self, users: int, acceptance: float, draft_tokens: int) -> BatchSpeculation:
        """One point of every picture."""
        tree = None if self.verified_tokens is None else max(self.verified_tokens, draft_tokens + 1)
        return speculate_together(
            self.model,
            self.constants,
            acceptance=acceptance,
            draft_tokens=draft_tokens,
            users=users,
            context_tokens=self.context_tokens,
            overhead=self.overhead,
            draft=self.draft,
            draft_cost=self.draft_cost,
            verified_tokens=tree,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of the map."""

    acceptance: float
    draft_tokens: int
    speedup: float


def best_length(drafting: Drafting, users: int, acceptance: float) -> BatchSpeculation:
    """The fastest of no draft and 1 … LONGEST_DRAFT tokens, the shorter of two that are equal."""
    lengths = [drafting.at(users, acceptance, tokens) for tokens in range(LONGEST_DRAFT + 1)]
    return max(lengths, key=lambda found: found.speedup)


def break_even_acceptance(found: BatchSpeculation) -> float | None:
    """The least acceptance at which that draft is not slower; ``None`` where even 1 is.

    With E tokens a pass S = E · k, and k does not depend on the acceptance: E must reach 1 / k.
    """
    if not found.draft_tokens:
        return None
    needed = found.expected_tokens / found.speedup
    return acceptance_for(max(1.0, needed), found.draft_tokens) if needed <= found.draft_tokens + 1 else None


def together_map(
    drafting: Drafting, users: int, acceptances: Sequence[float], lengths: Sequence[int]
) -> tuple[Cell, ...]:
    """Every acceptance with every length, for *users* requests together."""
    return tuple(
        Cell(acceptance=alpha, draft_tokens=tokens, speedup=drafting.at(users, alpha, tokens).speedup)
        for tokens in lengths
        for alpha in acceptances
    )


def alone_map(draft_cost: float, acceptances: Sequence[float], lengths: Sequence[int]) -> tuple[Cell, ...]:
    """The same by the plain formula: one request, checking is free, nothing is spent besides."""
    return tuple(
        Cell(acceptance=alpha, draft_tokens=tokens, speedup=speedup(alpha, tokens, draft_cost))
        for tokens in lengths
        for alpha in acceptances
    )


def over_users(
    drafting: Drafting, acceptance: float, draft_tokens: int, most_users: int, also: tuple[int, ...] = ()
) -> tuple[BatchSpeculation, ...]:
    """The same draft for more and more requests together."""
    sizes = sorted({*spaced(1, most_users), *also})
    return tuple(drafting.at(users, acceptance, draft_tokens) for users in sizes)
