"""The longest context, where what an engine takes for itself grows with the longest request that is asked of it."""

from planner.architecture import Architecture
from planner.budget import Case, RankBudget, holds, prepare
from planner.capacity import max_context_tokens
from planner.deployment import MAX_TOKENS, Deployment
from planner.engines import find_engine
from planner.search import largest


def longest_context(
    architecture: Architecture,
    deployment: Deployment,
    ranks: tuple[RankBudget, ...],
    users: int = 1,
    case: Case = Case.EXPECTED,
) -> int | None:
    """The longest context that *users* requests can each have; ``None`` when memory sets no limit.

    *ranks* are prepared from *deployment*, which follows the context that is asked: another one is asked of its own.
    """
    engine = find_engine(deployment.engine)

    def with_longest(tokens: int) -> Deployment:
        return engine.follow(architecture, deployment, tokens)

    if with_longest(MAX_TOKENS) == with_longest(1):
        loads = all(rank.pool(case) >= 0 for rank in ranks)
        return max_context_tokens(ranks, users, case) if loads else 0
    # A request that is long enough to be computed in steps takes less than a shorter one that is not.
    stepped = prepare(architecture, with_longest(MAX_TOKENS))
    found = max_context_tokens(stepped, users, case)
    if found is None or with_longest(found) == with_longest(MAX_TOKENS):
        return found
    return largest(lambda tokens: holds(prepare(architecture, with_longest(tokens)), tokens, users, case), MAX_TOKENS)
