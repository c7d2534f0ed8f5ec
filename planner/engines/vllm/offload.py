"""Weights that vLLM leaves in main memory, where a card reads them over the bus: ``cpu_offload_gb``."""

from dataclasses import replace

from planner.architecture import Layer, Tensor
from planner.deployment import Deployment
from planner.engines.base import Rank
from planner.shares import shares
from planner.units import GIB
from planner.weights import tensor_bytes


def offloaded(rank: Rank, deployment: Deployment) -> tuple[Rank, int]:
    """What stays on a card of *rank*, and the bytes of one card's layers that do not.

    Tensors leave in the order of the layers until cpu_offload_gb are reached, the last of them whole.

    Source: vllm/model_executor/offloader/uva.py, _maybe_offload_to_cpu.
    """
    limit = round(deployment.settings.number("cpu_offload_gb") * GIB)
    if not limit:
        return rank, 0
    shared, moved = shares(deployment), 0
    emptied: dict[int, Layer] = {}
    layers = []
    for layer in rank.layers:
        kept: list[Tensor] = []
        for tensor in layer.tensors:
            if moved >= limit:
                kept.append(tensor)
            else:
                moved += tensor_bytes(tensor, deployment.weights, shared)
        if not kept:
            # Equal layers stay one object.
            layers.append(emptied.setdefault(id(layer), replace(layer, tensors=())))
        else:
            layers.append(layer if len(kept) == len(layer.tensors) else replace(layer, tensors=tuple(kept)))
    return replace(rank, layers=tuple(layers)), moved
