"""How many of the users are decoded in one step: as many as the engine runs at once. The rest wait their turn."""

from planner.deployment import Deployment
from planner.engines import find_engine
from planner.engines.base import Limit
from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AtOnce:
    """*asked* users of one data-parallel rank, and the engine's own *limit*; ``None``: it sets none.

    >>> AtOnce(asked=8, limit=Limit(setting="max_num_seqs", value=2)).words
    '2 of 8 users at once (max_num_seqs = 2), the other 6 wait'
    """

    asked: int
    limit: Limit | None = None

    @property
    def users(self) -> int:
        """Those who are decoded together."""
        return self.asked - self.waiting

    @property
    def waiting(self) -> int:
        """Those who wait for one of them to end."""
        return 0 if self.limit is None or self.limit.value is None else max(0, self.asked - self.limit.value)

    @property
    def words(self) -> str:
        """That some wait, and why; empty where nobody does."""
        if not self.waiting:
            return ""
        others = f"the other {self.waiting:,} wait" if self.waiting > 1 else "the other one waits"
        return f"{self.users:,} of {self.asked:,} users at once ({self.setting}), {others}"

    @property
    def setting(self) -> str:
        """``max_num_seqs = 2``; empty where nothing sets a limit."""
        if self.limit is None or self.limit.value is None:
            return ""
        return f"{self.limit.setting} = {self.limit.value:,}"

    def most(self, memory: int | None) -> int | None:
        """The most who can be decoded together where memory holds *memory*; ``None`` for no limit in either."""
        limit = None if self.limit is None else self.limit.value
        return min((number for number in (memory, limit) if number is not None), default=None)

    def ends(self, memory: int | None) -> str:
        """What sets that number: ``memory``, or the setting where it is the lower of the two."""
        most = self.most(memory)
        return "memory" if self.limit is None or most is None or most == memory else self.limit.setting


def at_once(deployment: Deployment, users: int) -> AtOnce:
    """*users* of one data-parallel rank under the settings of *deployment*.

    A limit that a plan raises to its users is one only where somebody set it.
    """
    limit = find_engine(deployment.engine).limits(deployment).requests
    if limit is not None and limit.follows_users and limit.setting not in deployment.settings.given:
        limit = None
    return AtOnce(asked=users, limit=limit)
