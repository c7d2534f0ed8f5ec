"""What drafts for a target: a rounded copy of it, its own first layers, or any model with its vocabulary."""

import copy
import re
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from measure.models import Source, find_source, load
from measure.quantizers import SCHEMES, quantize_model
from measure.running import Running
from measure.setup import Setup
from planner.architecture import Architecture, Attention, LatentAttention, Mixer, SharedCache
from planner.draft import MAX_VOCABULARY_DIFFERENCE
from planner.errors import PlannerError

_FIRST = re.compile(r"first-(\d{1,4})")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedDraft:
    """A model ready to draft. *vocabulary* says how it is known to be the target's."""

    title: str
    model: Any
    vocabulary: str


def check_draft(name: str, target: Source, tokens: int, setup: Setup) -> None:
    """Raises PlannerError where *name* cannot draft *tokens* for *target*, as far as their configs tell."""
    _check_cache(target.title, target.architecture, tokens)
    if name in SCHEMES:
        return
    if match := _FIRST.fullmatch(name):
        layers = len(target.architecture.layers)
        if layers == 1:
            raise PlannerError(f"{target.title} has one layer, no part of which can draft: name a whole model.")
        if not 1 <= int(match[1]) < layers:
            raise PlannerError(f"{target.title} has {layers} layers: draft with first-1 to first-{layers - 1}.")
        return
    draft = find_source(replace(setup, model=name))
    own, wanted = draft.architecture.vocab_size, target.architecture.vocab_size
    if abs(own - wanted) > MAX_VOCABULARY_DIFFERENCE:
        raise PlannerError(
            f"{draft.title} has a vocabulary of {own:,} tokens and {target.title} one of {wanted:,}: name a draft of "
            "the target's family, or first-N for the target's own first N layers."
        )
    _check_cache(draft.title, draft.architecture, tokens)


def load_draft(name: str, target: Running, setup: Setup) -> LoadedDraft:
    """The draft called *name*. Raises PlannerError where its tokens are not the target's."""
    if name in SCHEMES:
        model = copy.deepcopy(target.model)
        quantize_model(model, SCHEMES[name])
        return LoadedDraft(title=name, model=model, vocabulary="a copy")
    if match := _FIRST.fullmatch(name):
        layers = len(target.loaded.source.architecture.layers)
        model = _first_layers(target, int(match[1]))
        return LoadedDraft(title=f"first {match[1]} of {layers} layers", model=model, vocabulary="a copy")
    draft = load(replace(setup, model=name))
    # Published sizes of one vocabulary differ by padding, which no text has.
    draft.model.resize_token_embeddings(target.loaded.source.architecture.vocab_size, mean_resizing=False)
    own, wanted = draft.tokenizer, target.loaded.tokenizer
    if own is None or wanted is None:
        return LoadedDraft(title=draft.source.title, model=draft.model, vocabulary="the same size")
    if different := _different(own.get_vocab(), wanted.get_vocab()):
        raise PlannerError(
            f"{draft.source.title} does not have {target.loaded.source.title}'s vocabulary: {different!r} is another "
            "token in each. Name a draft of the target's family."
        )
    return LoadedDraft(title=draft.source.title, model=draft.model, vocabulary="the same tokens")


def _different(own: dict[str, int], wanted: dict[str, int]) -> str | None:
    """A token that stands for another number in each, the first by number; ``None``: there is none."""
    return min(
        (token for token in own.keys() & wanted if own[token] != wanted[token]), key=own.__getitem__, default=None
    )


def _first_layers(target: Running, count: int) -> Any:
    """A copy of the target that ends after *count* layers, with the target's own final norm and head."""
    model = copy.deepcopy(target.model)
    decoder = model.get_decoder()
    layers = len(target.loaded.source.architecture.layers)
    name = next(
        (n for n, part in decoder.named_children() if isinstance(part, nn.ModuleList) and len(part) == layers), ""
    )
    if not name:
        raise PlannerError(
            f"{target.loaded.source.title} keeps its layers where they cannot be cut: name a whole draft."
        )
    setattr(decoder, name, getattr(decoder, name)[:count])
    decoder.config.num_hidden_layers = count
    return model


def _check_cache(title: str, architecture: Architecture, tokens: int) -> None:
    """A rejected draft is taken out of the cache again, which a state or a full window cannot undo."""
    if not all(_can_shorten(mixer, tokens) for layer in architecture.layers for mixer in layer.mixers):
        raise PlannerError(
            f"{title} has layers with a state, or a window of fewer than {tokens:,} tokens, from which rejected drafts "
            "cannot be taken back: choose a model whose layers attend to every token."
        )


def _can_shorten(mixer: Mixer, tokens: int) -> bool:
    match mixer:
        case Attention() | LatentAttention():
            return mixer.window_tokens is None or mixer.window_tokens > tokens
        case _:
            return isinstance(mixer, SharedCache)
