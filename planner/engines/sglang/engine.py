"""The SGLang engine as the planner asks it."""

from collections.abc import Sequence
from math import ceil

from planner.architecture import Architecture, LatentAttention, Layer
from planner.deployment import Deployment, Workload
from planner.engines.base import EngineReport, Limit, PerRequest, Pool, Rank, ServerLimits
from planner.engines.division import check_division
from planner.engines.pools import SeparatePools
from planner.engines.refusals import check_settings
from planner.engines.sglang.attention import check_attention
from planner.engines.sglang.cells import SglangRank, own_rank, pools, request_specs
from planner.engines.sglang.fraction import Model, kernels_factor, static_fraction
from planner.engines.sglang.options import card_row, check, options, size_mib
from planner.engines.sglang.report import report
from planner.engines.sglang.runtime import context_bytes, context_item, loaded_item, reserved_items
from planner.engines.sglang.sizes import with_own_caches
from planner.engines.split import pipeline_ranks, with_padded_words
from planner.errors import PlannerError
from planner.kv_cache import KVCacheSpec
from planner.line_item import Basis, LineItem
from planner.shares import attends_apart
from planner.units import format_bytes

WHOLE_PROMPTS = -1
"""``chunked_prefill_size`` with which prompts are not cut."""


class Sglang(SeparatePools, PerRequest):
    """SGLang: pools of tokens, windows and states in a static share of the card, by version."""

    name = "sglang"
    cache_basis = Basis.RULE
    follows_card = True

    def ranks(self, architecture: Architecture, deployment: Deployment) -> tuple[SglangRank, ...]:
        """Pipeline stages; the layers that draft are the last stage's, where this version counts them."""
        check(deployment)
        check_settings(architecture, deployment, "SGLang")
        check_attention(architecture, deployment)
        check_division(architecture, deployment, "SGLang")
        model = _model(architecture)
        drafts: tuple[Layer, ...] = ()
        if options(deployment).drafts_with_mtp:
            if not architecture.mtp_layers:
                raise PlannerError(
                    f"{architecture.title} has no layers for multi-token prediction, and other drafts are not counted "
                    "here: leave speculative_algorithm out, or set it to ngram."
                )
            drafts = architecture.mtp_layers if deployment.settings.rule("draft_counted") else ()
        words, multiple = architecture.vocab_size, deployment.settings.rule("vocabulary_multiple")
        stages = tuple(
            with_padded_words(rank, words, multiple)
            for rank in pipeline_ranks(with_own_caches(architecture), deployment)
        )
        return tuple(
            SglangRank(
                model=model,
                layers=stage.layers + (drafts if stage is stages[-1] else ()),
                draft_layers=len(drafts) if stage is stages[-1] else 0,
                tensors=stage.tensors,
                towers=stage.towers,
            )
            for stage in stages
        )

    def cache_specs(self, rank: Rank, deployment: Deployment) -> tuple[KVCacheSpec, ...]:
        return request_specs(pools(own_rank(rank), deployment), deployment)

    def runtime_items(self, architecture: Architecture, deployment: Deployment) -> tuple[LineItem, ...]:
        return (context_item(deployment), loaded_item(deployment))

    def limits(self, deployment: Deployment) -> ServerLimits:
        """Prompts in chunks of their own, by the card where nothing is set; the pool decides how many requests.

        With data-parallel attention each rank has its part of a chunk.
        """
        settings = deployment.settings
        card = card_row(settings, size_mib(deployment)) or {}
        asked = settings.integer("chunked_prefill_size")
        chunk = card.get("tokens", WHOLE_PROMPTS) if asked is None else asked or WHOLE_PROMPTS
        if chunk != WHOLE_PROMPTS and attends_apart(deployment):
            chunk //= deployment.data_parallel
        return ServerLimits(
            requests=Limit(setting="max_running_requests", value=options(deployment).max_running_requests),
            step_tokens=Limit(setting="chunked_prefill_size", value=None if chunk == WHOLE_PROMPTS else chunk),
            block_tokens=Limit(setting="page_size", value=settings.integer("page_size")),
            prompts_alone=True,
        )

    def reserved_items(self, rank: Rank, deployment: Deployment) -> tuple[LineItem, ...]:
        return reserved_items(own_rank(rank), deployment)

    def pool_bytes(self, rank: Rank, deployment: Deployment, memory_bytes: int, taken_bytes: int) -> int:
        """What is free after loading, less the part of what was free before that is not static.

            pool = free after − (1 − mem_fraction_static) · free before

        Source: python/sglang/srt/model_executor/model_runner.py, profile_max_num_token.
        """
        own = own_rank(rank)
        free_bytes = memory_bytes - (context_bytes(deployment) if deployment.overhead_bytes is None else 0)
        outside_bytes = ceil((1 - static_fraction(own.model, deployment)) * free_bytes)
        left_bytes = memory_bytes - taken_bytes - outside_bytes
        cap, found = deployment.settings.integer("max_total_tokens"), pools(own, deployment)
        if cap is None or found.state_share:
            return left_bytes
        return min(left_bytes, ceil(cap * found.token_bytes))

    def pool_rule(self, deployment: Deployment) -> str:
        settings, card = deployment.settings, format_bytes(deployment.device.memory_bytes)
        if settings.integer("max_total_tokens") is not None:
            return "max_total_tokens caps the pool; activations and CUDA graphs live in the rest"
        stated = settings.values["mem_fraction_static"]
        share = "as SGLang chooses it," if stated is None else f"{stated:g}"
        return f"mem_fraction_static {share} of {card}; activations and CUDA graphs live in the rest"

    def report(
        self, pools: Sequence[Pool], deployment: Deployment, workload: Workload, longest_start_tokens: int | None
    ) -> EngineReport | None:
        return report(pools, deployment, workload, longest_start_tokens)


def asked_share(architecture: Architecture, deployment: Deployment, printed: float) -> float:
    """``mem_fraction_static`` as it was asked for, of what ``server_args`` shows: some releases show it less a part."""
    if not deployment.settings.rule("kernels_fraction").get("printed"):
        return printed
    asked = printed / kernels_factor(_model(architecture), deployment)
    return asked if asked < 1 else printed


def _model(architecture: Architecture) -> Model:
    latent = [each for layer in architecture.layers for each in layer.mixers if isinstance(each, LatentAttention)]
    return Model(
        model_type=architecture.model_type,
        is_latent=bool(latent),
        is_sparse=any(mixer.index_head_dim for mixer in latent),
        tower=next((tower for tower in architecture.towers if tower.kind == "vision"), None),
        latent_heads=max((mixer.num_attention_heads for mixer in latent), default=0),
        longest_tokens=architecture.max_position_embeddings,
    )
