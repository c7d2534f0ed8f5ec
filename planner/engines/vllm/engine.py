"""The vLLM engine as the planner asks it."""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from planner.architecture import Architecture
from planner.deployment import Deployment, Workload
from planner.engines.base import EngineReport, Limit, PerRequest, Pool, Rank, ServerLimits
from planner.engines.division import check_division
from planner.engines.refusals import check_settings
from planner.engines.split import pipeline_ranks, with_padded_words
from planner.engines.vllm.groups import request_specs
from planner.engines.vllm.offload import offloaded
from planner.engines.vllm.options import check, chunks_unless_long, options, with_whole_prompts
from planner.engines.vllm.pages import in_model_format
from planner.engines.vllm.report import check_stated_pool, null_block_bytes, report, stated_pool_bytes
from planner.engines.vllm.runtime import runtime_items
from planner.errors import PlannerError
from planner.kv_cache import KVCacheSpec
from planner.line_item import Basis, Kind, LineItem
from planner.units import GIB, format_bytes


class Vllm(PerRequest):
    """vLLM: blocks for groups of layers in a share of the card, by version."""

    name = "vllm"
    cache_basis = Basis.RULE
    follows_card = True
    counts_what_is_used = False

    def follow(self, architecture: Architecture, deployment: Deployment, context_tokens: int) -> Deployment:
        return with_whole_prompts(architecture, deployment, context_tokens)

    def ranks(self, architecture: Architecture, deployment: Deployment) -> tuple[Rank, ...]:
        """Pipeline stages; the layers that draft, where the model's own do, are the last stage's."""
        check(deployment)
        chosen = options(deployment)
        step = {"max_num_seqs": chosen.max_num_seqs, "max_num_batched_tokens": chosen.max_num_batched_tokens}
        check_settings(architecture, deployment, "vLLM", step)
        check_division(architecture, deployment, "vLLM")
        ranks = tuple(offloaded(rank, deployment)[0] for rank in self._whole_ranks(architecture, deployment))
        for rank in ranks:
            check_stated_pool(rank, deployment)
        return ranks

    def _whole_ranks(self, architecture: Architecture, deployment: Deployment) -> tuple[Rank, ...]:
        words, multiple = architecture.vocab_size, deployment.settings.rule("vocabulary_multiple")
        stages = pipeline_ranks(architecture, deployment)
        ranks = tuple(with_padded_words(rank, words, multiple) for rank in stages)
        if architecture.model_type in deployment.settings.rule("model_format_states"):
            ranks = tuple(replace(rank, layers=tuple(map(in_model_format, rank.layers))) for rank in ranks)
        if deployment.settings.flag("language_model_only"):
            ranks = tuple(replace(rank, towers=()) for rank in ranks)
        if not options(deployment).drafts_with_mtp:
            return ranks
        if not architecture.mtp_layers:
            raise PlannerError(
                f"{architecture.title} has no layers for multi-token prediction: leave num_speculative_tokens out, or "
                "set speculative_method=ngram."
            )
        return (*ranks[:-1], replace(ranks[-1], layers=ranks[-1].layers + architecture.mtp_layers))

    def cache_specs(self, rank: Rank, deployment: Deployment) -> tuple[KVCacheSpec, ...]:
        return request_specs(rank, deployment)

    def runtime_items(self, architecture: Architecture, deployment: Deployment) -> tuple[LineItem, ...]:
        return runtime_items(architecture, deployment)

    def limits(self, deployment: Deployment) -> ServerLimits:
        """By the card where nothing is set; a version without chunks computes whole prompts."""
        chosen, settings = options(deployment), deployment.settings
        step = chosen.max_num_batched_tokens if chunks_unless_long(settings) else None
        return ServerLimits(
            requests=Limit(setting="max_num_seqs", value=chosen.max_num_seqs),
            step_tokens=Limit(setting="max_num_batched_tokens", value=step),
            block_tokens=Limit(setting="block_size", value=settings.integer("block_size")),
        )

    def host_items(
        self, architecture: Architecture, deployment: Deployment, tokens: int, requests: int
    ) -> tuple[LineItem, ...]:
        """What cpu_offload_gb leaves in main memory, and the first engine's room for caches, of every card."""
        ranks = self._whole_ranks(architecture, deployment)
        cards = deployment.tensor_parallel * deployment.data_parallel
        size = cards * sum(offloaded(rank, deployment)[1] for rank in ranks)
        source = "layers that cpu_offload_gb leaves here, of every card"
        weights = LineItem(name="weights", kind=Kind.WEIGHTS, bytes=size, basis=Basis.EXACT, source=source)
        swap_bytes = deployment.device_count * GIB * deployment.settings.rule("swap_gib")
        source = "swap_space for the caches of requests that give way, for every card"
        swap = LineItem(name="swap space", kind=Kind.CACHE, bytes=swap_bytes, basis=Basis.RULE, source=source)
        return tuple(item for item in (weights, swap) if item.bytes)

    def pool_bytes(self, rank: Rank, deployment: Deployment, memory_bytes: int, taken_bytes: int) -> int:
        """The share of the card less what is taken, and less the block that is never given away.

        Source: vllm/v1/worker/utils.py, request_memory; vllm/v1/worker/gpu_worker.py, determine_available_memory.
        """
        share_bytes = ceil(memory_bytes * deployment.settings.number("gpu_memory_utilization"))
        return share_bytes - taken_bytes - null_block_bytes(rank, deployment)

    def set_pool_bytes(self, rank: Rank, deployment: Deployment) -> int | None:
        size = stated_pool_bytes(rank, deployment)
        return None if size is None else size - null_block_bytes(rank, deployment)

    def pool_rule(self, deployment: Deployment) -> str:
        settings = deployment.settings
        if settings.integer("kv_cache_memory_bytes") is not None:
            return "kv_cache_memory_bytes is the whole pool; the rest is not used"
        if settings.integer("num_gpu_blocks_override") is not None:
            return "num_gpu_blocks_override is the whole pool; the rest is not used"
        memory, share = format_bytes(deployment.device.memory_bytes), settings.number("gpu_memory_utilization")
        graphs = "" if settings.flag("estimate_cudagraphs") else ", CUDA graphs"
        return f"gpu_memory_utilization {share:g} of {memory}; the context{graphs} and other processes live in the rest"

    def report(
        self, pools: Sequence[Pool], deployment: Deployment, workload: Workload, longest_start_tokens: int | None
    ) -> EngineReport | None:
        return report(pools, deployment, workload.context_tokens, longest_start_tokens)
