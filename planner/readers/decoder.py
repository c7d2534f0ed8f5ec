"""The text model being read: its values, its family's rules, and makers of its tensors."""

from collections.abc import Iterator, Mapping

from planner.architecture import Tensor
from planner.formats import NumberFormat, Role
from planner.readers.family import Family
from planner.readers.structure import Structure, Switch
from planner.readers.values import Values
from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoder:
    """What every part of a text model is built from.

    *stored* is the format its file keeps unquantised tensors in, *formats* all formats by name.
    """

    values: Values
    family: Family
    hidden_size: int
    stored: NumberFormat
    formats: Mapping[str, NumberFormat]

    @property
    def structure(self) -> Structure:
        return self.family.structure

    def is_on(self, switch: Switch) -> bool:
        return switch if isinstance(switch, bool) else self.values.flag(switch)

    def matrix(
        self,
        name: str,
        rows: int,
        columns: int,
        *,
        role: Role = Role.LINEAR,
        replicated: bool = False,
        heads: int = 0,
    ) -> Tensor:
        """A weight of *rows* (out features, of so many *heads*) × *columns* (in features)."""
        return Tensor(
            name=f"{name}.weight",
            role=role,
            rows=rows,
            columns=columns,
            stored=self.stored,
            replicated=replicated,
            heads=heads,
        )

    def linear(
        self,
        name: str,
        rows: int,
        columns: int,
        bias: bool = False,
        *,
        role: Role = Role.LINEAR,
        replicated: bool = False,
        heads: int = 0,
    ) -> Iterator[Tensor]:
        """A projection and, where it has one, its bias."""
        yield self.matrix(name, rows, columns, role=role, replicated=replicated, heads=heads)
        if bias:
            yield self.vector(f"{name}.bias", rows, role=Role.BIAS, replicated=replicated, heads=heads)

    def vector(self, name: str, size: int, *, role: Role, replicated: bool = True, heads: int = 0) -> Tensor:
        return Tensor(name=name, role=role, columns=size, stored=self.stored, replicated=replicated, heads=heads)

    def norm(self, name: str, size: int, switch: Switch | None = None) -> Iterator[Tensor]:
        """A normalisation's weight and, for LayerNorm with one, its bias: *switch* decides, else the family's rule."""
        yield self.vector(f"{name}.weight", size, role=Role.NORM)
        if self.is_on(self.structure.norm_bias if switch is None else switch):
            yield self.vector(f"{name}.bias", size, role=Role.NORM)
