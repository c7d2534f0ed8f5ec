"""The walker that counts a cache finds every tensor in every kind of cache that the library has."""

import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import cache_utils

from measure.tensors import held_tensors

MODELS = Path(transformers.__file__).parent / "models"
BESIDE_A_MODEL = re.compile(r"^class (\w*Cache\w*\b|\w+\([^)]*(Cache|Layer)\b)", re.MULTILINE)


def modules() -> Iterator[Any]:
    """The library's own caches, and those of models that bring one."""
    yield cache_utils
    for path in sorted(MODELS.glob("*/modeling_*.py")):
        if BESIDE_A_MODEL.search(path.read_text(encoding="utf-8")):
            yield importlib.import_module(f"transformers.models.{path.parent.name}.{path.stem}")


@cache
def classes() -> frozenset[Any]:
    """Every class there that keeps something from one call to the next."""
    layers = cache_utils.CacheLayerMixin, cache_utils.LinearAttentionCacheLayerMixin, cache_utils.Cache
    found = {
        kind
        for module in modules()
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and ("Cache" in kind.__name__ or issubclass(kind, layers))
    }
    # Models that bring a layer add it to these when they are imported.
    mappings = cache_utils.DYNAMIC_LAYER_TYPE_MAPPING, cache_utils.STATIC_LAYER_TYPE_MAPPING
    return frozenset(found).union(*(mapping.values() for mapping in mappings))


def test_caches_that_models_bring_are_among_them() -> None:
    names = {kind.__name__ for kind in classes()}
    assert {"DynamicCache", "DynamicSlidingWindowLayer", "LinearAttentionLayer", "EncoderDecoderCache"} <= names
    assert {"DeepseekV4CSACache", "MiniMaxM3VLSparseCacheLayer", "xLSTMCache", "MiniMaxCache"} <= names


def test_no_class_is_skipped() -> None:
    """Whatever name a tensor has in it, alone, by name or in a list; the same tensor under two names once."""
    alone, named, listed = (torch.empty(size) for size in (1, 2, 3))
    for kind in classes():
        concrete: Any = type(kind.__name__, (kind,), {"__module__": kind.__module__})
        concrete.__abstractmethods__ = frozenset()
        held = object.__new__(concrete)
        vars(held).update(keys=alone, values=alone, states={"indexer": named, "none": None}, layers=[(listed, 1)])
        found = list(held_tensors({"cache": held, "again": held}))
        assert sorted(tensor.numel() for tensor in found) == [1, 2, 3], kind


def test_weights_are_not_a_cache() -> None:
    assert not list(held_tensors([torch.nn.Linear(2, 2)]))
