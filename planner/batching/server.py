"""How a server schedules its requests."""

from dataclasses import dataclass
from enum import StrEnum

from planner.batching.trace import Trace, longest_tokens
from planner.errors import PlannerError
from planner.paging import blocks_for

MAX_SLOTS = 2**16
MAX_BLOCK_TOKENS = 2**20
MAX_BLOCKS = 2**50


def check_slots(slots: int) -> None:
    """Raises PlannerError for what is no number of slots."""
    if not 1 <= slots <= MAX_SLOTS:
        raise PlannerError(f"slots = {slots:,} is not possible: a server has 1 to {MAX_SLOTS:,} slots.")


class Schedule(StrEnum):
    """Who runs together, and when somebody new may join."""

    STATIC = "static"
    """A batch starts together and ends together: every slot waits for the longest answer."""
    CONTINUOUS = "continuous"
    """A slot is filled at the next step; a new prompt is computed whole in that step."""
    CHUNKED = "chunked"
    """As continuous, with at most *max_num_batched_tokens* tokens a step: long prompts come in chunks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """Memory beside the pool for evicted caches: *copy_s_per_token* each way, *blocks* in all, ``None`` without end."""

    name: str
    copy_s_per_token: float
    blocks: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.copy_s_per_token <= 1:
            raise PlannerError(f"Copying a token to {self.name} must take between 0 and 1 s.")
        if self.blocks is not None and not 0 <= self.blocks <= MAX_BLOCKS:
            raise PlannerError(f"{self.blocks:,} blocks of {self.name} are not possible: give 0 to {MAX_BLOCKS:,}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """*slots* requests run at once, their caches in *pool_blocks* blocks of *block_tokens*; ``None``: all they need.

    *wait_to_fill*: a static batch waits until every slot has a request or no more will come. *shared_prefix_tokens*:
    the beginning that all prompts have in common; its whole blocks are kept and computed once. *tiers*, host memory
    first and then disk: an evicted cache is copied to the first with room for it and back; without any it is dropped
    and computed again. *reserved_tokens*: what a server without paging would reserve; ``None``: the longest
    request of the trace.
    """

    schedule: Schedule
    slots: int
    block_tokens: int = 16
    pool_blocks: int | None = None
    max_num_batched_tokens: int | None = None
    wait_to_fill: bool = False
    shared_prefix_tokens: int = 0
    tiers: tuple[Tier, ...] = ()
    reserved_tokens: int | None = None

    def __post_init__(self) -> None:
        check_slots(self.slots)
        if not 1 <= self.block_tokens <= MAX_BLOCK_TOKENS:
            raise PlannerError(f"Blocks must be of 1 to {MAX_BLOCK_TOKENS:,} tokens, not {self.block_tokens:,}.")
        if self.shared_prefix_tokens < 0 or (self.reserved_tokens is not None and self.reserved_tokens < 1):
            raise PlannerError("A shared prefix has 0 tokens or more, a reservation at least one.")
        budget = self.max_num_batched_tokens
        if (budget is not None) != (self.schedule is Schedule.CHUNKED):
            raise PlannerError("max_num_batched_tokens goes with the schedule 'chunked', and 'chunked' needs it.")
        if budget is not None and budget < self.slots:
            raise PlannerError(
                f"max_num_batched_tokens = {budget:,} is less than the {self.slots:,} slots: "
                "a step must have room for one token of each."
            )
        if self.wait_to_fill and self.schedule is not Schedule.STATIC:
            raise PlannerError("Only a static batch can wait to fill.")

    @property
    def shared_blocks(self) -> int:
        """Whole blocks of the common beginning."""
        return self.shared_prefix_tokens // self.block_tokens

    @property
    def shared_tokens(self) -> int:
        """Tokens that are in the shared blocks."""
        return self.shared_blocks * self.block_tokens

    def own_blocks(self, tokens: int) -> int:
        """Blocks of a request's own that *tokens* of it need, the shared ones left out."""
        return blocks_for(max(0, tokens - self.shared_tokens), self.block_tokens)

    def check(self, trace: Trace) -> None:
        """Raises PlannerError when the pool is too small for a single request, or a prompt shorter than its prefix."""
        if min(trace.prompt_tokens) <= self.shared_tokens and self.shared_tokens:
            raise PlannerError(
                f"Every prompt must be longer than the {self.shared_tokens:,} tokens in shared blocks; "
                f"the shortest has {min(trace.prompt_tokens):,}."
            )
        longest = longest_tokens(trace)
        if self.reserved_tokens is not None and self.reserved_tokens < longest:
            raise PlannerError(
                f"reserved_tokens = {self.reserved_tokens:,} is less than the longest request of {longest:,} tokens: a "
                "server without paging reserves at least so many for each."
            )
        if self.pool_blocks is None:
            return
        needed = self.shared_blocks + self.own_blocks(longest)
        if needed > self.pool_blocks:
            raise PlannerError(
                f"The longest request of {longest:,} tokens needs {needed:,} blocks; the pool has {self.pool_blocks:,}."
            )
