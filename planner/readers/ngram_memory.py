"""Qwen4-Exp's memory of n-grams: tables that some layers look the last few tokens up in, by hashes of prime sizes."""

from collections.abc import Iterator
from itertools import count, islice

from planner.architecture import Mixer, Recurrence, StateTensor, Tensor
from planner.formats import Role
from planner.readers.decoder import Decoder
from planner.readers.layer_plan import LayerPlan
from planner.readers.states import conv_state


def ngram_state(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """The convolution's last inputs, and the tokens before this one."""
    values = decoder.values
    width = decoder.hidden_size * values.integer("hc_count")
    tokens = StateTensor(name="tokens", rows=1, columns=values.integer("ngram_size") - 1, format=decoder.formats["i64"])
    states = (conv_state(width, values.integer("ple_conv_kernel_size")), tokens)
    return (Recurrence(kind="short_convolution", states=states),)


def ngram_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """What brings a layer's memory into its residual streams."""
    values, hidden = decoder.values, decoder.hidden_size
    width, embedded = hidden * values.integer("hc_count"), values.integer("ple_embed_dim")
    yield decoder.matrix("ple.key_proj", width, embedded)
    yield decoder.matrix("ple.value_proj", hidden, embedded)
    for name in ("norm_key", "norm_query", "norm_conv"):
        yield from decoder.norm(f"ple.{name}", width)
    yield Tensor(
        name="ple.conv1d.weight",
        role=Role.STATE,
        rows=width,
        columns=values.integer("ple_conv_kernel_size"),
        stored=decoder.stored,
    )


def ngram_tables(decoder: Decoder) -> Iterator[Tensor]:
    """One table a layer that has a memory: a part for each hash, of the next prime above those of the parts before."""
    values = decoder.values
    layers, base = len(values.integers("ple_layer_ids", minimum=1)), values.integer("ngram_vocab_size_base")
    heads = (values.integer("ngram_size") - 1) * values.integer("heads_per_ngram")
    multiple = values.integer("make_ngram_vocab_size_divisible_by")
    if layers * heads > _MOST_PARTS:
        raise values.wrong("ple_layer_ids", values.get("ple_layer_ids"), f"at most {_MOST_PARTS // heads} layers")
    sizes = list(islice((number for number in count(base) if _is_prime(number)), layers * heads))
    for layer in range(layers):
        rows = sum(sizes[layer * heads : (layer + 1) * heads])
        yield Tensor(
            name="ple.ple_embedding.ngram_embedding.weight",
            role=Role.EMBEDDING,
            rows=-(-rows // multiple) * multiple,
            columns=values.integer("ple_embed_dim") // heads,
            stored=decoder.stored,
        )


_MOST_PARTS = 512


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))
