"""What a plan's assumed items leave for the cache when they turn out small, as expected or large."""

from planner.budget import OUTSIDE, Case, RankBudget, pools, prepare
from planner.capacity import max_context_tokens, max_users
from planner.inputs.choices import Chosen
from planner.line_item import Kind
from planner.longest import longest_context
from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """One *case*, on the device where the least is left: runtime, and what remains for caches (negative: short).

    *pool_tokens* and *max_concurrency* are what the engine prints, ``None`` for one that prints nothing.
    *one_user_tokens*, *max_context_tokens* (for the workload's users) and *max_users* (at its context) are ``None``
    where memory sets no limit, 0 where weights and runtime do not fit.
    """

    case: Case
    runtime_bytes: int
    room_bytes: int
    pool_tokens: int | None
    max_concurrency: float | None
    one_user_tokens: int | None
    max_context_tokens: int | None
    max_users: int | None


def spread(chosen: Chosen) -> tuple[Left, ...]:
    """From the most that is left to the least; the expected case alone where nothing is assumed within a range."""
    ranks = prepare(chosen.architecture, chosen.deployment)
    found = [_left(ranks, chosen, case) for case in (Case.BEST, Case.EXPECTED, Case.WORST)]
    is_range = found[0].room_bytes != found[2].room_bytes
    return tuple(found) if is_range else (found[1],)


def _left(ranks: tuple[RankBudget, ...], chosen: Chosen, case: Case) -> Left:
    workload, asked = chosen.workload, (chosen.architecture, chosen.deployment, ranks)
    tokens, users = workload.context_tokens, workload.users

    def buffer_bytes(rank: RankBudget) -> int:
        return case.of(rank.buffers(tokens, rank.requests(users)))

    fullest = min(ranks, key=lambda rank: rank.pool(case) - buffer_bytes(rank))
    loads = all(rank.pool(case) >= 0 for rank in ranks)
    longest = max_context_tokens(ranks, 1, case) if loads else 0
    report = fullest.engine.report(pools(ranks, case), fullest.deployment, workload, longest)
    runtime = (item for item in fullest.items if item.kind is Kind.RUNTIME and item.name != OUTSIDE)
    return Left(
        case=case,
        runtime_bytes=case.of(runtime) + buffer_bytes(fullest),
        room_bytes=fullest.pool(case) - buffer_bytes(fullest),
        pool_tokens=None if report is None else report.pool_tokens,
        max_concurrency=None if report is None else report.max_concurrency,
        one_user_tokens=longest_context(*asked, 1, case),
        max_context_tokens=longest_context(*asked, users, case),
        max_users=max_users(ranks, tokens, case) if loads else 0,
    )
