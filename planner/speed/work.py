"""What one step of a server has to read and compute, counted from the model's own shapes."""

import math

from planner.architecture import Architecture, Layer, SharedCache
from planner.deployment import Deployment
from planner.engines.split import split_heads
from planner.errors import PlannerError
from planner.formats import NumberFormat
from planner.gguf_mixes import as_stored
from planner.kv_cache import KVCacheSpec, bytes_for, layer_specs, merge_specs, state_bytes
from planner.records import dataclass
from planner.shares import shares
from planner.speed.links import Link
from planner.speed.operations import (
    attention_operations,
    expert_operations,
    experts_touched,
    is_big,
    operations_per_prompt_token,
    operations_per_token,
    read_tensors,
)
from planner.speed.rates import Arithmetic, Kernels, arithmetic_of
from planner.weights import tensor_bytes

_EXCHANGES = 2
"""Sums over devices in a layer."""
_LINK_ELEMENT_BYTES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One step's work. *read_s* and *arithmetic_s*: at the full rate of the devices that share it.

    *layers* are passed one after another. *exchange_s*: what exchanges between devices take however little they send;
    *link_s*: what they send, at the full rate of their link. *expert_s*: the part of *arithmetic_s* that is answers'
    own in experts; *expert_row_s*: one row through every expert that is met; *row_s*: one token's arithmetic.
    *headroom*: how many times as fast arithmetic could be at most.
    """

    layers: int
    read_bytes: float
    read_s: float
    arithmetic_s: float
    exchange_s: float = 0.0
    link_s: float = 0.0
    expert_s: float = 0.0
    expert_row_s: float = 0.0
    row_s: float = 0.0
    headroom: float = 1.0

    @property
    def ceiling_s(self) -> float:
        """No step is faster: every byte is read once and every product computed, each at the peak rate."""
        return max(self.read_s, self.arithmetic_s / self.headroom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model on its devices, ready for questions about any batch.

    Tensor-parallel devices work at the same time; pipeline stages take turns, so that their bytes add up. *link* joins
    the former; ``None`` where exchanges are not counted. Without an *arithmetic* rate only one token at a time can be
    timed: it waits for memory.
    """

    architecture: Architecture
    deployment: Deployment
    cache: tuple[KVCacheSpec, ...]
    rewritten_bytes: int
    bandwidth_bytes_per_s: int
    arithmetic: Arithmetic | None
    kernels: Kernels
    link: Link | None


def prepare_speed(
    architecture: Architecture, deployment: Deployment, kernels: Kernels, link: Link | None = None
) -> Model:
    """*kernels* are those of the engine whose speed it is. Raises PlannerError where the bandwidth is not known."""
    architecture = as_stored(architecture, deployment.weights)
    device = deployment.device
    bandwidth = deployment.bandwidth_bytes_per_s or device.bandwidth_bytes_per_s
    if bandwidth is None:
        raise PlannerError(
            f"How fast {device.title} reads its memory is not known, and that decides the speed: give --bandwidth, "
            "such as 80GB/s or 2xDDR5-5600, or a --profile that timed this machine, as 'python -m measure' makes, or "
            "choose a --device from 'kvbudget devices' that has one."
        )
    chosen = deployment.weights.format
    stored = {tensor.stored for tensor, _ in read_tensors(architecture) if is_big(tensor)}
    layers = split_heads(architecture.layers, deployment.tensor_parallel)
    return Model(
        architecture=architecture,
        deployment=deployment,
        cache=read_specs(layers, deployment.kv_cache_k, deployment.kv_cache_v),
        rewritten_bytes=state_bytes(layers, deployment.kv_cache_k),
        bandwidth_bytes_per_s=bandwidth,
        arithmetic=arithmetic_of(device, {chosen} if chosen else stored, kernels),
        kernels=kernels,
        link=link if deployment.tensor_parallel > 1 else None,
    )


def read_specs(
    layers: tuple[Layer, ...], key_format: NumberFormat, value_format: NumberFormat
) -> tuple[KVCacheSpec, ...]:
    """What one request's next token *reads*, as the caches' own rule of growth.

    It differs from what is stored: a layer that shares a cache reads it again, the nearest earlier one of its kind.
    """
    own: dict[str, tuple[KVCacheSpec, ...]] = {}
    last: tuple[KVCacheSpec, ...] = ()
    specs: list[tuple[KVCacheSpec, int]] = []
    for layer in layers:
        read = layer_specs(layer, key_format, value_format)
        if any(isinstance(mixer, SharedCache) for mixer in layer.mixers):
            read = own.get(layer.kind.removeprefix("shared_"), last)
        elif read:
            own[layer.kind] = last = read
        specs += [(spec, 1) for spec in read]
    return merge_specs(specs)


