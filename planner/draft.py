"""What proposes tokens beside a model: a smaller model, its own prediction layers, a head, or the text so far."""

from dataclasses import replace

from planner.architecture import Architecture, Attention, LatentAttention, Layer, Tensor
from planner.errors import PlannerError
from planner.formats import NumberFormat, QuantScheme, Role
from planner.records import dataclass

MTP, EAGLE, NGRAM = "mtp", "eagle", "ngram"
"""In place of a model's name: the model's own prediction layers, a head like its last layer, its text so far."""
METHODS = (MTP, EAGLE, NGRAM)
MAX_DRAFT_TOKENS = 64
"""No engine drafts more at once."""
MAX_VOCABULARY_DIFFERENCE = 128
"""Published sizes of one vocabulary differ by padding: llama.cpp, common/speculative.cpp, allows so many."""
REFUSED_BY_MOST = "most engines refuse it: draft with a model of the same vocabulary"
"""Of a draft in another vocabulary, where the engine's own way is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """*draft_tokens* are proposed a pass. *layers* and *tensors* lie beside the model; none: only its text is needed.

    *architecture* is that of a draft model, ``None`` for a part of the model itself. *is_assumed*: the head is not
    known, and taken to be like the model's own last layer.
    """

    name: str
    draft_tokens: int
    weights: QuantScheme
    layers: tuple[Layer, ...] = ()
    tensors: tuple[Tensor, ...] = ()
    architecture: Architecture | None = None
    is_assumed: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.draft_tokens <= MAX_DRAFT_TOKENS:
            raise PlannerError(
                f"draft_tokens = {self.draft_tokens:,} is not possible: give 1 to {MAX_DRAFT_TOKENS} tokens a pass."
            )

    def warning(self, model: Architecture, engine_words: str | None) -> str | None:
        """What is wrong with it as a draft of *model*; *engine_words* say what the engine makes of it."""
        own = self.architecture
        if own is None or abs(own.vocab_size - model.vocab_size) <= MAX_VOCABULARY_DIFFERENCE:
            return None
        return (
            f"{own.title} has a vocabulary of {own.vocab_size:,} tokens and {model.title} one of {model.vocab_size:,}: "
            f"what it drafts cannot be checked token by token, and {engine_words or REFUSED_BY_MOST}."
        )


def model_draft(architecture: Architecture, weights: QuantScheme, draft_tokens: int) -> Draft:
    """A model of its own, all of it but vision and audio towers."""
    return Draft(
        name=architecture.name,
        draft_tokens=draft_tokens,
        weights=weights,
        layers=architecture.layers,
        tensors=architecture.tensors,
        architecture=architecture,
        is_assumed=architecture.stored_assumed and weights.format is None,
        source=architecture.source or "the draft's own tensor shapes",
    )


def own_draft(name: str, model: Architecture, weights: QuantScheme, sixteen_bit: NumberFormat, tokens: int) -> Draft:
    """``mtp``, ``eagle`` or ``ngram`` for *model*. Embedding and head are the model's own.

    Prediction layers are stored as the model is, in *weights*; heads are published in *sixteen_bit*. Raises
    PlannerError for ``mtp`` where the model has no such layers.
    """
    if name == NGRAM:
        return Draft(name=name, draft_tokens=tokens, weights=weights, source="the text so far")
    if name == EAGLE:
        return Draft(
            name=name,
            draft_tokens=tokens,
            weights=QuantScheme(format=sixteen_bit, rest=sixteen_bit, quantize="all"),
            layers=(head_layer(model),),
            is_assumed=True,
            source="assumption: the model's last layer in 16 bit, and a matrix that joins token and hidden state",
        )
    if not model.mtp_layers:
        raise PlannerError(
            f"{model.title} has no layers for multi-token prediction: draft with {EAGLE}, {NGRAM} or a smaller model."
        )
    return Draft(
        name=name,
        draft_tokens=tokens,
        weights=weights,
        layers=model.mtp_layers,
        is_assumed=model.stored_assumed and weights.format is None,
        source=model.source or "the model's own tensor shapes",
    )


def head_layer(model: Architecture) -> Layer:
    """A draft head: the last layer that attends to every token, and the matrix that joins a token to a hidden state.

    Source: Li et al., EAGLE, arXiv:2401.15077, section 3.1.
    """
    last = next((layer for layer in reversed(model.layers) if _sees_all(layer)), model.layers[-1])
    hidden = model.hidden_size
    stored = last.tensors[0].stored if last.tensors else model.cache_format
    joining = Tensor(name="fc", role=Role.LINEAR, rows=hidden, columns=2 * hidden, stored=stored)
    return replace(last, tensors=(*last.tensors, joining))


def _sees_all(layer: Layer) -> bool:
    return any(isinstance(m, Attention | LatentAttention) and m.window_tokens is None for m in layer.mixers)
