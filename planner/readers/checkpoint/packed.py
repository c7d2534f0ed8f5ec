"""Stored tensors to the weights they stand for: packed integers with their scales and zero points are one tensor.

Every byte is kept: what lies beside a weight is counted with it. Shapes come from the companions where these tell them,
otherwise from the model's own config.
Sources: https://github.com/ModelCloud/GPTQModel (GPTQ), https://github.com/casper-hansen/AutoAWQ (AWQ),
https://github.com/vllm-project/compressed-tensors, https://github.com/NVIDIA/TensorRT-Model-Optimizer,
https://github.com/bitsandbytes-foundation/bitsandbytes, https://github.com/turboderp-org/exllamav3, https://github.com/ml-explore/mlx.
"""

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import NamedTuple

from planner.readers.stored_tensors import DTYPE_BITS, StoredGroup, StoredTensor


class Weight(NamedTuple):
    """One weight as the model sees it; *shape* is None where the headers do not tell, without elements for lone scales.

    *bytes* includes every companion's; *packed_bytes* is the packed weight's own, from which bits per element follow.
    """

    name: str
    dtype: str
    shape: tuple[int, ...] | None
    bytes: int
    packed_bytes: int
    is_packed: bool


# Spellings of the packed weight itself, after the name of its module; then of what lies beside it.
_PACKED = ("weight_packed", "qweight", "q_weight", "trellis", "W_q", "blocks")
_ACTIVATION_SCALES = re.compile(r"(?:input|output)_(?:global_)?scale|(?:input|output)_zero_point|[qkv]_scale")
_MODULE_PART = re.compile(
    rf"{_ACTIVATION_SCALES.pattern}|qweight|qzeros|scales?|zero|biases|g_idx|SCB|weight_format|W_q"
    r"|q_weight|q_scale_max|q_groups|q_group_map|q_perm|q_invperm|trellis|su|sv|suh|svh|mcg|mul1"
)
_UNDERSCORED = re.compile(
    r"(.+?)_(packed|shape|zero_point|g_idx|scale|scale_inv|scale_2|scales|global_scale|blocks|scale_inv_2|channel_scale)"
)
_BITSANDBYTES = re.compile(r"(.+\.weight)\.(absmax|quant_map|nested_absmax|nested_quant_map|quant_state\..+)")


def weights(groups: Iterable[StoredGroup]) -> Iterator[tuple[Weight, StoredGroup]]:
    """Each kind of weight that *groups* store, named by its template, with a group that says which ones are so stored.

    Weights are of one kind if they and all that lies beside them have the same types and shapes.
    """
    modules: dict[str, dict[str, list[StoredGroup]]] = {}
    for group in groups:
        base, part = _split(group.template)
        modules.setdefault(base, {}).setdefault(part, []).append(group)
    for base, parts in modules.items():
        for kind, which in _alike(parts):
            for weight in _weights(base, kind):
                yield weight, which


def _alike(parts: Mapping[str, list[StoredGroup]]) -> Iterator[tuple[dict[str, StoredTensor], StoredGroup]]:
    """The parts that some weights consist of, and these weights."""
    every = [(part, group) for part, groups in parts.items() for group in groups]
    first = every[0][1]
    if len(parts) == len(every) and all(_same(group.packed, first.packed) for _, group in every):
        yield {part: group.tensor for part, group in every}, first
        return
    # One bit for each group that a weight has a part in.
    chosen: dict[int, int] = {}
    for bit, (_, group) in enumerate(every):
        for packed in group.packed:
            chosen[packed] = chosen.get(packed, 0) | 1 << bit
    alike: dict[int, array[int]] = {}
    for packed, bits in chosen.items():
        alike.setdefault(bits, array("q")).append(packed)
    for bits, which in alike.items():
        kind = {part: group.tensor for bit, (part, group) in enumerate(every) if bits >> bit & 1}
        yield kind, replace(first, packed=which)


def _same(some: Sequence[int], others: Sequence[int]) -> bool:
    return some == others or (len(some) == len(others) and sorted(some) == sorted(others))


def _weights(base: str, parts: Mapping[str, StoredTensor]) -> Iterator[Weight]:
    main = next((parts[part] for part in (*_PACKED, "") if part in parts), None)
    if main is None:
        yield from (_alone(tensor, part) for part, tensor in parts.items())
    elif len(parts) == 1 and main.name == base:
        yield _plain(main)
    else:
        yield _with_companions(base, main, parts)


