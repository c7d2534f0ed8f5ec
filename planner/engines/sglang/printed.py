"""What SGLang prints of its caches once tokens and states are known."""

from collections.abc import Mapping
from dataclasses import replace

from planner.architecture import Attention, distinct_layers
from planner.deployment import Deployment
from planner.engines.base import Rank
from planner.engines.sglang.cells import Pools, SglangRank, own_rank, pools
from planner.engines.sglang.sizes import state_parts
from planner.logs.readings import Start


def cache_figures(start: Start, rank: Rank, deployment: Deployment) -> Mapping[str, int]:
    """Bytes of keys, values or latents, and of states, as the printed numbers of tokens and states demand.

    A page and a state more than are counted are allocated, for padding. Windows have lines of their own, which are not
    told apart; nothing is said of their models.
    """
    own = _without_draft(own_rank(rank), deployment)
    found = pools(own, deployment)
    tokens, states = start.least("pool_tokens") or start.least("printed_tokens"), start.least("states")
    sizes: dict[str, int] = {}
    if tokens is not None and not found.window_bytes:
        total = found.full_bytes * (int(tokens.value) + found.page_tokens)
        sizes["cache"] = total
        if _has_equal_halves(own):
            sizes["keys"] = sizes["values"] = total // 2
    if states is not None and found.state_bytes:
        conv, recurrent = state_parts(own, deployment)
        sizes["conv_states"] = conv * (int(states.value) + 1)
        sizes["ssm_states"] = recurrent * (int(states.value) + 1)
    return sizes


def printed_pool_bytes(start: Start, found: Pools) -> int | None:
    """What caches must have been given for the printed tokens and states; ``None`` where no tokens are printed."""
    tokens, states = start.least("pool_tokens"), start.least("states")
    if tokens is None:
        return None
    size = int(tokens.value * found.token_bytes)
    if states is None or not found.state_share:
        return size
    drafted = int(states.value) // found.kept_slots * found.draft_slots
    return size + found.state_bytes * (int(states.value) + drafted)


def _without_draft(rank: SglangRank, deployment: Deployment) -> SglangRank:
    """The model's own layers: those that draft print lines of their own."""
    return replace(rank, layers=rank.layers[: len(rank.layers) - rank.draft_layers])


def _has_equal_halves(rank: SglangRank) -> bool:
    mixers = [mixer for layer, _ in distinct_layers(rank.layers) for mixer in layer.mixers]
    heads = [mixer for mixer in mixers if isinstance(mixer, Attention)]
    return bool(heads) and all(mixer.head_dim == mixer.v_head_dim for mixer in heads)
