"""What is asked of a number of cards, and one way to use them as an answer."""

import math

from planner.batching.targets import Target
from planner.batching.trace import Trace
from planner.errors import PlannerError
from planner.records import dataclass
from planner.serving.shape import ShapeWish

MAX_DEVICES = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingQuestion:
    """What is asked of *device_count* cards, beside the model and its storage.

    A replica is as *replica* asks, and else as its engine's settings say.
    *node_devices* share a fate; ``None``: a node is one replica. *think_s* is how long a user reads before asking
    again. *link_bytes_per_s* between replicas: prefill and decode apart are tried as well.
    """

    trace: Trace
    target: Target
    device_count: int = 1
    node_devices: int | None = None
    replica: ShapeWish = ShapeWish()
    think_s: float = 0.0
    link_bytes_per_s: float | None = None

    def __post_init__(self) -> None:
        for name, count in (("device_count", self.device_count), ("node_devices", self.node_devices)):
            if count is not None and not 1 <= count <= MAX_DEVICES:
                raise PlannerError(f"{name} = {count:,} is not possible: give 1 to {MAX_DEVICES:,} cards.")
        if self.node_devices is not None and self.node_devices > self.device_count:
            raise PlannerError(
                f"node_devices = {self.node_devices:,} is not possible: of {self.device_count:,} cards in all so many "
                "cannot fail together."
            )
        if not 0 <= self.think_s <= 1e6:
            raise PlannerError(f"think_s = {self.think_s:g} is not possible: give 0 to 1,000,000 seconds.")
        if self.link_bytes_per_s is not None and not 0 < self.link_bytes_per_s < math.inf:
            raise PlannerError(f"A link of {self.link_bytes_per_s:g} bytes a second is not possible.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingOption:
    """One way to use the cards: *replicas* of *tensor_parallel* each, *prefill_replicas* of them for prompts alone.

    *rate_per_s*: the largest that meets the target, over all replicas; *low* and *high* by the speed model's range.
    *rate_lost_per_s*: the same with one node lost. *users*: at that rate, waiting, answered or reading. *fits*: a
    replica holds the model and the longest request. *first_token_s*, *token_s*: the 95th percentiles there. *limit*:
    what ends it. *is_chance*: at the slow end of that range not even a request alone meets the target, and in the
    middle hardly more than one does, so that no number of such replicas is an answer to a rate. *notes*: which of the
    engine's settings decide, and what the figures do not rest on.
    """

    tensor_parallel: int
    replicas: int
    prefill_replicas: int
    fits: bool
    rate_per_s: float
    rate_low_per_s: float
    rate_high_per_s: float
    rate_lost_per_s: float
    users: int
    users_lost: int
    output_tokens_per_s: float
    first_token_s: float
    token_s: float
    pool_blocks: int | None
    limit: str
    is_chance: bool = False
    notes: tuple[str, ...] = ()

    def replicas_for(self, rate_per_s: float, lost: int = 0) -> int | None:
        """How many replicas take *rate_per_s* within the target when *lost* of them are gone; ``None``: no number does.

        For replicas that do both; apart, whole replicas of each kind are needed.
        """
        if self.rate_per_s == 0 or self.is_chance:
            return None
        return replicas_for(rate_per_s, self.rate_per_s / self.replicas) + lost


def replicas_for(rate_per_s: float, replica_rate_per_s: float) -> int:
    """How many replicas of *replica_rate_per_s* each take *rate_per_s*."""
    return math.ceil(rate_per_s / replica_rate_per_s - 1e-9)


def lost_replicas(question: ServingQuestion, tensor_parallel: int) -> int:
    """How many replicas of *tensor_parallel* cards go with a node."""
    return math.ceil((question.node_devices or tensor_parallel) / tensor_parallel)