def _split(name: str) -> tuple[str, str]:
    """The name of the weight that a tensor belongs to, and which part of it it is; "" for the weight itself."""
    if name.endswith(".weight"):
        return name, ""
    if ".weight." in name and (match := _BITSANDBYTES.fullmatch(name)):
        return match[1], match[2].partition(".")[0]
    module, dot, last = name.rpartition(".")
    stem, part = _split_last(last)
    return (f"{module}{dot}{stem}", part) if part and (module or stem != "weight") else (name, "")


@lru_cache(maxsize=4096)
def _split_last(last: str) -> tuple[str, str]:
    if _MODULE_PART.fullmatch(last):
        return "weight", last
    match = _UNDERSCORED.fullmatch(last)
    if match is None:
        return last, ""
    return match[1], f"weight_{match[2]}" if match[1] == "weight" else match[2]


def _plain(tensor: StoredTensor) -> Weight:
    return Weight(
        name=tensor.name,
        dtype=tensor.dtype,
        shape=tensor.shape,
        bytes=tensor.bytes,
        packed_bytes=tensor.bytes,
        is_packed=False,
    )


def _alone(tensor: StoredTensor, part: str) -> Weight:
    """A tensor named like a companion without its weight: scales of activations and caches hold no parameters."""
    scale = _ACTIVATION_SCALES.fullmatch(part) is not None and prod(tensor.shape) == 1
    return Weight(
        name=tensor.name,
        dtype=tensor.dtype,
        shape=(0,) if scale else tensor.shape,
        bytes=tensor.bytes,
        packed_bytes=tensor.bytes,
        is_packed=scale,
    )


def _with_companions(base: str, main: StoredTensor, parts: Mapping[str, StoredTensor]) -> Weight:
    return Weight(
        name=base,
        dtype=main.dtype,
        shape=_shape(main.dtype, main.shape, tuple((part, tensor.shape) for part, tensor in parts.items())),
        bytes=sum(tensor.bytes for tensor in parts.values()),
        packed_bytes=main.bytes,
        is_packed=True,
    )


@lru_cache(maxsize=4096)
def _shape(
    dtype: str, own: tuple[int, ...], companions: tuple[tuple[str, tuple[int, ...]], ...]
) -> tuple[int, ...] | None:
    """The shape of a weight stored as *dtype* and *own*, rows first, or None where only the config can tell."""
    shapes = dict(companions)
    if "qweight" in shapes:
        return _gptq_or_awq(dtype, own, shapes)
    if "blocks" in shapes and len(own) >= 2:
        # Microscaling blocks: two 4-bit elements a byte.
        return (*own[:-2], 2 * own[-2] * own[-1])
    if "suh" in shapes and "svh" in shapes:
        return (*shapes["svh"], *shapes["suh"])
    if "q_invperm" in shapes and len(own) == 2:
        return (own[1], *shapes["q_invperm"])
    if "absmax" in shapes and dtype == "U8":
        return None
    if "weight_packed" in shapes:
        return _packed_rows(dtype, own, shapes)
    if dtype == "U8" or (dtype == "I8" and _is_two_a_byte(own, shapes)):
        return _two_a_byte(own)
    return None if dtype in ("U32", "I32") or "W_q" in shapes else own


def _gptq_or_awq(dtype: str, own: tuple[int, ...], shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...] | None:
    """GPTQ packs along the input, AWQ along the output; scales are [groups, output] in both."""
    scales, zeros = shapes.get("scales", ()), shapes.get("qzeros", ())
    if len(own) != 2 or len(scales) != 2:
        return None
    word = DTYPE_BITS[dtype]
    out = scales[1]
    if own[1] != out:
        return (out, own[0])
    if shapes.get("g_idx", (0,))[0]:
        return (out, shapes["g_idx"][0])
    bits = word * zeros[1] // out if len(zeros) == 2 and out else 0
    return (out, own[0] * word // bits) if bits else None


def _packed_rows(dtype: str, own: tuple[int, ...], shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...] | None:
    """compressed-tensors: rows are outputs; packed zero points tell the bits of packed words."""
    if dtype == "U8":
        return _two_a_byte(own)
    zeros = shapes.get("weight_zero_point", ())
    if len(own) != 2 or len(zeros) != 2 or not own[0]:
        return None
    word = DTYPE_BITS[dtype]
    bits = word * zeros[0] // own[0]
    return (own[0], own[1] * word // bits) if bits else None


def _two_a_byte(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:-1], 2 * shape[-1]) if shape else shape


def _is_two_a_byte(shape: tuple[int, ...], shapes: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether a scale a group of 16 or 32 shows that each byte holds two 4-bit floats."""
    scale = next((shapes[part] for part in ("scale", "weight_scale", "weight_scale_inv") if part in shapes), ())
    return len(scale) == len(shape) > 0 and scale[-1] > 1 and shape[-1] in (8 * scale[-1], 16 * scale[-1])
