"""Room for LoRA adapters, which vLLM sets aside when it loads a model: ``enable_lora``."""

from collections.abc import Iterable, Iterator

from planner.architecture import Layer, Tensor
from planner.deployment import Deployment
from planner.formats import Role
from planner.shares import shares
from planner.weights import counted_tensors

_SIXTEEN_BIT_BYTES = 2
_LINEAR = (Role.LINEAR, Role.EXPERT, Role.ROUTER)


def adapter_bytes(layers: Iterable[Layer], tensors: Iterable[Tensor], model_type: str, deployment: Deployment) -> int:
    """Bytes on one rank of max_loras adapters of max_lora_rank for every linear layer.

        A = rank · inputs,  B = outputs · rank

    A layer whose outputs are divided between ranks has its A whole on each, one whose inputs are divided its B, unless
    fully_sharded_loras divides these too. Embedding and head have adapters in some models only, whole on every rank.

    Source: vllm/lora/layers/base_linear.py, fused_moe.py, vocab_parallel_embedding.py, logits_processor.py.
    """
    settings = deployment.settings
    if not settings.flag("enable_lora"):
        return 0
    has_outer = model_type in settings.rule("adapters_of_embedding_and_head")
    outer = list(tensors) if has_outer else []
    widths = sum(count * _widths(tensor, deployment) for tensor, count in counted_tensors(layers, ()))
    widths += sum(tensor.rows + tensor.columns for tensor in _words(outer))
    slots, rank = settings.values["max_loras"], settings.values["max_lora_rank"]
    size: int = slots * rank * widths * _SIXTEEN_BIT_BYTES
    return size


def _widths(tensor: Tensor, deployment: Deployment) -> int:
    """Inputs of A and outputs of B on one rank; 0 for what is no linear layer."""
    if tensor.role not in _LINEAR or tensor.rows <= 1:
        return 0
    shared = shares(deployment)
    inputs, outputs, count = tensor.columns, tensor.rows, shared.count(tensor)
    ranks = 1 if tensor.role is Role.ROUTER else shared.parts(tensor)
    if ranks > 1:
        settings = deployment.settings
        divides_inputs = any(name in tensor.name for name in settings.rule("input_parallel_layers"))
        if divides_inputs or settings.flag("fully_sharded_loras"):
            inputs = -(-inputs // ranks)
        if not divides_inputs or settings.flag("fully_sharded_loras"):
            outputs = -(-outputs // ranks)
    return count * (inputs + outputs)


def _words(tensors: Iterable[Tensor]) -> Iterator[Tensor]:
    """The embedding, and the head, which has an adapter of its own even where it is tied to it."""
    embeddings = [tensor for tensor in tensors if tensor.role is Role.EMBEDDING][:1]
    heads = [tensor for tensor in tensors if tensor.role is Role.HEAD and tensor.rows > 1]
    yield from embeddings
    yield from heads or embeddings
