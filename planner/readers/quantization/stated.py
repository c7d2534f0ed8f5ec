"""Where a model's files say how they are quantised."""

from collections.abc import Iterable, Mapping

from planner.readers.values import Values
from planner.units import shorten

SIBLINGS = ("hf_quant_config.json", "quantize_config.json", "quant_config.json")
"""What ModelOpt, GPTQ's first tools and AutoAWQ write beside a config that says nothing itself; the first counts."""
_CACHE_KEYS = ("kv_cache_quant_algo", "kv_cache_scheme")


def quantization_of(
    sources: Iterable[Values], sibling: Mapping[str, object] | None = None
) -> Mapping[str, object] | None:
    """What the first of *sources*, or else a *sibling*, one of SIBLINGS, says of a quantisation; None: nothing.

    ``expert_dtype`` stands beside a ``quantization_config``. MLX writes its own as ``quantization``, at first without
    the mode, which was affine, and a copy of it as ``quantization_config``.
    """
    for values in sources:
        stated = values.table("quantization_config") or values.table("quantization")
        if stated:
            usual = {"mode": "affine"} if _is_from_mlx(values) else {}
            expert_dtype = {"expert_dtype": values.get("expert_dtype")} if values.has("expert_dtype") else {}
            # Some writers put ModelOpt's whole file here, with its settings one level down.
            inner = stated.get("quantization")
            return {**usual, **expert_dtype, **stated, **(inner if isinstance(inner, Mapping) else {})}
    inner = (sibling or {}).get("quantization")
    return inner if isinstance(inner, Mapping) else _with_method(sibling)


def _is_from_mlx(values: Values) -> bool:
    own = values.get("quantization")
    return isinstance(own, Mapping) and "bits" in own and "group_size" in own


def _with_method(sibling: Mapping[str, object] | None) -> Mapping[str, object] | None:
    """*sibling* with the method that its file is only of: ``w_bit`` is AutoAWQ's, ``bits`` GPTQ's first tools'."""
    for key, method in (("w_bit", "awq"), ("bits", "gptq")):
        if sibling and key in sibling:
            return {"quant_method": method, **sibling}
    return sibling


def cache_note(stated: Mapping[str, object] | None, sibling: Mapping[str, object] | None) -> tuple[str, ...]:
    """That only the *sibling* wants the cache in few bits, where the config has a quantisation of its own.

    Engines read the sibling for configs that have none.
    """
    inner = (sibling or {}).get("quantization", sibling)
    wanted = inner.get("kv_cache_quant_algo") if isinstance(inner, Mapping) else None
    if not wanted or not stated or stated is inner or any(stated.get(key) for key in _CACHE_KEYS):
        return ()
    return (
        f"hf_quant_config.json wants the cache in {shorten(str(wanted))}, the config's own quantisation does not: it "
        "is counted in 16 bit; choose another format for the cache to plan for that.",
    )
