"""What the planner says beforehand about a run of transformers: weights, cache, and the terms of its peak."""

from dataclasses import dataclass, replace

from planner.architecture import Architecture
from planner.budget import RankBudget, prepare
from planner.engines.transformers import Transformers
from planner.inputs.choices import Choices, choose
from planner.line_item import Kind
from planner.speed.rates import Kernels
from planner.speed.work import Model, decode_work, mixed_work, prepare_speed
from planner.weights import parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The planner's ``transformers`` engine for one *architecture* in one format of weights and cache."""

    architecture: Architecture
    rank: RankBudget
    element_bytes: int

    @property
    def weights_bytes(self) -> int:
        return parameters(self.architecture) * self.element_bytes

    @property
    def rank_weights_bytes(self) -> int:
        """Weights of one tensor-parallel rank."""
        return sum(item.bytes for item in self.rank.items if item.kind is Kind.WEIGHTS)

    def cache_bytes(self, batch: int, tokens: int) -> int:
        """Cache of *batch* equal requests in one batch."""
        return Transformers().held_bytes(self.rank.specs, tokens, batch)

    def work(self, requests: int, new_tokens: int, cached_tokens: int) -> tuple[int, int]:
        """Bytes that a pass reads, and its operations; of a prompt the last position alone has logits."""
        model = self._unit_model()
        if new_tokens == 1:
            step = decode_work(model, requests, cached_tokens)
            return round(step.read_bytes), round(step.arithmetic_s)
        prompt = mixed_work(model, 0, 0, new_tokens, cached_tokens)
        return round(prompt.read_bytes), requests * round(prompt.arithmetic_s)

    def _unit_model(self) -> Model:
        """On a device of one byte and one operation a second, whose seconds are bytes and operations."""
        deployment = self.rank.deployment
        device = replace(deployment.device, bandwidth_bytes_per_s=1, fp16_flops_per_s=1)
        return prepare_speed(self.architecture, replace(deployment, device=device), Kernels())


def predict(architecture: Architecture, dtype: str, tensor_parallel: int = 1) -> Prediction:
    """The prediction with weights and cache in *dtype*. Raises PlannerError."""
    choices = Choices(
        model="", memory="1TiB", engine="transformers", weights=dtype, kv_cache=dtype, tensor_parallel=tensor_parallel
    )
    deployment = choose(choices, architecture).deployment
    return Prediction(
        architecture=architecture,
        rank=prepare(architecture, deployment)[0],
        element_bytes=deployment.kv_cache_k.bytes_for(1),
    )
