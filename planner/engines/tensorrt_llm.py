"""TensorRT-LLM: blocks of tokens in a share of what engine and buffers leave free."""

from collections.abc import Iterator
from dataclasses import replace

from planner.architecture import Architecture, Attention, LatentAttention, Mixer
from planner.deployment import Deployment, Workload
from planner.engines.base import Limit, ServerLimits
from planner.engines.free_share import FreeShare, unknown_cache
from planner.engines.split import heads_on_rank
from planner.errors import PlannerError
from planner.line_item import LineItem
from planner.units import GIB, MIB


class TensorrtLlm(FreeShare):
    """TensorRT-LLM: whole blocks in free_gpu_memory_fraction of what is free, by version."""

    name = "tensorrt_llm"
    title = "TensorRT-LLM"
    share_setting = "free_gpu_memory_fraction"
    block_setting = "tokens_per_block"
    runtime_name = "context and buffers"

    def check(self, deployment: Deployment) -> None:
        settings = deployment.settings
        known = settings.rule("cache_formats")
        key, value = deployment.kv_cache_k.name, deployment.kv_cache_v.name
        if key != value or key not in known:
            raise PlannerError(
                f"TensorRT-LLM {settings.version} keeps keys and values in one format of: {', '.join(known)}; {key} "
                f"and {value} were asked."
            )
        if deployment.data_parallel > 1 and deployment.tensor_parallel > 1:
            raise PlannerError(
                "TensorRT-LLM has data parallelism of attention alone, one rank a device: leave --tensor-parallel out, "
                "or give --replicas."
            )

    def layer_token_bytes(self, mixer: Mixer, deployment: Deployment) -> int:
        """Keys and values of the rank's heads; a latent vector whole on every rank, and an indexer's key beside it.

        Source: tensorrt_llm/_torch/pyexecutor/resource_manager.py, get_cache_size_per_token. Layers with a window have
        as many blocks as the others: cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp.
        """
        number_format = deployment.kv_cache_k
        match mixer:
            case Attention():
                heads = heads_on_rank(mixer.num_key_value_heads, deployment.tensor_parallel, self.title)
                return number_format.bytes_for(heads * mixer.head_dim) + number_format.bytes_for(
                    heads * mixer.v_head_dim
                )
            case LatentAttention(window_tokens=None):
                indexer: int = deployment.settings.rule("indexer_token_bytes") if mixer.index_head_dim else 0
                return number_format.bytes_for(mixer.kv_lora_rank + mixer.qk_rope_head_dim) + indexer
            case _:
                raise unknown_cache(self.title, mixer)

    def block_tokens(self, deployment: Deployment) -> int:
        tokens: int = deployment.settings.values["tokens_per_block"]
        return tokens

    def most_blocks(self, deployment: Deployment) -> int | None:
        most, block = deployment.settings.integer("max_tokens"), self.block_tokens(deployment)
        if most is None:
            return None
        return -(-most // block) if self.rounds_up(deployment) else most // block

    def rounds_up(self, deployment: Deployment) -> bool:
        rounds: str = deployment.settings.rule("last_block")
        return rounds == "up"

    def batch(self, deployment: Deployment) -> int:
        requests: int = deployment.settings.values["max_batch_size"]
        return requests

    def limits(self, deployment: Deployment) -> ServerLimits:
        step = Limit(setting="max_num_tokens", value=deployment.settings.values["max_num_tokens"])
        return replace(super().limits(deployment), step_tokens=step)

    def _notes(self, pool_tokens: int, deployment: Deployment, workload: Workload) -> Iterator[str]:
        yield from super()._notes(pool_tokens, deployment, workload)
        settings = deployment.settings
        step = settings.values["max_num_tokens"]
        if settings.rule("whole_prompts") and workload.context_tokens > step:
            yield (
                f"TensorRT-LLM takes prompts of up to max_num_tokens = {step:,} tokens, and longer ones with chunked "
                "prefill alone."
            )

    def runtime_items(self, architecture: Architecture, deployment: Deployment) -> tuple[LineItem, ...]:
        """Everything that is allocated before the cache, beside the weights: buffers of each request among it."""
        source = "CUDA context, execution context, runtime and decoder buffers: public start-ups"
        rule, batch = deployment.settings.rule("buffers_gib"), self.batch(deployment)
        ends = {end: rule[end] + batch * mib * MIB / GIB for end, mib in rule["request_mib"].items()}
        return (self.assumed_item(ends, source),)
