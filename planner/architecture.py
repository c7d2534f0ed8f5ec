"""What a model is: a tuple of layers, each with its mixers (what it caches) and its tensors (what it weighs).

Names are Hugging Face's. Nothing here depends on how the model is stored or served.
"""

from collections.abc import Iterable

from planner.formats import QUANTIZED_ROLES, NumberFormat, Role
from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """*count* identical tensors of *rows* × *columns*; blocks of a quantised format run along the columns.

    *active* is how many of them one token uses (experts); *replicated* ones are whole on every tensor-parallel rank.
    Of the *heads* that the rows make up (a vector's columns) none is cut: with more ranks each lies on several. 0: any
    row may be the last of its rank.
    """

    name: str
    role: Role
    columns: int
    stored: NumberFormat
    rows: int = 1
    count: int = 1
    active: int = -1
    replicated: bool = False
    heads: int = 0

    @property
    def elements(self) -> int:
        return self.rows * self.columns * self.count

    @property
    def active_elements(self) -> int:
        return self.rows * self.columns * (self.count if self.active < 0 else self.active)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Multi-head attention and its kin: MHA when each head has its own key and value, GQA when some share, MQA: one.

    *window_tokens* bounds what is kept: ``sliding`` windows forget token by token, ``chunked`` ones at chunk borders;
    ``reference`` ones keep the prompt whole and forget only what is written: counted as every token, without a window.
    """

    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    v_head_dim: int
    window_tokens: int | None = None
    window_kind: str = "sliding"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossAttention:
    """Attention from the text to *tokens* of an image: their keys and values do not grow with the text."""

    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentAttention:
    """Multi-head latent attention (MLA): one compressed vector and one rotary key a token, whatever the head count.

    *index_head_dim* is the sparse-attention indexer's key width, 0 without one, *index_format* its format where that is
    not the cache's own. *is_key_and_value*: the vector as it is kept serves as both (DeepSeek-V4).
    """

    num_attention_heads: int
    kv_lora_rank: int
    qk_rope_head_dim: int
    index_head_dim: int = 0
    index_format: NumberFormat | None = None
    window_tokens: int | None = None
    is_key_and_value: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressedAttention:
    """One vector of *width* for every *tokens_per_entry* tokens, shared by all heads, with no values of its own.

    DeepSeek-V4 keeps it beside a window, and a second, narrower one for the indexer that picks among its entries.
    """

    width: int
    tokens_per_entry: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTensor:
    """A recurrent state of fixed size: *rows* heads or channels, each of *columns* elements.

    *format* ``None``: it is kept in the cache's own format. A convolution's state is named ``conv`` and has the columns
    before the current one, kernel − 1; engines that keep the current one too add a column.
    """

    name: str
    rows: int
    columns: int
    format: NumberFormat | None = None

    @property
    def elements(self) -> int:
        return self.rows * self.columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """A mixer whose memory does not grow with the context: state-space, linear attention, short convolution, RWKV.

    *is_whole*: it belongs to a vector that all heads share, and every tensor-parallel rank keeps all of it.
    """

    kind: str
    states: tuple[StateTensor, ...]
    is_whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCache:
    """An attention layer that reads another layer's cache and keeps nothing of its own."""

    kind: str = "shared"


Mixer = Attention | CrossAttention | LatentAttention | CompressedAttention | Recurrence | SharedCache


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One decoder layer. *mixers* is empty where attention was removed, two where attention and state run abreast."""

    kind: str
    mixers: tuple[Mixer, ...]
    tensors: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tower:
    """Weights beside the text model: a vision or audio encoder, or the projector into the text model."""

    kind: str
    tensors: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """A model by its layers, outermost tensors and towers.

    *tensors* are those outside the layers: embeddings, final norm, head (absent where it is tied to the embedding).
    *mtp_layers* are loaded only for multi-token prediction. *cache_format* is the cache's unless asked otherwise.
    *warnings* are sentences the reader wants shown; *assumed* says that a layout was bounded from above, not known, and
    *stored_assumed* the same of the formats that its file keeps tensors in, with *stored_doubt* the reason in a word.
    """

    name: str
    title: str
    model_type: str
    hidden_size: int
    vocab_size: int
    max_position_embeddings: int | None
    layers: tuple[Layer, ...]
    tensors: tuple[Tensor, ...]
    cache_format: NumberFormat
    towers: tuple[Tower, ...] = ()
    mtp_layers: tuple[Layer, ...] = ()
    stored_as: str = ""
    source: str = ""
    nominal: bool = False
    assumed: bool = False
    stored_assumed: bool = False
    stored_doubt: str = ""
    warnings: tuple[str, ...] = ()


def main_format(layers: Iterable[Layer]) -> NumberFormat | None:
    """In what most elements of the matrices of *layers* are stored; ``None`` for layers without any."""
    elements: dict[NumberFormat, int] = {}
    for layer, count in distinct_layers(layers):
        for tensor in layer.tensors:
            if tensor.role in QUANTIZED_ROLES:
                elements[tensor.stored] = elements.get(tensor.stored, 0) + count * tensor.elements
    return max(elements, key=lambda number: elements[number], default=None)


def distinct_layers(layers: Iterable[Layer]) -> list[tuple[Layer, int]]:
    """Each different layer object with how often it occurs, in order of first appearance.

    Readers build equal layers once, so that adding up a model costs its kinds of layers, not their number.
    """
    counts: dict[int, tuple[Layer, int]] = {}
    for layer in layers:
        seen = counts.get(id(layer))
        counts[id(layer)] = (layer, 1 if seen is None else seen[1] + 1)
    return list(counts.values())
