"""The format a config's file keeps its tensors in, before any quantisation of the checkpoint."""

from collections.abc import Mapping

from planner.formats import NumberFormat
from planner.readers.lookups import MISSING
from planner.readers.values import Values

_FORMATS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
SERVED_IN_16_BIT = (
    "The checkpoint is stored in 32 bit; it is usually served in 16 bit: choose bf16 weights to plan for that."
)
"""Said of a model, and of a plan that keeps its weights as they are stored."""
_KEYS = ("dtype", "torch_dtype")


def stored_format(
    sources: tuple[Values, ...], formats: Mapping[str, NumberFormat]
) -> tuple[NumberFormat, tuple[str, ...]]:
    """The format named by the first dtype key in *sources*, else by their class, and the warnings that come with it.

    Qwen's first generation has a flag a format instead: ``bf16``, ``fp16``, ``fp32``.
    """
    for values in sources:
        for key in _KEYS:
            dtype = values.written(key)
            if not (dtype in (None, MISSING) or isinstance(dtype, str)):
                raise values.wrong(key, dtype, f"one of {', '.join(_FORMATS)}")
            if isinstance(dtype, str) and dtype != "auto":
                return _named(values, key, dtype.removeprefix("torch."), formats)
        for dtype, name in _FORMATS.items():
            if values.get(name) is True:
                return _named(values, name, dtype, formats)
    for values in sources:
        dtype = values.text("dtype")
        if dtype in _FORMATS:
            return _named(values, "dtype", dtype, formats)
    return formats["bf16"], ("The config has no dtype: its weights are counted in 16 bit.",)


def _named(
    values: Values, key: str, dtype: str, formats: Mapping[str, NumberFormat]
) -> tuple[NumberFormat, tuple[str, ...]]:
    if dtype not in _FORMATS:
        raise values.wrong(key, dtype, f"one of {', '.join(_FORMATS)}")
    if dtype == "float32":
        return formats["fp32"], (SERVED_IN_16_BIT,)
    return formats[_FORMATS[dtype]], ()


def cache_format(stored: NumberFormat, formats: Mapping[str, NumberFormat]) -> NumberFormat:
    """Caches are kept in 16 bit: the weights' own kind, bf16 for 32-bit weights."""
    return stored if stored.name in ("bf16", "fp16") else formats["bf16"]
