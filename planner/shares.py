"""How the devices of a stage share a model: what each has whole, and between how many a tensor is divided."""

from planner.architecture import Tensor
from planner.deployment import Deployment
from planner.formats import Role
from planner.records import dataclass

FEED_FORWARD = ("mlp.", "feed_forward.", "ffn.", "block_sparse_moe.")
"""How names of a layer's tensors begin that are of its feed-forward part."""
SHARED_EXPERTS = "shared_expert"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Between how many devices attention (*tensor*), dense feed-forward parts and the head (*dense*) and experts that
    every token passes through (*shared_experts*) are divided.

    *experts* devices have whole experts of their own, each of which *expert_parts* devices divide.
    """

    tensor: int = 1
    dense: int = 1
    shared_experts: int = 1
    experts: int = 1
    expert_parts: int = 1

    def parts(self, tensor: Tensor) -> int:
        """Between how many devices one such tensor is divided."""
        if tensor.active >= 0:
            return self.expert_parts
        if tensor.replicated:
            return 1
        if SHARED_EXPERTS in tensor.name:
            return self.shared_experts
        return self.dense if tensor.role is Role.HEAD or tensor.name.startswith(FEED_FORWARD) else self.tensor

    def count(self, tensor: Tensor) -> int:
        """How many of such tensors one device has."""
        return tensor.count if tensor.active < 0 else -(-tensor.count // self.experts)


WHOLE = Shares()


def even(ranks: int) -> Shares:
    """Everything divided between so many *ranks*."""
    return Shares(tensor=ranks, dense=ranks, shared_experts=ranks, expert_parts=ranks)


def attends_apart(deployment: Deployment) -> bool:
    """Whether data-parallel ranks are copies of the attention alone, and share the experts.

    As set (SGLang's ``enable_dp_attention``), as the engine always has it and all do of which no rule is known, or
    because experts are to be shared by more devices than one copy has.
    """
    if deployment.data_parallel == 1:
        return False
    chosen: bool | None = deployment.settings.values.get("enable_dp_attention")
    if chosen is not None:
        return chosen
    return bool(_rule(deployment).get("always")) or deployment.expert_parallel > deployment.tensor_parallel


def shares(deployment: Deployment) -> Shares:
    """By the engine's own rule: all devices of a stage divide the experts, those of data-parallel ranks too where these
    attend apart, and with SGLang dense feed-forward parts and the head as well.

    With vLLM a device has experts that every token passes through whole where there are both kinds of ranks and experts
    are shared. Source: vllm/model_executor/layers/fused_moe/config.py, FusedMoEParallelConfig;
    python/sglang/srt/models/deepseek_v2.py, layers/dp_attention.py.
    """
    tensor, experts = deployment.tensor_parallel, deployment.expert_parallel
    apart, rule = attends_apart(deployment), _rule(deployment)
    every = tensor * deployment.data_parallel if apart else tensor
    dense = every if rule.get("dense") else tensor
    is_whole = bool(rule.get("whole_shared_experts")) and apart and experts > 1 and tensor > 1
    return Shares(
        tensor=tensor,
        dense=dense,
        shared_experts=1 if is_whole else dense,
        experts=experts,
        expert_parts=max(1, every // experts),
    )


def _rule(deployment: Deployment) -> dict[str, bool]:
    found: dict[str, bool] = deployment.settings.rules.get("data_parallel", {"always": True})
    return found
