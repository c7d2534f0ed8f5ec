"""What llama.cpp's --fit would choose over several cards: how many layers each takes, and whose experts it takes along.

Source: https://github.com/ggml-org/llama.cpp/blob/08033df02/common/fit.cpp, common_params_fit_impl. Left out is the one
layer a card of which a part may still find room.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate

from planner.architecture import Architecture
from planner.budget import prepare
from planner.inputs.choices import Choices, choose
from planner.records import dataclass
from planner.search import largest
from planner.settings.setting import ints_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One card's *layers*, the output counted as one more; the last *bare* of them leave their experts on the host."""

    layers: int = 0
    bare: int = 0


def over_cards(choices: Choices, architecture: Architecture, margin_bytes: int) -> tuple[str, Choices]:
    """The placement that leaves *margin_bytes* free on every card, in words and choices.

    Cards are filled from the last, where the output lies, with layers without their experts. If all find room, cards
    take layers whole from the first on.
    """
    number = len(architecture.layers)
    has_experts = any(tensor.active >= 0 for layer in architecture.layers for tensor in layer.tensors)
    cards = choose(choices, architecture).deployment.pipeline_parallel
    last = cards - 1

    def leaves_room(shares: Sequence[Share], card: int) -> bool:
        chosen = choose(_placed(choices, shares, number), architecture)
        rank, workload = prepare(architecture, chosen.deployment)[card], chosen.workload
        need = rank.need_bytes(workload.context_tokens, rank.requests(workload.users))
        return rank.pool_bytes - need >= margin_bytes

    def with_layers(shares: Sequence[Share], card: int, count: int) -> list[Share]:
        bare = count - (card == last) if has_experts else 0
        return [*shares[:card], Share(layers=count, bare=max(0, bare)), *shares[card + 1 :]]

    def most(made: Callable[[int], Sequence[Share]], card: int, limit: int) -> Sequence[Share]:
        return made(largest(lambda count: leaves_room(made(count), card), limit) if limit else 0)

    shares: Sequence[Share] = [Share()] * cards
    for card in reversed(range(cards)):
        free = number + 1 - sum(share.layers for share in shares)
        shares = most(partial(with_layers, shares, card), card, free)
    if has_experts and sum(share.layers for share in shares) > number:
        for card in range(cards):
            shares = most(partial(_whole, shares, card), card, sum(share.bare for share in shares[card:]))
    return _words(shares, number, has_experts), _placed(choices, shares, number)


def _whole(shares: Sequence[Share], card: int, count: int) -> list[Share]:
    """*count* layers without experts, the first there are, become whole ones of *card*."""
    found = list(shares)
    for other in range(card, len(found)):
        taken = min(count, found[other].bare)
        found[other] = Share(layers=found[other].layers - taken, bare=found[other].bare - taken)
        found[card] = replace(found[card], layers=found[card].layers + taken)
        count -= taken
    return found


def _placed(choices: Choices, shares: Sequence[Share], number: int) -> Choices:
    on_cards = sum(share.layers for share in shares)
    bare = ints_text(_bare(shares, number))
    settings = [f"n_gpu_layers={on_cards}", f"tensor_split={','.join(str(share.layers) for share in shares)}"]
    if bare:
        settings.append(f"cpu_moe_layers={bare}")
    # Nothing on any card needs no split.
    return replace(choices, set=(*choices.set, *(settings if on_cards else settings[:1])))


def _bare(shares: Sequence[Share], number: int) -> tuple[int, ...]:
    """The layers of *number* whose experts lie in main memory: the last of every card's.

    The output counts among the last card's whole ones, which stand first, and so its first layer is whole.
    """
    counts = [share.layers for share in shares]
    ends = [number + 1 - sum(counts) + end for end in accumulate(counts)]
    return tuple(
        index
        for share, end in zip(shares, ends, strict=True)
        for index in range(end - share.bare, end)
        if index < number
    )


def _words(shares: Sequence[Share], number: int, has_experts: bool) -> str:
    split = "/".join(str(share.layers) for share in shares)
    on_cards, bare = sum(share.layers for share in shares), len(_bare(shares, number))
    if not has_experts or on_cards <= number:
        return f"{on_cards} of {number + 1} layers on the cards ({split})"
    return f"Experts of {bare} of {number} layers in main memory (layers {split} on the cards)"