def weight_bytes_read(model: Model, tokens: float) -> float:
    """Bytes of weights that one device reads in a step with *tokens* tokens, one stage after another.

    The embedding is looked up, not read, unless it is the head as well. Of the experts only those that are met count.
    """
    deployment = model.deployment
    scheme, shared = deployment.weights, shares(deployment)
    total = 0.0
    for tensor, count in read_tensors(model.architecture):
        size: float = count * tensor_bytes(tensor, scheme, shared)
        if 0 < tensor.active < tensor.count:
            met = experts_touched(tensor.count, tensor.active, max(1.0, tokens * deployment.data_parallel))
            size *= met / tensor.count
        total += size
    return total


def kv_bytes_read(model: Model, context_tokens: int) -> int:
    """Bytes of cache that one device reads for one request's next token; a recurrent state is written back as well."""
    return bytes_for(model.cache, context_tokens) + model.rewritten_bytes


def decode_work(model: Model, sequences: int, context_tokens: int, prompt_share: float = 0.0) -> Work:
    """A step that gives each of *sequences* requests, *context_tokens* long on average, its next token.

    *prompt_share* prompt tokens are computed beside each: a busy server's steps bring as many as its requests do,
    prompt ÷ answer, on average. They come in few steps, many at once, so that most steps meet the experts of
    *sequences* tokens only.
    """
    tokens = sequences * (1.0 + prompt_share)
    read = weight_bytes_read(model, sequences) + sequences * kv_bytes_read(model, context_tokens)
    operations = sequences * operations_per_token(model.architecture)
    if prompt_share:
        operations += sequences * prompt_share * operations_per_prompt_token(model.architecture)
    return _work(model, tokens, read, operations, rows=sequences)


def verify_work(model: Model, sequences: int, context_tokens: int, draft_tokens: int) -> Work:
    """A step that checks *draft_tokens* drafted tokens of each sequence beside its next one: the cache is read once."""
    tokens = sequences * (draft_tokens + 1)
    read = weight_bytes_read(model, tokens) + sequences * kv_bytes_read(model, context_tokens)
    return _work(model, tokens, read, tokens * operations_per_token(model.architecture))


def mixed_work(model: Model, sequences: int, context_tokens: int, prompt_tokens: int, cached_tokens: int = 0) -> Work:
    """A step that computes *prompt_tokens* of a prompt, *cached_tokens* of it being there already, beside *sequences*.

    Attention looks back from each prompt token: 4 · d_q · Σ positions, a layer at a time, windows bounding the look.
    """
    tokens = sequences + prompt_tokens
    read = weight_bytes_read(model, tokens)
    if sequences:
        read += sequences * kv_bytes_read(model, context_tokens)
    if cached_tokens:
        read += kv_bytes_read(model, cached_tokens)
    operations = (sequences + 1) * operations_per_token(model.architecture)
    operations += (prompt_tokens - 1) * operations_per_prompt_token(model.architecture)
    operations += attention_operations(model.architecture, prompt_tokens, cached_tokens)
    return _work(model, tokens, read, operations)


def _work(model: Model, tokens: float, read_bytes: float, operations: float, rows: int | None = None) -> Work:
    """*rows* of the *tokens* are computed together, all of them unless said otherwise."""
    layers = len(model.architecture.layers)
    per_s = peak_per_s(model) if model.arithmetic or tokens > 1 else math.inf
    own, each = expert_operations(model.architecture, tokens if rows is None else rows, model.deployment.data_parallel)
    return Work(
        layers=layers,
        read_bytes=read_bytes,
        read_s=read_bytes / model.bandwidth_bytes_per_s,
        arithmetic_s=operations / per_s,
        exchange_s=0.0 if model.link is None else layers * _EXCHANGES * model.link.exchange_s,
        link_s=tokens * link_s_per_token(model),
        expert_s=own / per_s,
        expert_row_s=each / per_s,
        row_s=operations_per_token(model.architecture) / per_s,
        headroom=model.arithmetic.headroom if model.arithmetic else 1.0,
    )


def peak_per_s(model: Model) -> int:
    """Operations a second of all devices that share each layer. Raises PlannerError where their rate is not known."""
    if model.arithmetic is None:
        raise PlannerError(no_arithmetic(model))
    return model.deployment.tensor_parallel * model.arithmetic.per_s


def no_arithmetic(model: Model) -> str:
    """What cannot be planned without a rate, and what can."""
    return (
        f"How fast {model.deployment.device.title} computes is not known: neither prompts nor several users can be "
        "planned, only one user's answers, which wait for its memory (page Speed, 'kvbudget speed' with one user). "
        "A profile that timed the machine says the rest."
    )


def link_s_per_token(model: Model) -> float:
    """What each device sends of a token, at the link's full rate: in every layer attention and feed-forward part are
    added up over all devices.

        bytes = layers · 2 · 2·(n − 1)/n · hidden · 2

    Source: Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3; a ring sends 2·(n − 1)/n of the sum.
    """
    if model.link is None:
        return 0.0
    devices = model.deployment.tensor_parallel
    sent = 2 * (devices - 1) / devices * model.architecture.hidden_size * _LINK_ELEMENT_BYTES
    return len(model.architecture.layers) * _EXCHANGES * sent / model.link.bytes_per_s
