"""The border between what fits and what does not, context against users, sampled for drawing."""

import math
from collections.abc import Iterator

from planner.budget import RankBudget
from planner.capacity import concurrency, max_context_tokens, max_users
from planner.deployment import MAX_TOKENS, Workload
from planner.records import dataclass

SHORTEST_TOKENS = 512
STEPS_PER_OCTAVE = 8
_UNLIMITED_TOKENS = 32_768


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier:
    """*points* are (tokens per request, requests as a fraction), from few tokens to many, none below one request.

    The axes run from *shortest_tokens* to *longest_tokens* and from 1 to *most_users*. *limit_users* is the most whole
    requests of the workload's own context. No points: not even the shortest request fits.
    """

    points: tuple[tuple[int, float], ...]
    shortest_tokens: int
    longest_tokens: int
    most_users: int
    limit_users: int | None

    def place(self, tokens: int) -> float:
        """Where *tokens* lie on their axis, 0 at its start and 1 at its end."""
        return math.log2(tokens / self.shortest_tokens) / math.log2(self.longest_tokens / self.shortest_tokens)

    def rise(self, tokens: int, users: int, share: float) -> float:
        """How far the border climbs above *users* within *share* of the axis left of *tokens*, in shares of its own.

        0 where it stays below.
        """
        left = tokens * (self.shortest_tokens / self.longest_tokens) ** share
        highest = next((count for context, count in self.points if context >= left), 1)
        return max(0.0, math.log2(highest / users) / math.log2(self.most_users))


def frontier(ranks: tuple[RankBudget, ...], workload: Workload, limit_tokens: int | None) -> Frontier:
    """The border for *ranks*, up to the model's *limit_tokens* where it has one and the workload respects it.

    Windows and states bend the line, so it is computed at every point, and at the corners, never extrapolated.
    """
    context = workload.context_tokens
    loads = all(rank.pool_bytes >= 0 for rank in ranks)
    longest_fit = max_context_tokens(ranks) if loads else 0
    shortest = _power_below(min(SHORTEST_TOKENS, context, max(2, longest_fit or MAX_TOKENS) // 2))
    if limit_tokens is not None and limit_tokens >= context:
        longest = max(limit_tokens, 2 * shortest)
    else:
        longest = min(MAX_TOKENS, _power_above(2 * max(context, longest_fit or _UNLIMITED_TOKENS) - 1))
    contexts = {shortest, longest, context, longest_fit or longest, *_steps(shortest, longest), *_corners(ranks)}
    points = tuple(
        (tokens, users)
        for tokens in sorted(contexts)
        if shortest <= tokens <= longest and 1 <= (users := concurrency(ranks, tokens)) < math.inf
    )
    highest = max((math.ceil(users) for _, users in points), default=1)
    return Frontier(
        points=points,
        shortest_tokens=shortest,
        longest_tokens=longest,
        most_users=_power_above(max(4, highest, 2 * workload.users)),
        limit_users=max_users(ranks, context) if loads else 0,
    )


def _steps(shortest: int, longest: int) -> Iterator[int]:
    count = math.ceil(math.log2(longest / shortest) * STEPS_PER_OCTAVE)
    for step in range(1, count):
        yield round(shortest * 2 ** (step / STEPS_PER_OCTAVE))


def _corners(ranks: tuple[RankBudget, ...]) -> Iterator[int]:
    """Where a window is full and a cache stops growing."""
    for rank in ranks:
        for spec in rank.specs:
            if spec.max_tokens is not None:
                yield spec.max_tokens


def _power_below(number: int) -> int:
    return 1 << (max(1, number).bit_length() - 1)


def _power_above(number: int) -> int:
    return 1 << (max(1, number) - 1).bit_length()
