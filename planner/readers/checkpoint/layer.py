"""One layer's stored weights as its tensors: shapes from the headers, or from the config where packing hides them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import NamedTuple

from planner.architecture import Tensor
from planner.formats import Role
from planner.readers.checkpoint.formats import dtype_format, exact_format
from planner.readers.stored_tensors import DTYPE_BITS

_BLOCK = 64
"""Columns given to packed weights whose shape nobody tells, so that they still split over devices."""


class StoredKind(NamedTuple):
    """Everything in which one stored weight of a layer differs from another; experts of one kind count together."""

    name: str
    role: Role
    dtype: str
    shape: tuple[int, ...] | None
    bytes: int
    packed_bytes: int
    is_packed: bool

    @property
    def is_expert(self) -> bool:
        """Whether it is an expert's, weight or bias."""
        return self.role is Role.EXPERT or (self.role is Role.BIAS and "experts." in self.name)


class Sharing(NamedTuple):
    """Whether every rank has a tensor whole, and the heads of which none is cut."""

    replicated: bool = False
    heads: int = 0


class Reference:
    """What a config's reader knows of the same layer: shapes, experts a token uses, how ranks share tensors."""

    __slots__ = ("_by_name", "active", "bits", "experts", "replicated_roles")

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        tensors = tuple(tensors)
        self._by_name = {tensor.name: tensor for tensor in tensors}
        experts = [tensor for tensor in tensors if tensor.role is Role.EXPERT]
        self.active = max((tensor.active for tensor in experts), default=-1)
        self.experts = max((tensor.count for tensor in experts), default=0)
        self.bits: Mapping[Role, int] = {
            t.role: 8 * t.stored.bytes // t.stored.elements for t in tensors if not t.stored.is_unquantized
        }
        self.replicated_roles = frozenset({Role.NORM, Role.ROUTER})

    def shape(self, name: str) -> tuple[int, int] | None:
        tensor = self._by_name.get(name)
        return (tensor.rows, tensor.columns) if tensor else None

    def sharing(self, name: str, role: Role) -> Sharing:
        tensor = self._by_name.get(name)
        if tensor is None:
            return Sharing(replicated=role in self.replicated_roles)
        return Sharing(replicated=tensor.replicated, heads=tensor.heads)


def layer_tensors(kinds: Counter[StoredKind], reference: Reference, unknown: set[str]) -> tuple[Tensor, ...]:
    """The tensors that *kinds* make up; names of weights whose parameters nobody tells are added to *unknown*."""
    used: Counter[str] = Counter()
    tensors: list[Tensor] = []
    # Of a projection that is stored in two ways, a token's experts are of the larger share.
    for kind, count in kinds.most_common():
        shape = kind.shape if kind.shape is not None else _hidden_shape(kind, reference, unknown)
        stacked = _stacked(kind, shape, count, reference.experts)
        active = -1
        if kind.is_expert and reference.active >= 0:
            active = min(reference.active - used[kind.name], count * (stacked or 1))
            used[kind.name] += active
        tensors += _tensors(kind, shape, count, stacked, active, reference.sharing(kind.name, kind.role))
    return tuple(tensors)


def _stacked(kind: StoredKind, shape: tuple[int, ...], count: int, experts: int) -> int:
    """How many experts are one tensor, along its first dimension; 0 where it is one expert's or none's."""
    if not kind.is_expert or not shape:
        return 0
    if len(shape) >= (3 if kind.role is Role.EXPERT else 2):
        return shape[0]
    # DBRX joins the rows of all experts in one matrix.
    return experts if count == 1 and experts > 1 and shape[0] % experts == 0 else 0


def _tensors(
    kind: StoredKind, shape: tuple[int, ...], count: int, stacked: int, active: int, sharing: Sharing
) -> Iterator[Tensor]:
    size = kind.bytes
    if stacked:
        size, rest = divmod(size, stacked)
        if rest:
            # One scale for all experts: bytes without parameters of their own.
            yield _tensor(kind, (0,), rest, count, active=-1, sharing=Sharing())
        count, shape = count * stacked, shape[1:] if shape[0] == stacked else (shape[0] // stacked, *shape[1:])
    yield _tensor(kind, shape, size, count, active, sharing)


def _tensor(kind: StoredKind, shape: tuple[int, ...], size: int, count: int, active: int, sharing: Sharing) -> Tensor:
    rows, columns = prod(shape[:-1]), shape[-1] if shape else 1
    stored = dtype_format(kind.dtype)
    if kind.is_packed or stored.bytes_for(columns, rows) != size:
        elements = rows * columns
        bits = 8 * kind.packed_bytes // elements if elements else 0
        stored = exact_format(f"{bits}-bit {stored.name}" if bits else stored.name, rows, columns, size)
    return Tensor(
        name=kind.name,
        role=kind.role,
        rows=rows,
        columns=columns,
        count=count,
        active=active,
        stored=stored,
        replicated=sharing.replicated,
        heads=sharing.heads,
    )


def _hidden_shape(kind: StoredKind, reference: Reference, unknown: set[str]) -> tuple[int, ...]:
    """A packed weight's shape where its companions do not tell it: the config's, or its elements in rows of a block."""
    known = reference.shape(kind.name)
    if known:
        return known
    bits = reference.bits.get(kind.role)
    if not bits:
        unknown.add(kind.name)
        bits = DTYPE_BITS[kind.dtype]
    elements = 8 * kind.packed_bytes // bits
    return (elements // _BLOCK, _BLOCK) if elements % _BLOCK == 0 else (elements,)
