"""Where a model's files say how they are quantised."""

from collections.abc import Iterable, Mapping

from planner.readers.values import Values


def quantization_of(
    sources: Iterable[Values], sibling: Mapping[str, object] | None = None
) -> Mapping[str, object] | None:
    """What the first of *sources*, or else a *sibling* ``hf_quant_config.json``, says of a quantisation; None: nothing.

    ``expert_dtype`` stands beside a ``quantization_config``, and MLX writes its own as ``quantization``.
    """
    for values in sources:
        stated = values.table("quantization_config") or values.table("quantization")
        if stated:
            expert_dtype = {"expert_dtype": values.get("expert_dtype")} if values.has("expert_dtype") else {}
            # Some writers put ModelOpt's whole file here, with its settings one level down.
            inner = stated.get("quantization")
            return {**expert_dtype, **stated, **(inner if isinstance(inner, Mapping) else {})}
    inner = (sibling or {}).get("quantization")
    return inner if isinstance(inner, Mapping) else sibling
