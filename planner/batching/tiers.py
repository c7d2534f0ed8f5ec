"""Host memory and disk for evicted caches, as the simulator fills and empties them."""

from dataclasses import dataclass

from planner.batching.server import Tier
from planner.batching.step_time import TICKS_PER_S

_ENDLESS = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class TierUse:
    """How often a tier took an evicted cache, and the most blocks that it held at once."""

    name: str
    evictions: int
    peak_blocks: int
    blocks: int | None


class TierPool:
    """The free blocks of one tier, and the ticks that a token takes on its way there or back."""

    def __init__(self, tier: Tier) -> None:
        self.tier = tier
        self.copy_ticks = round(tier.copy_s_per_token * TICKS_PER_S)
        self.size = self.free = self.least_free = _ENDLESS if tier.blocks is None else tier.blocks
        self.evictions = 0

    def take(self, blocks: int) -> None:
        """One cache comes in; there is room for it."""
        self.free -= blocks
        self.evictions += 1
        self.least_free = min(self.least_free, self.free)

    def use(self) -> TierUse:
        return TierUse(
            name=self.tier.name,
            evictions=self.evictions,
            peak_blocks=self.size - self.least_free,
            blocks=self.tier.blocks,
        )
