"""A model's layers by kind: which they are, what each keeps of a context, what each weighs."""

from collections.abc import Sequence
from itertools import pairwise

from planner.answers.explain import mixer_words
from planner.answers.inspection import LayerGrowth, layer_growth
from planner.architecture import Architecture, Layer
from planner.formats import NumberFormat
from planner.kv_cache import bytes_for, layer_specs
from planner.records import dataclass

_MAX_SPANS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerKind:
    """Layers alike in all but their place, *indices*. *bytes* is what one of them keeps of one user's *tokens*."""

    growth: LayerGrowth
    indices: tuple[int, ...]
    words: str
    tokens: int
    bytes: int

    @property
    def spans(self) -> str:
        """Where they stand, in few words."""
        return spans(self.indices)


def layer_kinds(
    architecture: Architecture, key: NumberFormat, value: NumberFormat, tokens: int
) -> tuple[LayerKind, ...]:
    """Every kind in order of appearance; its layers need not be neighbours."""
    found: dict[tuple[object, ...], tuple[Layer, list[int]]] = {}
    for index, layer in enumerate(architecture.layers):
        alike = (layer.kind, layer.mixers, sum(tensor.elements for tensor in layer.tensors))
        found.setdefault(alike, (layer, []))[1].append(index)
    return tuple(
        LayerKind(
            growth=layer_growth(indices[0], layer, key, value),
            indices=tuple(indices),
            words="; ".join(mixer_words(mixer) for mixer in layer.mixers) or "keeps nothing",
            tokens=tokens,
            bytes=bytes_for(layer_specs(layer, key, value), tokens),
        )
        for layer, indices in found.values()
    )


def spans(indices: Sequence[int]) -> str:
    """Ascending *indices* as ranges, or by their step.

    >>> spans(range(32)), spans([5, 11, 17, 23]), spans([0, 1, 2, 4, 5]), spans([7])
    ('0 – 31', 'every 6th, 5 – 23', '0 – 2, 4 – 5', '7')
    """
    steps = {later - earlier for earlier, later in pairwise(indices)}
    if len(indices) > 2 and len(steps) == 1 and (step := steps.pop()) > 1:
        return f"every {_ordinal(step)}, {indices[0]} – {indices[-1]}"
    runs: list[list[int]] = []
    for index in indices:
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]} – {run[-1]}" for run in runs]
    if len(texts) > _MAX_SPANS:
        texts = [*texts[: _MAX_SPANS - 2], "…", texts[-1]]
    return ", ".join(texts)


def _ordinal(number: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number // 10 % 10 == 1 else endings.get(number % 10, 'th')}"
