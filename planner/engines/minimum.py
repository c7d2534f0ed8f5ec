"""The architectural minimum: what any engine must at least hold. Nothing is rounded, padded or reserved."""

from collections.abc import Sequence

from planner.architecture import Architecture
from planner.deployment import MINIMUM, Deployment, Workload
from planner.engines.base import EngineReport, PerRequest, Pool, Rank, WholeCard
from planner.engines.split import pipeline_ranks, split_heads
from planner.kv_cache import KVCacheSpec, model_specs
from planner.line_item import Basis, LineItem


class Minimum(PerRequest, WholeCard):
    """Weights and caches alone; ``overhead_bytes`` states everything else as one figure."""

    name = MINIMUM
    cache_basis = Basis.EXACT
    follows_card = False
    has_runtime_items = False

    def ranks(self, architecture: Architecture, deployment: Deployment) -> tuple[Rank, ...]:
        return pipeline_ranks(architecture, deployment)

    def cache_specs(self, rank: Rank, deployment: Deployment) -> tuple[KVCacheSpec, ...]:
        layers = split_heads(rank.layers, deployment.tensor_parallel)
        return model_specs(layers, deployment.kv_cache_k, deployment.kv_cache_v)

    def runtime_items(self, architecture: Architecture, deployment: Deployment) -> tuple[LineItem, ...]:
        return ()

    def report(
        self, pools: Sequence[Pool], deployment: Deployment, workload: Workload, longest_start_tokens: int | None
    ) -> EngineReport | None:
        return None
