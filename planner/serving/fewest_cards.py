"""The fewest cards that take a rate of requests, over all ways to split them into replicas."""

from collections.abc import Sequence

from planner.records import dataclass
from planner.serving.question import ServingOption, ServingQuestion, lost_replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class Enough:
    """*replicas* of *tensor_parallel* cards each that take a rate."""

    replicas: int
    tensor_parallel: int

    @property
    def device_count(self) -> int:
        return self.replicas * self.tensor_parallel


def fewest_cards(
    options: Sequence[ServingOption], question: ServingQuestion, rate_per_s: float, *, spare_node: bool = False
) -> Enough | None:
    """The fewest that take *rate_per_s* within the target; ``None``: no number of these replicas does.

    Of replicas that do both; with *spare_node* also when a node is lost.
    """
    found = []
    for option in options:
        lost = lost_replicas(question, option.tensor_parallel) if spare_node else 0
        replicas = None if option.prefill_replicas else option.replicas_for(rate_per_s, lost)
        if replicas is not None:
            found.append(Enough(replicas=replicas, tensor_parallel=option.tensor_parallel))
    return min(found, key=lambda enough: (enough.device_count, enough.tensor_parallel), default=None)
