"""State-space mixers: Mamba, arXiv:2312.00752, and Mamba-2, arXiv:2405.21060."""

from collections.abc import Iterator

from planner.architecture import Mixer, Recurrence, Tensor
from planner.errors import UnsupportedModel
from planner.formats import Role
from planner.readers.decoder import Decoder
from planner.readers.layer_plan import LayerPlan
from planner.readers.layout import LOW_RANK_MAMBA2
from planner.readers.mixers.states import conv_state, recurrent_state
from planner.records import dataclass
from planner.units import counted, format_count

_LEAST_STEP_RANK = 64


def mamba(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """One state vector a channel."""
    values = decoder.values
    inner = _inner(decoder)
    states = (
        conv_state(inner, values.integer("conv_kernel")),
        recurrent_state(decoder, inner, values.integer("state_size")),
    )
    return (Recurrence(kind="mamba", states=states),)


def mamba_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    values, hidden, inner = decoder.values, decoder.hidden_size, _inner(decoder)
    state, bias = values.integer("state_size"), values.flag("use_bias")
    rank = -(-hidden // 16) if values.get("time_step_rank") == "auto" else values.integer("time_step_rank")
    yield from decoder.linear("mixer.in_proj", 2 * inner, hidden, bias)
    yield from convolution(decoder, "mixer.conv1d", inner)
    yield decoder.matrix("mixer.x_proj", rank + 2 * state, inner)
    yield from decoder.linear("mixer.dt_proj", inner, rank, True)
    yield _state_tensor(decoder, "mixer.A_log", inner, state)
    yield _state_tensor(decoder, "mixer.D", inner)
    if decoder.is_on(decoder.structure.state_norms):
        for name, size in (("dt", rank), ("b", state), ("c", state)):
            yield from decoder.norm(f"mixer.{name}_layernorm", size)
    yield from decoder.linear("mixer.out_proj", hidden, inner, bias)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mamba2:
    """Dimensions of a Mamba-2 mixer: *heads* × *head_dim* channels, and *groups* of input and output projections."""

    heads: int
    head_dim: int
    groups: int
    state: int

    @property
    def inner(self) -> int:
        return self.heads * self.head_dim

    @property
    def convolved(self) -> int:
        """Channels of the convolution: the inner ones, and the projections B and C of every group."""
        return self.inner + 2 * self.groups * self.state


def mamba2(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """One state matrix a head. In PLaMo 2 the convolution is over the inner channels alone."""
    sizes = _mamba2_sizes(decoder)
    channels = sizes.inner if plan.kind == LOW_RANK_MAMBA2 else sizes.convolved
    states = (
        conv_state(channels, decoder.values.integer("conv_kernel")),
        recurrent_state(decoder, sizes.heads, sizes.head_dim * sizes.state),
    )
    return (Recurrence(kind="mamba2", states=states),)


def mamba2_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    sizes, hidden, bias = _mamba2_sizes(decoder), decoder.hidden_size, decoder.values.flag("use_bias")
    yield from decoder.linear("mixer.in_proj", sizes.inner + sizes.convolved + sizes.heads, hidden, bias)
    yield from convolution(decoder, "mixer.conv1d", sizes.convolved)
    for name in ("dt_bias", "A_log", "D"):
        yield _state_tensor(decoder, f"mixer.{name}", sizes.heads)
    if decoder.is_on(decoder.structure.state_norms):
        yield decoder.vector("mixer.norm.weight", sizes.inner, role=Role.NORM, replicated=False)
    yield from decoder.linear("mixer.out_proj", hidden, sizes.inner, bias)


def low_rank_mamba2_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """B, C and the time step are projected from the convolved channels, the step through a sixteenth of the width."""
    sizes, hidden = _mamba2_sizes(decoder), decoder.hidden_size
    rank = max(_LEAST_STEP_RANK, hidden // 16)
    yield decoder.matrix("mixer.in_proj", 2 * sizes.inner, hidden)
    yield from convolution(decoder, "mixer.conv1d", sizes.inner)
    yield decoder.matrix("mixer.bcdt_proj", rank + 2 * sizes.state, sizes.inner)
    yield decoder.matrix("mixer.dt_proj", sizes.heads, rank)
    for name in ("dt_bias", "A_log", "D"):
        yield _state_tensor(decoder, f"mixer.{name}", sizes.heads)
    for name, size in (("dt", rank), ("B", sizes.state), ("C", sizes.state)):
        yield decoder.vector(f"mixer.{name}_norm_weight", size, role=Role.NORM)
    yield decoder.matrix("mixer.out_proj", hidden, sizes.inner)


def convolution(decoder: Decoder, name: str, channels: int) -> Iterator[Tensor]:
    """A depthwise causal convolution over *channels*, and its bias where the config asks for one."""
    yield _state_tensor(decoder, f"{name}.weight", channels, decoder.values.integer("conv_kernel"))
    if decoder.values.flag("use_conv_bias"):
        yield _state_tensor(decoder, f"{name}.bias", channels)


def _state_tensor(decoder: Decoder, name: str, rows: int, columns: int = 1) -> Tensor:
    return Tensor(name=name, role=Role.STATE, rows=rows, columns=columns, stored=decoder.stored)


def _inner(decoder: Decoder) -> int:
    """Channels inside: what the file says, or ``expand`` times the model's width."""
    values = decoder.values
    return values.optional_integer("mamba_d_ssm") or values.integer("expand") * decoder.hidden_size


def _mamba2_sizes(decoder: Decoder) -> _Mamba2:
    values = decoder.values
    heads = values.integer("mamba_num_heads")
    if values.get("mamba_head_dim") in (None, "auto"):
        inner = _inner(decoder)
        head_dim, rest = divmod(inner, heads)
        if rest or not head_dim:
            raise UnsupportedModel(
                f"{values.where}: {format_count(inner)} state-space channels do not divide by {counted(heads, 'head')}."
            )
    else:
        head_dim = values.integer("mamba_head_dim")
    return _Mamba2(
        heads=heads, head_dim=head_dim, groups=values.integer("n_groups"), state=values.integer("state_size")
    )
