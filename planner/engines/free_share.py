"""Engines that load everything else first and give their cache a share of what is free then, in blocks of tokens."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from planner.architecture import Architecture, LatentAttention, Layer, Mixer, Recurrence, SharedCache, distinct_layers
from planner.deployment import Deployment, Workload
from planner.engines.base import EngineReport, Limit, PerRequest, Pool, Rank, ServerLimits
from planner.engines.division import check_division
from planner.engines.refusals import check_settings
from planner.engines.split import pipeline_ranks
from planner.errors import PlannerError
from planner.kv_cache import KVCacheSpec
from planner.line_item import Basis, Kind, LineItem
from planner.units import GIB, format_bytes


class FreeShare(PerRequest):
    """Blocks that span all layers of a rank; every layer keeps every token.

        pool = share · (memory − weights − runtime),  blocks = pool / (block · bytes of a token)

    An engine says what a token takes in one layer, how long a block is, and what caps their number. *title* is what
    it is called, *share_setting* the option for its share, *block_setting* that for a block, *runtime_name* its one
    item beside weights and cache.
    """

    title: str
    share_setting: str
    block_setting: str
    runtime_name: str
    cache_basis = Basis.RULE
    follows_card = True

    def check(self, deployment: Deployment) -> None:
        """Refuses what the engine has no way to do."""
        raise NotImplementedError

    def layer_token_bytes(self, mixer: Mixer, deployment: Deployment) -> int:
        """Bytes of one token in one attention layer of one rank."""
        raise NotImplementedError

    def layer_state_bytes(self, mixer: Recurrence, deployment: Deployment) -> int:
        """Bytes that one layer of one rank keeps of a request, whatever its length."""
        raise unknown_cache(self.title, mixer)

    def block_tokens(self, deployment: Deployment) -> int:
        """Tokens of one block."""
        raise NotImplementedError

    def most_blocks(self, deployment: Deployment) -> int | None:
        """What settings cap the number of blocks at, ``None`` if none does."""
        raise NotImplementedError

    def set_blocks(self, deployment: Deployment) -> int | None:
        """The number of blocks itself, where a setting gives it whatever is free."""
        return None

    def set_pool_bytes(self, rank: Rank, deployment: Deployment) -> int | None:
        blocks = self.set_blocks(deployment)
        return None if blocks is None else blocks * self.block_bytes(rank, deployment)

    def share(self, deployment: Deployment) -> float:
        """The part of what is free that the cache gets."""
        return deployment.settings.number(self.share_setting)

    def rounds_up(self, deployment: Deployment) -> bool:
        """Whether the last block may exceed the share."""
        return False

    def batch(self, deployment: Deployment) -> int:
        """Requests that run at once."""
        raise NotImplementedError

    def limits(self, deployment: Deployment) -> ServerLimits:
        return ServerLimits(
            requests=Limit(setting="max_batch_size", value=self.batch(deployment)),
            block_tokens=Limit(setting=self.block_setting, value=self.block_tokens(deployment)),
        )

    def assumed_item(self, spread: Mapping[str, float], source: str) -> LineItem:
        """What is gone before the cache, as expected and from low to high; *spread* is in GiB."""
        return LineItem(
            name=self.runtime_name,
            kind=Kind.RUNTIME,
            bytes=round(spread["expected"] * GIB),
            low_bytes=round(spread["low"] * GIB),
            high_bytes=round(spread["high"] * GIB),
            basis=Basis.ASSUMED,
            source=source,
        )

    def ranks(self, architecture: Architecture, deployment: Deployment) -> tuple[Rank, ...]:
        self.check(deployment)
        check_settings(architecture, deployment, self.title)
        check_division(architecture, deployment, self.title)
        return pipeline_ranks(architecture, deployment)

    def cache_specs(self, rank: Rank, deployment: Deployment) -> tuple[KVCacheSpec, ...]:
        block, size = self.block_tokens(deployment), self._token_bytes(rank.layers, deployment)
        state = KVCacheSpec(fixed_bytes=self._state_bytes(rank.layers, deployment))
        blocks = KVCacheSpec(bytes_per_entry=block * size, tokens_per_entry=block)
        return tuple(spec for spec in (blocks, state) if spec.bytes_for(1))

    def pool_bytes(self, rank: Rank, deployment: Deployment, memory_bytes: int, taken_bytes: int) -> int:
        """Whole blocks in the share of what *taken_bytes* leave; what they leave itself where that is nothing."""
        free_bytes = memory_bytes - taken_bytes
        size = self.block_bytes(rank, deployment)
        if free_bytes <= 0 or not size:
            return free_bytes
        shared = self.share(deployment) * free_bytes / size
        most = self.most_blocks(deployment)
        blocks = ceil(shared) if self.rounds_up(deployment) else int(shared)
        return size * (blocks if most is None else min(blocks, most))

    def pool_rule(self, deployment: Deployment) -> str:
        if self.set_blocks(deployment) is not None:
            return f"{self.share_setting} is the number of blocks itself; the rest is not used"
        if self.most_blocks(deployment) is not None:
            return "settings cap the pool; the rest is not used"
        return f"{self.share_setting} {self.share(deployment):g} of what is free after loading; the rest is not used"

    def report(
        self, pools: Sequence[Pool], deployment: Deployment, workload: Workload, longest_start_tokens: int | None
    ) -> EngineReport | None:
        """Blocks of the smallest rank and the tokens in them; ``None`` for a model that keeps nothing."""
        starts = []
        for pool in pools:
            if size := self.block_bytes(pool.rank, deployment):
                state = self._state_bytes(pool.rank.layers, deployment)
                starts.append((max(0, pool.pool_bytes - state) // size, pool.pool_bytes, size, state))
        if not starts:
            return None
        blocks, room_bytes, size, state = min(starts)
        short_bytes, stated = max(0, -room_bytes), self.set_blocks(deployment)
        if stated is not None:
            blocks, room_bytes = stated, stated * size
        block = self.block_tokens(deployment)
        per_request = -(-workload.context_tokens // block)
        return EngineReport(
            version=deployment.settings.known,
            pool_bytes=room_bytes,
            pool_tokens=blocks * block,
            max_concurrency=min((blocks + state / size) / (per_request + state / size), self.batch(deployment)),
            longest_start_tokens=longest_start_tokens,
            num_blocks=blocks,
            block_size=block,
            blocks_per_request=per_request,
            groups=tuple(self._groups(blocks, state, pools[0].rank, deployment)),
            refusals=tuple(self._refusals(blocks, room_bytes, short_bytes)),
            notes=tuple(self._notes(blocks * block, deployment, workload)),
        )

    def _groups(self, blocks: int, state_bytes: int, rank: Rank, deployment: Deployment) -> Iterator[str]:
        layers = sum(
            count
            for layer, count in distinct_layers(rank.layers)
            if any(not isinstance(mixer, Recurrence) for mixer in layer.mixers)
        )
        yield f"{blocks:,} blocks of {self.block_tokens(deployment):,} tokens in {layers:,} layers"
        if state_bytes:
            yield f"a state of {format_bytes(state_bytes)} for each request, in the same pool"

    def _refusals(self, blocks: int, room_bytes: int, short_bytes: int) -> Iterator[str]:
        if short_bytes and room_bytes > 0:
            yield (
                f"{self.title} would run out of memory: a cache of {format_bytes(room_bytes)} is "
                f"{format_bytes(short_bytes)} more than weights and runtime leave."
            )
        elif blocks <= 0:
            yield (
                f"{self.title} would refuse to start: weights and runtime leave {format_bytes(room_bytes)} for the "
                "cache; take a smaller format, a smaller batch or more cards."
            )

    def _notes(self, pool_tokens: int, deployment: Deployment, workload: Workload) -> Iterator[str]:
        settings = deployment.settings
        device = deployment.device
        if device.vendor and device.vendor not in settings.rule("vendors"):
            yield f"{self.title} does not run on {device.title}, as it is counted here."
        if 0 < pool_tokens < workload.context_tokens:
            yield f"{self.title} would start all the same, and cut every request off at {pool_tokens:,} tokens."

    def block_bytes(self, rank: Rank, deployment: Deployment) -> int:
        """What a block costs in all layers of *rank*."""
        return self.block_tokens(deployment) * self._token_bytes(rank.layers, deployment)

    def _token_bytes(self, layers: tuple[Layer, ...], deployment: Deployment) -> int:
        return sum(
            count * self.layer_token_bytes(mixer, deployment)
            for layer, count in distinct_layers(layers)
            for mixer in layer.mixers
            if not isinstance(mixer, SharedCache | Recurrence)
        )

    def _state_bytes(self, layers: tuple[Layer, ...], deployment: Deployment) -> int:
        return sum(
            count * self.layer_state_bytes(mixer, deployment)
            for layer, count in distinct_layers(layers)
            for mixer in layer.mixers
            if isinstance(mixer, Recurrence)
        )


def unknown_cache(title: str, mixer: Mixer, instead: str = "plan with engine minimum or transformers") -> PlannerError:
    """The refusal of a cache whose arithmetic is not known for the engine called *title*."""
    what = "latent attention" if isinstance(mixer, LatentAttention) else f"a {type(mixer).__name__} layer"
    return PlannerError(f"How {title} keeps the cache of {what} is not known here: {instead}.")
