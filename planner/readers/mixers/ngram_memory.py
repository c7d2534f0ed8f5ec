"""Memories of n-grams: tables in which the last few tokens are looked up, by hashes.

Qwen4-Exp's are for some of its layers and of prime sizes; LongCat-Flash-Lite's add to the embedding of each token.
"""

from collections.abc import Iterator
from itertools import count, islice

from planner.architecture import Mixer, Recurrence, StateTensor, Tensor
from planner.formats import Role
from planner.readers.decoder import Decoder
from planner.readers.layer_plan import LayerPlan
from planner.readers.mixers.states import conv_state


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


def ngram_embedding(decoder: Decoder) -> Iterator[Tensor]:
    """A table for each split of each length of n-gram, each two rows longer than the last, and a projection of each.

    The token itself is looked up in the model's own embedding.
    """
    values, hidden = decoder.values, decoder.hidden_size
    tables = values.integer("emb_split_num") * (values.integer("emb_neighbor_num", minimum=2) - 1)
    if tables > min(_MOST_PARTS, hidden):
        raise values.wrong("emb_split_num", values.get("emb_split_num"), f"at most {_MOST_PARTS} tables in all")
    rows, width = values.integer("ngram_vocab_size_ratio") * values.integer("vocab_size"), hidden // tables
    yield Tensor(
        name="ngram_embeddings.embedders.weight",
        role=Role.EMBEDDING,
        rows=tables * (rows + tables),
        columns=width,
        stored=decoder.stored,
    )
    yield decoder.matrix("ngram_embeddings.post_projs", tables * hidden, width)


_MOST_PARTS = 512


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))
