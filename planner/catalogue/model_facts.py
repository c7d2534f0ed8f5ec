"""What a model is, for a page of its own: totals, roles in plain words, and how the published total comes about."""

from collections.abc import Sequence

from planner.architecture import Architecture
from planner.deployment import Deployment
from planner.gguf_mixes import as_stored
from planner.presets import ModelPreset
from planner.records import dataclass
from planner.weights import MTP, bytes_by_role, model_bytes, parameters, parameters_by_role

_ROLE_WORDS = {
    "embedding": "Embedding: a vector for each token of the vocabulary",
    "head": "Output head: a score for each token of the vocabulary",
    "linear": "Attention and feed-forward matrices",
    "expert": "Experts, of which each token uses a few",
    "router": "Routers that choose the experts",
    "norm": "Norms",
    "bias": "Biases",
    "state": "Small tensors of recurrent layers",
    "vision": "Vision tower",
    "audio": "Audio tower",
    "projector": "Projector from a tower to the text model",
    MTP: "Layers for multi-token prediction, loaded only for that",
}
_EXTRA_WORDS = {
    "mtp": "layers for multi-token prediction",
    "mtp_without_embeddings": "layers for multi-token prediction",
    "tied_head": "a copy of the tied output head",
    "scales": "scales of quantised blocks",
    "matrix_scales": "scales of quantised matrices",
    "layer_scales": "a scale for each layer",
    "rotary_frequencies": "rotary frequencies, which are computed anew",
    "causal_masks": "causal masks, which are computed anew",
    "routing_bias": "biases that choose the experts",
    "unused_norm": "a norm that is not used",
    "image_scaling": "mean and scale of image features",
    "shared_keys_and_values": "keys and values of layers that use another layer's",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleFact:
    """The tensors of one role: numbers, and bytes as stored in the plan's format."""

    words: str
    parameters: int
    bytes: int
    loaded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalTerm:
    """One term of the sum that ends in the published total."""

    words: str
    parameters: int


def role_facts(architecture: Architecture, deployment: Deployment) -> tuple[RoleFact, ...]:
    """Every role of the whole model, largest first; those that are not loaded to answer come last."""
    scheme = deployment.weights
    stored = as_stored(architecture, scheme)
    sizes = bytes_by_role(stored.layers, stored.tensors, scheme)
    for tower in stored.towers:
        sizes[tower.kind] = sizes.get(tower.kind, 0) + model_bytes((), tower.tensors, scheme)
    if stored.mtp_layers:
        sizes[MTP] = model_bytes(stored.mtp_layers, (), scheme)
    facts = [
        RoleFact(words=_ROLE_WORDS.get(role, role), parameters=count, bytes=sizes.get(role, 0), loaded=role != MTP)
        for role, count in parameters_by_role(architecture).items()
    ]
    return tuple(sorted(facts, key=lambda fact: (not fact.loaded, -fact.bytes)))


def loaded_sum(facts: Sequence[RoleFact]) -> RoleFact:
    """All that is loaded to answer, together."""
    loaded = [fact for fact in facts if fact.loaded]
    return RoleFact(
        words="Loaded to answer, all together",
        parameters=sum(fact.parameters for fact in loaded),
        bytes=sum(fact.bytes for fact in loaded),
        loaded=True,
    )


def published_terms(architecture: Architecture, preset: ModelPreset) -> tuple[TotalTerm, ...]:
    """What is loaded, and what the published total counts besides; their sum is that total. Empty without a total."""
    if preset.published_parameters is None:
        return ()
    loaded = TotalTerm(words="loaded to answer", parameters=parameters(architecture))
    extra = (
        TotalTerm(words=_EXTRA_WORDS.get(kind, kind.replace("_", " ")), parameters=count)
        for kind, count in preset.also_published.items()
    )
    return (loaded, *extra)


def published_sentence(terms: tuple[TotalTerm, ...], total: int) -> str:
    """How the published total and the loaded parameters relate, with every difference named."""
    first, *others = terms
    unnamed = total - sum(term.parameters for term in terms)
    if not others and not unnamed:
        return f"The publisher's files hold exactly these **{total:,}** parameters."
    named = ", ".join(_difference(term) for term in others)
    rest = f", and {unnamed:,} of which nothing is known" if unnamed else ""
    return f"The published total is **{total:,}**: {first.parameters:,} {first.words}, {named}{rest}."


def _difference(term: TotalTerm) -> str:
    if term.parameters < 0:
        return f"less {-term.parameters:,} that it leaves out ({term.words})"
    return f"{term.parameters:,} not loaded ({term.words})"
