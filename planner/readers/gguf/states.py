"""Recurrent states of GGUF models: what a layer keeps whatever the context.

Source: https://github.com/ggml-org/llama.cpp/blob/3f545becc/src/llama-hparams.cpp, n_embd_r and n_embd_s.
"""

from collections.abc import Callable, Mapping

from planner.architecture import Recurrence, StateTensor
from planner.formats import NumberFormat
from planner.readers.gguf.values import GgufValues

_TOKEN_SHIFTS = 2
_Sizes = dict[str, tuple[int, int]]
"""Rows and columns of each state by its name."""


def recurrence(values: GgufValues, kind: str, heads: int, state_format: NumberFormat) -> Recurrence:
    """What a recurrent layer of *kind* with so many attention *heads* keeps, in *state_format*."""
    sizes = STATES[kind](values, heads)
    return Recurrence(
        kind=kind,
        states=tuple(
            StateTensor(name=name, rows=rows, columns=columns, format=state_format)
            for name, (rows, columns) in sizes.items()
        ),
    )


def _state_space(values: GgufValues, _: int) -> _Sizes:
    """Mamba 1 and 2 and gated delta nets: a state for every inner channel, and the columns before the convolution."""
    inner, size = values.integer("ssm.inner_size", minimum=1), values.integer("ssm.state_size", minimum=1)
    groups = values.optional_integer("ssm.group_count") or 0
    return {"conv": (inner + 2 * groups * size, _kept_columns(values)), "recurrent": (inner, size)}


def _short_convolution(values: GgufValues, _: int) -> _Sizes:
    return {"conv": (values.integer("embedding_length"), values.integer("shortconv.l_cache", minimum=1) - 1)}


def _kimi_delta_attention(values: GgufValues, heads: int) -> _Sizes:
    """Query, key and value have a convolution each."""
    head_dim = values.integer("kda.head_dim", minimum=1)
    return {"conv": (3 * heads * head_dim, _kept_columns(values)), "recurrent": (heads, head_dim**2)}


def _rwkv(values: GgufValues, _: int) -> _Sizes:
    """The token before, for time and for channel mixing, and a square a head."""
    hidden, shifts = values.integer("embedding_length"), values.optional_integer("token_shift_count") or _TOKEN_SHIFTS
    return {"token_shift": (hidden, shifts), "recurrent": (hidden, values.integer("wkv.head_size", minimum=1))}


def _lightning_attention(values: GgufValues, heads: int) -> _Sizes:
    return {"recurrent": (heads, values.integer("attention.key_length", minimum=1) ** 2)}


def _kept_columns(values: GgufValues) -> int:
    """Columns that a causal convolution keeps: those before the current one."""
    return values.integer("ssm.conv_kernel", minimum=1) - 1


STATES: Mapping[str, Callable[[GgufValues, int], _Sizes]] = {
    "mamba": _state_space,
    "mamba2": _state_space,
    "gated_delta_net": _state_space,
    "short_convolution": _short_convolution,
    "kimi_delta_attention": _kimi_delta_attention,
    "rwkv": _rwkv,
    "lightning_attention": _lightning_attention,
}
