"""What one step of a server takes, in whole ticks, so that jumping over many steps is exact."""

from dataclasses import dataclass
from math import isqrt

from planner.batching.server import check_slots
from planner.errors import PlannerError

TICKS_PER_S = 10**15
"""A femtosecond is fine enough for the cache bytes of one token."""
_MAX_STEP_S = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """Ticks of one step: by how many sequences take part, plus so much a cached token read and a prompt token computed.

    *by_sequences* has an entry for 0 … slots sequences; a mixture of experts needs a table, not a slope. What is
    quadratic in a prompt is left out.
    """

    by_sequences: tuple[int, ...]
    per_context_token: int = 0
    per_prompt_token: int = 0

    @property
    def slots(self) -> int:
        return len(self.by_sequences) - 1

    def scaled(self, factor: float) -> "StepTime":
        """Steps that take *factor* times as long."""
        return StepTime(
            by_sequences=tuple(round(factor * ticks) for ticks in self.by_sequences),
            per_context_token=round(factor * self.per_context_token),
            per_prompt_token=round(factor * self.per_prompt_token),
        )

    def steps(self, count: int, sequences: int, context_tokens: int) -> int:
        """Ticks of *count* steps without prompts: *context_tokens* are read in the first, then one more a sequence.

        Σ (a + c·(n₀ + i·s)) for i = 0 … count − 1 = count · (a + c·n₀) + c · s · count · (count − 1) / 2
        """
        first = self.by_sequences[sequences] + self.per_context_token * context_tokens
        return count * first + self.per_context_token * sequences * (count * (count - 1) // 2)

    def steps_until(self, ticks: int, sequences: int, context_tokens: int) -> int:
        """The least number of such steps that take *ticks* or more."""
        first = self.by_sequences[sequences] + self.per_context_token * context_tokens
        growth = self.per_context_token * sequences
        if growth == 0:
            return -(-ticks // first)
        # growth·k² + (2·first − growth)·k ≥ 2·ticks
        linear = 2 * first - growth
        count = max(1, (isqrt(linear * linear + 8 * growth * ticks) - linear) // (2 * growth))
        while self.steps(count, sequences, context_tokens) < ticks:
            count += 1
        return count


def affine_step_time(
    *,
    slots: int,
    fixed_s: float,
    per_sequence_s: float = 0.0,
    per_context_token_s: float = 0.0,
    per_prompt_token_s: float = 0.0,
) -> StepTime:
    """A step of fixed + per_sequence · n seconds, and so on; raises PlannerError unless a step takes some time."""
    figures = (fixed_s, per_sequence_s, per_context_token_s, per_prompt_token_s)
    check_slots(slots)
    if fixed_s <= 0 or not all(0 <= figure <= _MAX_STEP_S for figure in figures):
        raise PlannerError(f"A step takes more than 0 s; none of its parts is negative or over {_MAX_STEP_S:,} s.")
    fixed, per_sequence, per_context_token, per_prompt_token = (round(figure * TICKS_PER_S) for figure in figures)
    return StepTime(
        by_sequences=tuple(max(1, fixed) + per_sequence * sequences for sequences in range(slots + 1)),
        per_context_token=per_context_token,
        per_prompt_token=per_prompt_token,
    )
