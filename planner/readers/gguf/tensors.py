"""A GGUF's tensors by layer, as the architecture's own, with the role that each name tells.

Names are ggml's: https://github.com/ggml-org/llama.cpp/blob/master/gguf-py/gguf/constants.py.
"""

import re
from collections import Counter
from collections.abc import Iterable
from math import prod
from typing import NamedTuple

from planner.architecture import Tensor
from planner.formats import NumberFormat, Role
from planner.readers.checkpoint.formats import exact_format
from planner.readers.gguf.header import GgufTensor

_BLOCK = re.compile(r"blk\.(\d{1,6})\.(.+)")
_TOWER = re.compile(r"(?:v|a|mm|resampler)\.")
_AUDIO = re.compile(r"(?:a|mm\.a)\.")

_EMBEDDINGS = frozenset({"token_embd", "position_embd", "token_types", "per_layer_token_embd", "nextn.embed_tokens"})
_HEADS = frozenset({"output", "nextn.shared_head_head"})
_EXPERT = re.compile(r"ffn_(?:gate|up|down|gate_up)_(?:exps|chexps)|ffn_(?:gate|up|down)\.#")
_EXPERT_INDEX = re.compile(r"(ffn_(?:gate|up|down)\.)\d+(?=\.)")
_ROUTER = re.compile(r"ffn_gate_inp\w*|exp_probs_b|ffn_gate_tid2eid")
_STATE = re.compile(
    r"ssm_(?:conv1d\w*|a|d|dt)|shortconv\.conv|time_mix_(?!key|value|receptance|gate|output)\w+|channel_mix_lerp_\w+"
)
_SCALES = ("scale", "input_scale")
_REPLICATED = frozenset({Role.NORM, Role.ROUTER})


def layer_of(name: str) -> tuple[int, str] | None:
    """The layer that a tensor belongs to and its name in it, None around the layers."""
    match = _BLOCK.fullmatch(name)
    return (int(match[1]), match[2]) if match else None


def tower_of(name: str) -> str:
    """The kind of tower that a tensor outside the layers belongs to, empty for the text model."""
    if not _TOWER.match(name):
        return ""
    return "audio" if _AUDIO.match(name) else "vision"


def role_of(name: str, dimensions: int) -> Role:
    """What the tensor *name*, without its layer, is for.

    >>> role_of("ffn_gate_exps.weight", 3), role_of("attn_q.bias", 1)
    (<Role.EXPERT: 'expert'>, <Role.BIAS: 'bias'>)
    """
    base, _, kind = name.rpartition(".") if name.endswith((".weight", ".bias", ".scale")) else (name, "", "")
    if _ROUTER.fullmatch(base):
        return Role.ROUTER
    if _STATE.fullmatch(base):
        return Role.STATE
    if "norm" in base:
        return Role.NORM
    if kind == "bias":
        return Role.BIAS
    if base in _EMBEDDINGS:
        return Role.EMBEDDING
    if base in _HEADS:
        return Role.HEAD
    if _EXPERT.fullmatch(base):
        return Role.EXPERT
    return Role.LINEAR if dimensions >= 2 or kind == "scale" else Role.BIAS


def layer_tensors(tensors: Iterable[tuple[str, GgufTensor]], active: int, tower: bool = False) -> tuple[Tensor, ...]:
    """*tensors* with their names in one layer, as the architecture's; a token uses *active* of the experts, -1 all.

    Experts that are tensors of their own, as older files have them, are counted together.
    """
    counted = Counter(_Kind(_EXPERT_INDEX.sub(r"\1#", name), t.shape, t.type, t.format, t.bytes) for name, t in tensors)
    return tuple(_tensor(kind, count, active, tower) for kind, count in counted.items())


class _Kind(NamedTuple):
    name: str
    shape: tuple[int, ...]
    type: int
    format: NumberFormat | None
    bytes: int


def _tensor(kind: _Kind, count: int, active: int, tower: bool) -> Tensor:
    role = Role.TOWER if tower else role_of(kind.name, len(kind.shape))
    if kind.name.endswith(_SCALES):
        # The scale of a block format's tensor: bytes without parameters of their own.
        stored = exact_format("scale", rows=1, columns=0, size=kind.bytes)
        return Tensor(name=kind.name, role=role, columns=0, stored=stored, count=count)
    columns, *others = kind.shape or (1,)
    size = kind.bytes
    is_expert = role is Role.EXPERT or (role is Role.BIAS and "_exps." in kind.name)
    if is_expert and len(others) >= (2 if role is Role.EXPERT else 1) and others[-1] and size % others[-1] == 0:
        # All experts are one tensor, the last dimension counting them.
        count, size = count * others[-1], size // others[-1]
        others.pop()
    rows = prod(others)
    return Tensor(
        name=kind.name,
        role=role,
        rows=rows,
        columns=columns,
        count=count,
        active=min(active, count) if is_expert and active >= 0 else -1,
        stored=kind.format or exact_format(f"ggml-{kind.type}", rows, columns, size),
        replicated=role in _REPLICATED,
    )


def bytes_by_format(tensors: Iterable[GgufTensor]) -> dict[str, int]:
    """Bytes of *tensors* by the name of their format."""
    by_format: dict[str, int] = {}
    for tensor in tensors:
        name = tensor.format.name if tensor.format else f"ggml-{tensor.type}"
        by_format[name] = by_format.get(name, 0) + tensor.bytes
    return by_format
