"""What each layer of a GGUF model caches: attention, windows, shared and latent caches, recurrent states.

Rules: https://github.com/ggml-org/llama.cpp/blob/3f545becc/src/llama-hparams.cpp and src/models/. Counted is what the
architecture needs, without llama.cpp's padding.
"""

from collections.abc import Mapping, Sequence, Set

from planner.architecture import Attention, LatentAttention, Mixer, SharedCache
from planner.errors import UnsupportedModel
from planner.formats import NumberFormat
from planner.readers.gguf.knowledge import GgufRule
from planner.readers.gguf.states import recurrence
from planner.readers.gguf.values import GgufValues
from planner.readers.gguf.windows import read_windows
from planner.readers.mixers.compressed_caches import long_blocks, overlapping_blocks, window
from planner.records import dataclass
from planner.units import format_count

_RECURRENT_TENSORS = frozenset({"ssm_conv1d", "ssm_conv1d_q", "ssm_in", "shortconv.conv", "time_mix_key"})
_EXPANDED = (
    "The file was converted before latent attention was supported (it has no key_length_mla): full keys and values are "
    "counted, as llama.cpp then keeps them; a newer conversion needs far less."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTensors:
    """The names of one layer's tensors, without ``.weight``, and the widths of its projections."""

    names: Set[str]
    widths: Mapping[str, int]

    @property
    def is_recurrent(self) -> bool:
        return not self.names.isdisjoint(_RECURRENT_TENSORS)


class LayerReader:
    """Mixers of a model's layers, from its metadata, its architecture's rule and the tensors that each layer has.

    *number* layers answer, of *blocks* with those for prediction. *rule* None: the architecture is not known, and every
    layer with heads keeps every token.
    """

    def __init__(
        self, values: GgufValues, rule: GgufRule | None, number: int, blocks: int, state_format: NumberFormat
    ) -> None:
        self._values, self._rule, self._number, self._state_format = values, rule or GgufRule(), number, state_format
        self._is_known = rule is not None
        self._heads = values.per_layer("attention.head_count", blocks, at_least=number) or [0] * blocks
        self._key_value_heads = values.per_layer("attention.head_count_kv", blocks, at_least=number) or self._heads
        self._windows, warnings = read_windows(values, self._rule, number)
        self._warnings = list(warnings)
        self._cached_layers = self._read_cached_layers()
        self._lightning = self._read_lightning()
        latent = values.has("attention.key_length_mla") and values.has("attention.value_length_mla")
        self._is_latent = self._is_known and latent

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was bounded rather than known, once each."""
        return tuple(dict.fromkeys(self._warnings))

    def mixers(self, index: int, tensors: LayerTensors) -> tuple[str, tuple[Mixer, ...]]:
        """The kind of layer *index* and what it caches; layers for prediction keep every token."""
        recurrent = tensors.is_recurrent or index in self._lightning
        if self._rule.compressed:
            return self._compressed(index)
        found: list[tuple[str, Mixer]] = []
        if self._key_value_heads[index] and (not recurrent or self._rule.parallel):
            found.append(self._attention(index, tensors))
            if self._rule.indexed and index >= (self._values.optional_integer("leading_dense_block_count") or 0):
                found = [("sparse_attention", found[0][1]), ("sparse_attention", self._index())]
        if recurrent:
            found.append((self._rule.state, self._recurrence(index)))
        if not found and "attn_k" in tensors.names:
            raise UnsupportedModel(
                f"{self._values.where}: layer {index} has attention tensors, but its "
                f"{self._values.spelled('attention.head_count_kv')} is 0."
            )
        return (found[0][0] if found else "none"), tuple(mixer for _, mixer in found)

    def _attention(self, index: int, tensors: LayerTensors) -> tuple[str, Mixer]:
        if self._cached_layers <= index < self._number:
            return "shared_attention", SharedCache()
        if self._is_latent and "attn_kv_a_mqa" in tensors.names:
            return "latent_attention", self._latent(index, tensors)
        if "attn_kv_a_mqa" in tensors.names:
            self._warnings.append(_EXPANDED)
        window = self._windows[index] if index < self._number else None
        attention = self._standard(index, window)
        self._check_width(index, attention, tensors)
        return f"{'full' if window is None else self._rule.window_kind}_attention", attention

    def _standard(self, index: int, window: int | None) -> Attention:
        return Attention(
            num_attention_heads=self._heads[index],
            num_key_value_heads=self._key_value_heads[index],
            head_dim=self._length("key_length", windowed=window is not None),
            v_head_dim=self._length("value_length", windowed=window is not None),
            window_tokens=window,
            window_kind=self._rule.window_kind,
        )

    def _length(self, key: str, windowed: bool) -> int:
        """A head's width: the windowed layers' own, the model's, or an even share of the embedding."""
        values = self._values
        own = values.optional_integer(f"attention.{key}_swa") if windowed else None
        length = own or values.optional_integer(f"attention.{key}")
        if length:
            return length
        heads = next((heads for heads in self._heads if heads), 0)
        if not heads:
            raise UnsupportedModel(f"{values.where}: key {values.spelled('attention.head_count')} is missing.")
        return values.integer("embedding_length", minimum=1) // heads

    def _latent(self, index: int, tensors: LayerTensors) -> LatentAttention:
        """Files give the cached width as *key_length*: the latent vector and its rotary part."""
        values = self._values
        rank = values.integer("attention.kv_lora_rank", minimum=1)
        width = values.optional_integer("attention.key_length") or 0
        return LatentAttention(
            num_attention_heads=self._heads[index],
            kv_lora_rank=rank,
            qk_rope_head_dim=width - rank if width > rank else values.integer("rope.dimension_count"),
            index_head_dim=self._index_head_dim(index, tensors),
        )

    def _index_head_dim(self, index: int, tensors: LayerTensors) -> int:
        """The indexer's key, in the layers with an indexer of their own."""
        own = self._values.per_layer("attention.indexer.types", self._number)
        has_own = own[index] if own is not None and index < self._number else "indexer.attn_k" in tensors.names
        return self._values.integer("attention.indexer.key_length") if has_own else 0

    def _index(self) -> Attention:
        """The key by which blocks of tokens are chosen, without a value."""
        width = self._values.integer("attention.indexer.key_length", minimum=1)
        heads = self._values.optional_integer("attention.indexer.head_count", minimum=1) or 1
        return Attention(num_attention_heads=heads, num_key_value_heads=1, head_dim=width, v_head_dim=0)

    def _compressed(self, index: int) -> tuple[str, tuple[Mixer, ...]]:
        """DeepSeek-V4: a window and, by its ratio, entries of short or of long blocks; predicting layers only that."""
        values = self._values
        ratios = values.per_layer("attention.compress_ratios", self._number, at_least=self._number)
        head_dim = values.integer("attention.key_length", minimum=1)
        rotary, tokens = values.integer("rope.dimension_count"), values.integer("attention.sliding_window", minimum=1)
        if ratios is None or rotary > head_dim:
            raise UnsupportedModel(
                f"{values.where}: {values.spelled('attention.compress_ratios')} is missing, or "
                f"{values.spelled('rope.dimension_count')} above {values.spelled('attention.key_length')}."
            )
        keys = window(self._heads[index], head_dim, rotary, tokens)
        match ratios[index] if index < self._number else 0:
            case 0:
                return "windowed_key_attention", (keys,)
            case 4 as block:
                width = values.integer("attention.indexer.key_length", minimum=1)
                blocks = overlapping_blocks(head_dim, width, block, self._state_format)
                return "compressed_sparse_attention", (keys, *blocks)
            case block:
                return "heavily_compressed_attention", (keys, *long_blocks(head_dim, block))

    def _check_width(self, index: int, attention: Attention, tensors: LayerTensors) -> None:
        """Metadata and tensors must agree on a layer's keys; unknown architectures' fused projections must, too."""
        keys = attention.num_key_value_heads * attention.head_dim
        values = attention.num_key_value_heads * attention.v_head_dim
        queries = attention.num_attention_heads * attention.head_dim
        expected = {"attn_k": keys} if self._is_known else {"attn_k": keys, "attn_qkv": queries + keys + values}
        for name, rows in expected.items():
            if tensors.widths.get(name, rows) != rows:
                raise UnsupportedModel(
                    f"{self._values.where}: layer {index} has an {name} of {format_count(tensors.widths[name])} rows, "
                    f"where head counts and {self._values.spelled('attention.key_length')} make {format_count(rows)}."
                )

    def _recurrence(self, index: int) -> Mixer:
        if not self._rule.state:
            raise UnsupportedModel(f"{self._values.where} has recurrent layers whose states are not understood.")
        return recurrence(self._values, self._rule.state, self._heads[index], self._state_format)

    def _read_cached_layers(self) -> int:
        """How many layers, from the first, have a cache of their own; the others read these."""
        shared = self._values.optional_integer("attention.shared_kv_layers")
        if shared is not None and self._rule.shares_layers:
            return self._number - shared
        return self._number if self._rule.cached_layers is None else self._rule.cached_layers

    def _read_lightning(self) -> Set[int]:
        """The layers that are recurrent although their tensors are those of attention."""
        if self._rule.state != "lightning_attention":
            return frozenset()
        written: Sequence[int] | None = self._values.per_layer("attention.recurrent_layers", self._number)
        if written is None:
            interval = self._values.optional_integer("full_attention_interval", minimum=1)
            every = interval or self._rule.full_attention_interval or 1
            written = [(index + 1) % every for index in range(self._number)]
        return frozenset(index for index, switch in enumerate(written) if switch)
