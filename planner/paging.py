"""A pool of cache blocks: what a request takes, what paging wastes, and what reserving the longest answer would.

Source: Kwon et al., arXiv:2309.06180, sections 3.1 and 4.
"""

from dataclasses import dataclass

_ENDLESS = 2**62


def blocks_for(tokens: int, block_tokens: int) -> int:
    """Blocks that hold *tokens*; the last one may be part empty.

    >>> blocks_for(33, 16)
    3
    """
    return -(-tokens // block_tokens)


def block_steps(first_tokens: int, last_tokens: int, block_tokens: int) -> int:
    """Blocks held, added up over a request's steps as it grows from *first_tokens* to *last_tokens*, both included.

    >>> block_steps(15, 18, 16), 1 + 1 + 2 + 2
    (6, 6)
    """
    return _blocks_up_to(last_tokens, block_tokens) - _blocks_up_to(first_tokens - 1, block_tokens)


def token_steps(first_tokens: int, last_tokens: int) -> int:
    """Tokens held, added up in the same way."""
    return (first_tokens + last_tokens) * (last_tokens - first_tokens + 1) // 2


def mean_last_block_waste(block_tokens: int) -> float:
    """Empty places in the last block when every length is equally likely: (block − 1) / 2.

    >>> mean_last_block_waste(16)
    7.5
    """
    return (block_tokens - 1) / 2


def _blocks_up_to(tokens: int, block_tokens: int) -> int:
    """Σ ceil(n / block) for n = 1 … tokens."""
    full, rest = divmod(tokens, block_tokens)
    return block_tokens * full * (full + 1) // 2 + rest * (full + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUse:
    """How well a pool's places were used, averaged over the decode steps of all requests.

    *useful_share*: tokens held ÷ places of the blocks held. *reserved_share*: the same had each request reserved
    *reserved_tokens* from its start, as servers without paging do. *saved_block_share*: how many fewer blocks were held
    because requests share those of their common beginning.
    """

    block_tokens: int
    reserved_tokens: int
    useful_share: float
    reserved_share: float
    peak_blocks: int
    pool_blocks: int | None
    shared_blocks: int
    saved_block_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedPaging:
    """Shares of the places that held a token: servers that reserve from *low* to *high*, and one that pages."""

    reserved_low: float
    reserved_high: float
    paged: float
    source: str


class BlockPool:
    """The blocks of a server whose requests all grow by a token a step, for as many steps as nothing else happens.

    A request takes a block when the last one is full. It is enough to know how many requests are at which place of
    their last block: *phases* counts them by (tokens − step) mod block, which does not change while they grow.
    """

    def __init__(self, block_tokens: int, pool_blocks: int | None, shared_blocks: int) -> None:
        self.block_tokens, self.pool_blocks, self.shared_blocks = block_tokens, pool_blocks, shared_blocks
        self.size = (_ENDLESS if pool_blocks is None else pool_blocks) - shared_blocks
        self.free = self.least_free = self.size
        self.growing = 0
        self.phases = [0] * block_tokens
        self._steps = self._token_steps = self._block_steps = 0

    def needed(self, step: int, steps: int) -> int:
        """Blocks that the growing requests take in *steps* steps after *step*."""
        start = -step % self.block_tokens
        if steps == 1:  # asked before every step
            return self.phases[start]
        cycles, rest = divmod(steps, self.block_tokens)
        total = cycles * self.growing
        for offset in range(rest):
            total += self.phases[start - offset]  # a negative index goes round, as the places do
        return total

    def take(self, blocks: int) -> None:
        """Takes *blocks* that are free."""
        self.free -= blocks
        if self.free < self.least_free:
            self.least_free = self.free

    def grow(self, tokens: int, step: int) -> None:
        """A request that holds the blocks of its *tokens* grows from *step* on."""
        self.phases[(tokens - step) % self.block_tokens] += 1
        self.growing += 1

    def release(self, before: int, tokens: int, step: int) -> None:
        """A request that grew from *before* to *tokens* gives all its blocks back."""
        self.phases[(tokens - step) % self.block_tokens] -= 1
        self.growing -= 1
        self.free += -(-tokens // self.block_tokens)
        self._steps += tokens - before
        self._token_steps += token_steps(before + 1, tokens)
        self._block_steps += block_steps(before + 1, tokens, self.block_tokens)

    def use(self, reserved_tokens: int) -> PoolUse:
        """What became of the pool, once everybody has left."""
        held, shared = self._block_steps, self._steps * self.shared_blocks
        return PoolUse(
            block_tokens=self.block_tokens,
            reserved_tokens=reserved_tokens,
            useful_share=self._token_steps / (held * self.block_tokens) if held else 1.0,
            reserved_share=self._token_steps / (self._steps * reserved_tokens) if held else 1.0,
            peak_blocks=self.size - self.least_free + self.shared_blocks,
            pool_blocks=self.pool_blocks,
            shared_blocks=self.shared_blocks,
            saved_block_share=shared / (held + shared) if held else 0.0,
        )
