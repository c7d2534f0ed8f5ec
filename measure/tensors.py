"""Which tensors a model or a cache holds, and their bytes: as shapes say, and as the storages behind them are held."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

LIBRARY = "transformers"
"""Also how the modules begin that a model brings with its weights."""


def held_tensors(value: Any) -> Iterator[torch.Tensor]:
    """Every tensor in *value*, once, through lists, dicts and the attributes of the library's objects.

    Cache layers live beside the models that need them, under any name, so that all of the library's objects are opened
    but for modules, whose tensors are weights.
    """
    yield from _walk(value, set())


def _walk(value: Any, seen: set[int]) -> Iterator[torch.Tensor]:
    if id(value) in seen or isinstance(value, str | int | float | bool | type(None)):
        return
    seen.add(id(value))
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _walk(item, seen)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _walk(item, seen)
    elif type(value).__module__.startswith(LIBRARY) and not isinstance(value, torch.nn.Module):
        yield from _walk(vars(value), seen)


def model_tensors(model: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Parameters and buffers; tied ones once."""
    yield from model.parameters()
    yield from model.buffers()


def module_states(model: torch.nn.Module) -> Iterator[torch.Tensor]:
    """What modules themselves keep from one pass to the next, as RecurrentGemma's do: no parameters, no buffers."""
    for module in model.modules():
        yield from (value for value in vars(module).values() if isinstance(value, torch.Tensor))


def tensor_bytes(tensors: Iterable[torch.Tensor]) -> int:
    """Elements times their size: what the shapes say, whatever else their storages keep alive."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def storage_bytes(tensors: Iterable[torch.Tensor]) -> int:
    """Bytes of the storages behind *tensors*, each once: a view of a large storage keeps all of it."""
    storages = {tensor.untyped_storage()._cdata: tensor.untyped_storage() for tensor in tensors}
    return sum(storage.nbytes() for storage in storages.values())


def cache_of(output: Any) -> Any:
    """The cache that a forward pass returned; RWKV calls it a state."""
    cache = output.get("cache")
    return output.get("state") if cache is None else cache
