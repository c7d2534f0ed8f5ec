"""What a quantised checkpoint stores each of its matrices in."""

from collections.abc import Iterable, Mapping
from dataclasses import field

from planner.architecture import Tensor
from planner.errors import UnsupportedModel
from planner.formats import QUANTIZED_ROLES, NumberFormat, Role
from planner.readers.quantization.module_sets import ModuleSet, Place
from planner.records import dataclass

_ONLY_BY_NAME = frozenset({Role.HEAD, Role.EMBEDDING, Role.ROUTER})
MATRICES = QUANTIZED_ROLES | _ONLY_BY_NAME
"""Roles of what a quantiser may store: everything else is left as it was."""
_MOST_CHOICES = 32

Named = tuple[Iterable[str], NumberFormat | None]
"""Names of modules and their format; None: left as they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The *format* of what *modules* names; None: left as it was."""

    modules: ModuleSet
    format: NumberFormat | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredScheme:
    """The first of *choices* that names a module decides, otherwise *defaults* by role; what neither has is left alone.

    Quantisers leave heads, embeddings and routers alone, so that besides a default only a choice by exactly their name
    quantises these. *unties_head*: the file has a head of its own even where the model's is its embedding,
    *copies_head* one that is not loaded.
    *skips_unsaid*: what it leaves alone is known of the publisher's files, not said in this one.
    *cache_format* is what the cache is to be kept in, None for the model's own. *leaves_weights*: the file says itself
    that its weights are as they were trained.
    """

    defaults: Mapping[Role, NumberFormat] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    unties_head: bool = False
    copies_head: bool = False
    cache_format: NumberFormat | None = None
    leaves_weights: bool = False
    skips_unsaid: bool = False
    warnings: tuple[str, ...] = ()

    def format_of(self, tensor: Tensor, place: Place) -> NumberFormat:
        """The format of a weight at *place*."""
        by_name = tensor.role in _ONLY_BY_NAME
        for choice in self.choices:
            only_exact = by_name and choice.format is not None
            if choice.modules.names(place) if only_exact else place in choice.modules:
                return choice.format or tensor.stored
        return self.defaults.get(tensor.role, tensor.stored)


def projections(number_format: NumberFormat | None) -> Mapping[Role, NumberFormat]:
    """Every projection and expert in *number_format*."""
    return dict.fromkeys(QUANTIZED_ROLES, number_format) if number_format else {}


def choices(*pairs: Named) -> tuple[Choice, ...]:
    """Choices in order of precedence, from module names and their format; neighbours with one format become one."""
    merged: list[tuple[list[str], NumberFormat | None]] = []
    for names, number_format in pairs:
        if merged and merged[-1][1] == number_format:
            merged[-1][0].extend(names)
        else:
            merged.append((list(names), number_format))
    if len(merged) > _MOST_CHOICES:
        raise UnsupportedModel("The quantization_config has more kinds of modules than are read.")
    found = (Choice(modules=ModuleSet(names), format=number_format) for names, number_format in merged)
    return tuple(choice for choice in found if choice.modules)
