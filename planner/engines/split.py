"""Splitting a model over equal devices: contiguous layers by pipeline stage, heads by tensor-parallel rank."""

from collections.abc import Iterable
from dataclasses import replace

from planner.architecture import Architecture, Attention, CrossAttention, Layer, Mixer, Recurrence
from planner.deployment import Deployment
from planner.engines.base import Rank
from planner.errors import PlannerError
from planner.formats import Role


def pipeline_ranks(architecture: Architecture, deployment: Deployment) -> tuple[Rank, ...]:
    """Contiguous layers by pipeline stage, as ``stage_layers`` counts them.

    The first stage holds embedding and towers, the last one head and final norm, and a copy of the embedding where it
    is the head as well. Raises PlannerError with more stages than layers, and for a partition of other layers.
    """
    sizes = stage_layers(architecture, deployment)
    if len(sizes) == 1:
        return (Rank(layers=architecture.layers, tensors=architecture.tensors, towers=architecture.towers),)
    embeddings = tuple(t for t in architecture.tensors if t.role is Role.EMBEDDING)
    rest = tuple(t for t in architecture.tensors if t.role is not Role.EMBEDDING)
    is_tied = all(t.role is not Role.HEAD for t in rest)
    ranks = []
    start = 0
    for stage, size in enumerate(sizes):
        end = start + size
        is_first, is_last = stage == 0, stage == len(sizes) - 1
        tensors = (embeddings if is_first or (is_last and is_tied) else ()) + (rest if is_last else ())
        ranks.append(
            Rank(
                layers=architecture.layers[start:end],
                tensors=tensors,
                towers=architecture.towers if is_first else (),
            )
        )
        start = end
    return tuple(ranks)


def stage_layers(architecture: Architecture, deployment: Deployment) -> tuple[int, ...]:
    """How many layers each pipeline stage has: as ``pp_layer_partition`` says, or as many, the rest by its engine's.

    By ``stage_remainder`` the *first* stages have one more each, the *later* ones, the last has *all* of the rest, or
    the ones *before* the last have one more each, backwards from there. Raises PlannerError as ``pipeline_ranks`` does.

    Source: vllm/distributed/utils.py and sglang/srt/distributed/utils.py, get_pp_indices; tensorrt_llm/mapping.py,
    pp_layers.
    """
    stages, number, settings = deployment.pipeline_parallel, len(architecture.layers), deployment.settings
    stated: tuple[int, ...] | None = settings.values.get("pp_layer_partition")
    if stated is not None and (len(stated) != stages or sum(stated) != number or not all(stated)):
        raise PlannerError(
            f"pp_layer_partition = {','.join(map(str, stated))} is {sum(stated):,} layers on {len(stated):,} stages; "
            f"{architecture.title} has {number:,} layers, and pipeline_parallel = {stages:,}: name as many stages, "
            "with all layers."
        )
    if stages > number:
        raise PlannerError(f"pipeline_parallel = {stages} needs a layer a stage; {architecture.title} has {number}.")
    size, rest = divmod(number, stages)
    match settings.rules.get("stage_remainder", "first"):
        case "all":
            more = [0] * (stages - 1) + [rest]
        case "later":
            more = [0] * (stages - rest) + [1] * rest
        case "before":
            more = [0] * (stages - 1 - rest) + [1] * rest + [0] if rest else [0] * stages
        case _:
            more = [1] * rest + [0] * (stages - rest)
    return stated or tuple(size + one for one in more)


def with_padded_words(rank: Rank, words: int, multiple: int) -> Rank:
    """*rank* with embedding and head of a vocabulary of *words* that has as many rows as the next *multiple*."""
    rows = -(-words // multiple) * multiple
    outer = (Role.EMBEDDING, Role.HEAD)
    return replace(
        rank,
        tensors=tuple(replace(t, rows=rows) if t.role in outer and t.rows == words else t for t in rank.tensors),
    )


def split_heads(layers: tuple[Layer, ...], tensor_parallel: int) -> tuple[Layer, ...]:
    """Each rank's share of the caches: key-value heads divided and then repeated once there are fewer heads than ranks.

    Latent caches are whole on every rank, and so is what waits to enter one; other states are divided evenly.
    """
    if tensor_parallel == 1:
        return layers
    shares: dict[int, Layer] = {}
    for layer in layers:
        if id(layer) not in shares:
            shares[id(layer)] = replace(layer, mixers=tuple(_share(layer.mixers, tensor_parallel)))
    return tuple(shares[id(layer)] for layer in layers)


def heads_on_rank(number: int, tensor_parallel: int, engine: str) -> int:
    """Key-value heads of one rank: divided evenly, or each repeated on as many ranks as it takes.

    Raises PlannerError where neither goes, naming the *engine*.
    """
    if number % tensor_parallel and tensor_parallel % number:
        raise PlannerError(
            f"tensor_parallel = {tensor_parallel} does not go with {number} key-value heads: {engine} divides the "
            "heads evenly, or repeats each on as many ranks; choose a divisor or a multiple."
        )
    return max(1, number // tensor_parallel)


def _share(mixers: Iterable[Mixer], tensor_parallel: int) -> Iterable[Mixer]:
    for mixer in mixers:
        match mixer:
            case Attention() | CrossAttention():
                yield replace(mixer, num_key_value_heads=-(-mixer.num_key_value_heads // tensor_parallel))
            case Recurrence(is_whole=False):
                states = tuple(replace(s, rows=-(-s.rows // tensor_parallel)) for s in mixer.states)
                yield replace(mixer, states=states)
            case _:
                yield mixer
