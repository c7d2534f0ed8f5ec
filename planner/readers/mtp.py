"""Layers for multi-token prediction: weights beside the model, loaded only to draft."""

from collections.abc import Callable, Iterator, Sequence

from planner.architecture import Layer, Tensor
from planner.formats import Role
from planner.readers.decoder import Decoder


def mtp_layers(decoder: Decoder, layers: Sequence[Layer], vocab_size: int) -> tuple[Layer, ...]:
    """One more decoder layer each, with the tensors that join a token to the hidden state before it."""
    number = decoder.values.optional_integer("num_nextn_predict_layers", minimum=0) or 0
    if not number or decoder.structure.mtp == "none":
        return ()
    last, joining = layers[-1], _JOINING[decoder.structure.mtp](decoder, vocab_size)
    return (Layer(kind=last.kind, mixers=last.mixers, tensors=(*last.tensors, *joining)),) * number


def _deepseek(decoder: Decoder, vocab_size: int) -> Iterator[Tensor]:
    """As published files store it, with a copy of embedding and head. Source: DeepSeek-V3, arXiv:2412.19437, 2.2."""
    hidden = decoder.hidden_size
    yield decoder.matrix("embed_tokens", vocab_size, hidden, role=Role.EMBEDDING)
    yield from decoder.norm("enorm", hidden)
    yield from decoder.norm("hnorm", hidden)
    yield decoder.matrix("eh_proj", hidden, 2 * hidden)
    yield from decoder.norm("shared_head.norm", hidden)
    yield decoder.matrix("shared_head.head", vocab_size, hidden, role=Role.HEAD)


def _qwen(decoder: Decoder, vocab_size: int) -> Iterator[Tensor]:
    """Embedding and head are the model's own. Source: Qwen3-Next's published files."""
    hidden = decoder.hidden_size
    yield decoder.matrix("mtp.fc", hidden, 2 * hidden)
    for name in ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm"):
        yield from decoder.norm(f"mtp.{name}", hidden)


_JOINING: dict[str, Callable[[Decoder, int], Iterator[Tensor]]] = {"deepseek": _deepseek, "qwen": _qwen}
