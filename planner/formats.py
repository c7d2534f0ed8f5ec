"""How numbers are stored: blocks of elements, the scales beside them, and which tensor role takes which format."""

from collections.abc import Mapping
from enum import StrEnum

from planner.errors import UnknownName
from planner.records import dataclass
from planner.units import shorten


class Role(StrEnum):
    """What a tensor is for. Formats are chosen by role: quantisers leave embeddings, heads and routers alone."""

    EMBEDDING = "embedding"
    HEAD = "head"
    NORM = "norm"
    LINEAR = "linear"
    EXPERT = "expert"
    ROUTER = "router"
    BIAS = "bias"
    STATE = "state"
    """Small tensors of state-space and linear-attention mixers that are not matrix products: conv, A_log, D, dt."""
    TOWER = "tower"
    """Everything in a vision or audio tower: quantisers of text models leave it alone."""


QUANTIZED_ROLES = frozenset({Role.LINEAR, Role.EXPERT})
CHECKPOINT = "checkpoint"
"""The weights' name when they are kept as the model's own file stores them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Bytes kept beside the blocks for every tile of *rows* × *columns* elements; 0 means the whole extent."""

    bytes: int
    rows: int = 1
    columns: int = 0

    def bytes_for(self, rows: int, columns: int) -> int:
        row_tiles = -(-rows // self.rows) if self.rows else 1
        column_tiles = -(-columns // self.columns) if self.columns else 1
        return row_tiles * column_tiles * self.bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFormat:
    """A storage format as integers: *bytes* for a block of *elements* along a row, and scales that lie outside it.

    Bits per weight are derived, never stored: GGUF's IQ2_S is 82 bytes per 256 elements, not "2.5 bits".
    """

    name: str
    elements: int
    bytes: int
    scales: tuple[Scale, ...] = ()
    title: str = ""
    kind: str = "float"
    cache: bool = False
    weights: bool = True
    source: str = ""

    def bytes_for(self, columns: int, rows: int = 1) -> int:
        """Bytes of a tensor of *rows* × *columns* elements; every row ends on a whole block.

        >>> NumberFormat(name="int4-g128", elements=128, bytes=66).bytes_for(13_000_000_000)
        6703125000
        """
        stored = rows * -(-columns // self.elements) * self.bytes
        for scale in self.scales:
            stored += scale.bytes_for(rows, columns)
        return stored

    @property
    def bits_per_element(self) -> float:
        """Bits of one element of a large row, without scales whose share depends on the tensor's shape."""
        bits = 8 * self.bytes / self.elements
        return bits + sum(8 * s.bytes / (s.rows * s.columns) for s in self.scales if s.rows and s.columns)

    @property
    def is_unquantized(self) -> bool:
        """Whether whole models are stored so: floats of 16 bits or more."""
        return self.kind == "float" and 8 * self.bytes >= 16 * self.elements


@dataclass(frozen=True, slots=True, kw_only=True)
class MixRule:
    """Tensors called one of *tensors*, in *layers* (empty: in all), take *format* where the model is so shaped.

    *experts*, *not_experts*, *min_experts*: the number of experts; *min_gqa*: query heads to a key-value head;
    *model_layers*: the number of layers.
    """

    tensors: tuple[str, ...]
    format: NumberFormat
    layers: str = ""
    experts: int | None = None
    not_experts: int | None = None
    min_experts: int = 0
    min_gqa: int = 0
    model_layers: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufMix:
    """A GGUF file type: *format* for matrices unless one of *rules* comes first, formats of *head* and *embedding*.

    *full* is for what is not quantised; *fallbacks* take the place of formats whose blocks do not fill a row, and
    *unfilled* where that does not help. *fused_qkv* are the model types whose queries, keys and values are one tensor,
    *own_experts* those whose experts stay as the checkpoint has them.
    *is_usual*: anybody's model may be had in it. *own_head*: the file has the head of a model that ties it once more.
    """

    name: str
    title: str
    format: NumberFormat
    head: NumberFormat
    embedding: NumberFormat
    full: NumberFormat
    unfilled: NumberFormat
    fallbacks: Mapping[str, NumberFormat]
    rules: tuple[MixRule, ...] = ()
    fused_qkv: frozenset[str] = frozenset()
    own_experts: frozenset[str] = frozenset()
    is_usual: bool = True
    own_head: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantScheme:
    """Which format each tensor role is stored in. ``None`` for *format*: as the model's own file stores it.

    *quantize* ``linear`` leaves embedding, head, norms, router and biases in *rest* (16 bit); ``all`` converts all.
    With a *mix*, *format* is ``None`` and the model's tensors are first stored as the mix decides.
    """

    format: NumberFormat | None
    rest: NumberFormat
    quantize: str = "linear"
    mix: GgufMix | None = None

    @property
    def name(self) -> str:
        chosen = self.format or self.mix
        return CHECKPOINT if chosen is None else chosen.name

    def format_of(self, role: Role, stored: NumberFormat) -> NumberFormat:
        if self.format is None:
            return stored
        if self.quantize == "all" or role in QUANTIZED_ROLES or self.format.is_unquantized:
            return self.format
        return self.rest


def find_format(formats: Mapping[str, NumberFormat], name: str, use: str) -> NumberFormat:
    """The format of this name or alias for *use*, ``weights`` or ``cache``; raises UnknownName with what exists."""
    found = formats.get(name.strip().lower())
    if found is not None and getattr(found, use):
        return found
    known = sorted({f.name for f in formats.values() if getattr(f, use)})
    reason = "is not known" if found is None else f"cannot store {use}"
    raise UnknownName(f"Format {shorten(name)!r} {reason}; for {use} choose one of: {', '.join(known)}.")
