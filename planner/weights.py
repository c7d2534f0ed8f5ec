"""Parameters by role, and the bytes they take in a given scheme."""

from collections.abc import Iterable, Iterator

from planner.architecture import Architecture, Layer, Tensor, distinct_layers
from planner.formats import QuantScheme, Role
from planner.shares import WHOLE, Shares, even

MTP = "mtp"


def counted_tensors(layers: Iterable[Layer], tensors: Iterable[Tensor]) -> Iterator[tuple[Tensor, int]]:
    """Every tensor with how many layers have it."""
    for tensor in tensors:
        yield tensor, 1
    for layer, count in distinct_layers(layers):
        for tensor in layer.tensors:
            yield tensor, count


def loaded_tensors(architecture: Architecture) -> Iterator[tuple[Tensor, int]]:
    """What is loaded to answer: text model and towers, a tied head once, no MTP layers."""
    yield from counted_tensors(architecture.layers, architecture.tensors)
    for tower in architecture.towers:
        yield from counted_tensors((), tower.tensors)


def parameters(architecture: Architecture) -> int:
    """Parameters that are loaded to answer."""
    return sum(tensor.elements * count for tensor, count in loaded_tensors(architecture))


def shape(architecture: Architecture) -> str:
    """What tells a model from others, however it is called: its published figures, or a small copy's."""
    return f"{len(architecture.layers)} layers, {parameters(architecture):,} parameters"


def identity(architecture: Architecture) -> dict[str, str]:
    """A model as a condition of measured items: how it is called, and by what it is known."""
    return {"model": architecture.name, "shape": shape(architecture)}


def is_table_beside(tensor: Tensor, architecture: Architecture) -> bool:
    """Whether it is an embedding beside the words' own, for every layer or for n-grams: looked up, a row a token.

    It is wider than the model, or has far more rows than the vocabulary has words.
    """
    is_larger = tensor.columns > architecture.hidden_size or tensor.rows > 2 * architecture.vocab_size
    return tensor.role is Role.EMBEDDING and is_larger


def active_parameters(architecture: Architecture) -> int:
    """Parameters that one text token passes through: the chosen experts only, towers and tables beside left out."""
    return sum(
        tensor.active_elements * count
        for tensor, count in counted_tensors(architecture.layers, architecture.tensors)
        if not is_table_beside(tensor, architecture)
    )


def parameters_by_role(architecture: Architecture) -> dict[str, int]:
    """Parameters by what they are for. Towers and MTP layers are roles of their own.

    All but ``mtp`` add up to ``parameters``.
    """
    by_role: dict[str, int] = {}
    for tensor, count in counted_tensors(architecture.layers, architecture.tensors):
        by_role[tensor.role] = by_role.get(tensor.role, 0) + tensor.elements * count
    for tower in architecture.towers:
        by_role[tower.kind] = by_role.get(tower.kind, 0) + sum(t.elements for t in tower.tensors)
    if architecture.mtp_layers:
        by_role[MTP] = sum(t.elements * count for t, count in counted_tensors(architecture.mtp_layers, ()))
    return {str(role): number for role, number in by_role.items()}


def tensor_bytes(tensor: Tensor, scheme: QuantScheme, shares: Shares = WHOLE) -> int:
    """Bytes of one rank's share of *tensor*: its rows, or its experts' rows, split evenly and rounded up.

    More ranks than heads of keys and values: a head each.
    """
    number_format = scheme.format_of(tensor.role, tensor.stored)
    rows, columns, parts = tensor.rows, tensor.columns, shares.parts(tensor)
    if parts > 1:
        parts = min(parts, tensor.heads) if tensor.heads else parts
        if rows > 1:
            rows = -(-rows // parts)
        else:
            columns = -(-columns // parts)
    return shares.count(tensor) * number_format.bytes_for(columns, rows)


def tensors_bytes(tensors: Iterable[tuple[Tensor, int]], scheme: QuantScheme, shares: Shares = WHOLE) -> int:
    """Bytes of counted tensors on one rank."""
    return sum(count * tensor_bytes(tensor, scheme, shares) for tensor, count in tensors)


def model_bytes(layers: Iterable[Layer], tensors: Iterable[Tensor], scheme: QuantScheme, shares: Shares = WHOLE) -> int:
    """Weight bytes of *layers* and *tensors* on one rank."""
    return tensors_bytes(counted_tensors(layers, tensors), scheme, shares)


def bytes_by_role(
    layers: Iterable[Layer], tensors: Iterable[Tensor], scheme: QuantScheme, tensor_parallel: int = 1
) -> dict[str, int]:
    """The same bytes as ``model_bytes``, by role."""
    by_role: dict[Role, int] = {}
    shares = even(tensor_parallel)
    for tensor, count in counted_tensors(layers, tensors):
        by_role[tensor.role] = by_role.get(tensor.role, 0) + count * tensor_bytes(tensor, scheme, shares)
    return {str(role): size for role, size in by_role.items()}
