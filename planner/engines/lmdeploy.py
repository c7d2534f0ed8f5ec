"""LMDeploy's TurboMind: blocks of 64 tokens in a share of what weights leave free."""

from planner.architecture import Architecture, Attention, LatentAttention, Mixer, Recurrence
from planner.deployment import Deployment
from planner.engines.base import Rank
from planner.engines.free_share import FreeShare, unknown_cache
from planner.engines.split import heads_on_rank
from planner.errors import PlannerError
from planner.line_item import LineItem

CONV = "conv"
_PLAIN, _SIXTEEN_BIT = 0, 16


class Lmdeploy(FreeShare):
    """LMDeploy (TurboMind): whole blocks in cache_max_entry_count of what is free, by version."""

    name = "lmdeploy"
    title = "LMDeploy"
    share_setting = "cache_max_entry_count"
    block_setting = "cache_block_seq_len"
    runtime_name = "context"

    def check(self, deployment: Deployment) -> None:
        settings = deployment.settings
        if deployment.device_count > deployment.tensor_parallel or deployment.expert_parallel > 1:
            raise PlannerError("TurboMind is planned with --tensor-parallel alone; for more users give --replicas.")
        ranks = deployment.tensor_parallel
        if settings.rule("ranks_power_of_two") and ranks & (ranks - 1):
            raise PlannerError(
                f"LMDeploy {settings.version} refuses tensor_parallel = {ranks}: it must be a power of two."
            )
        key, value = deployment.kv_cache_k.name, deployment.kv_cache_v.name
        known = settings.rule("cache_formats")
        if key != value or key not in known:
            raise PlannerError(
                f"TurboMind keeps its cache in {' or '.join(known)}, or as --set quant_policy=8 or 4 says; {key} and "
                f"{value} were asked."
            )

    def ranks(self, architecture: Architecture, deployment: Deployment) -> tuple[Rank, ...]:
        """Refuses models that TurboMind does not serve: LMDeploy takes its PyTorch engine for these, whatever is asked.

        Source: lmdeploy/turbomind/supported_models.py; lmdeploy/cli/serve.py, autoget_backend.
        """
        settings, kind = deployment.settings, architecture.model_type
        if kind not in settings.rule("models"):
            raise PlannerError(
                f"LMDeploy {settings.version} serves {architecture.title} ({kind}) with its PyTorch engine, not "
                "TurboMind, and its memory is not counted here: plan with engine vllm, sglang or minimum."
            )
        return super().ranks(architecture, deployment)

    def layer_token_bytes(self, mixer: Mixer, deployment: Deployment) -> int:
        """Keys and values of the rank's heads; quantised ones with a 16-bit scale and zero point a head and token.

        A latent vector of 576 is kept once, for keys and values, since 0.12.2. Source:
        src/turbomind/kernels/attention/block.h, Layout.
        """
        match mixer:
            case Attention():
                heads = heads_on_rank(mixer.num_key_value_heads, deployment.tensor_parallel, self.title)
                return heads * (_head_bytes(mixer.head_dim, deployment) + _head_bytes(mixer.v_head_dim, deployment))
            case LatentAttention(window_tokens=None, index_head_dim=0):
                width = mixer.kv_lora_rank + mixer.qk_rope_head_dim
                if width != deployment.settings.rule("shared_latent"):
                    raise unknown_cache(f"LMDeploy {deployment.settings.version}", mixer)
                return _head_bytes(width, deployment)
            case _:
                raise unknown_cache(self.title, mixer)

    def layer_state_bytes(self, mixer: Recurrence, deployment: Deployment) -> int:
        """Convolutions of a kernel's width and recurrent states, both in the weights' 16 bits, of a rank's heads.

        Source: src/turbomind/models/llama/GatedDeltaNetLayer.cc; lmdeploy/turbomind/turbomind.py, state_dtype.
        """
        if not deployment.settings.rule("states_in_pool"):
            raise unknown_cache(f"LMDeploy {deployment.settings.version}", mixer, "ask for 0.15 or later")
        rows = ((-(-state.rows // deployment.tensor_parallel), state) for state in mixer.states)
        return sum(2 * number * (state.columns + (state.name == CONV)) for number, state in rows)

    def block_tokens(self, deployment: Deployment) -> int:
        tokens: int = deployment.settings.values["cache_block_seq_len"]
        return tokens

    def most_blocks(self, deployment: Deployment) -> int | None:
        return None

    def set_blocks(self, deployment: Deployment) -> int | None:
        """From 1 on the "share" is the number of blocks itself, in versions that take one.

        Source: src/turbomind/models/llama/BlockManager.cc.
        """
        entries = self.share(deployment)
        return int(entries) if entries >= 1 else None

    def batch(self, deployment: Deployment) -> int:
        given = deployment.settings.integer("max_batch_size")
        if given is not None:
            return given
        rows = deployment.settings.rule("max_batch_sizes")
        found: int = next(row["requests"] for row in rows if row["device"] in deployment.device.name)
        return found

    def runtime_items(self, architecture: Architecture, deployment: Deployment) -> tuple[LineItem, ...]:
        """What is gone before the cache is allocated; TurboMind's work space comes out of the share it leaves."""
        source = "CUDA context, libraries and communicators: in part an assumption"
        return (self.assumed_item(deployment.settings.rule("context_gib"), source),)


def _head_bytes(width: int, deployment: Deployment) -> int:
    """One head's key or value of one token."""
    bits = int(deployment.settings.text("quant_policy") or 0)
    if bits == _PLAIN:
        return deployment.kv_cache_k.bytes_for(width)
    return -(-width * bits // 8) + 2 * _SIXTEEN_BIT // 8
