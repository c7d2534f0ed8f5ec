"""Weights rounded to few levels and back, and packed as a file would store them.

Symmetric absmax: scale = max|w| / (2^(b−1) − 1), one a tensor, an output row or a group along a row. NF4: the levels
are quantiles of the normal distribution; source: Dettmers et al., QLoRA, arXiv:2305.14314, section 3 and appendix E.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import torch


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """*bits* a weight; *group* weights of a row share a scale, 0: the whole row, ``None``: the whole tensor.

    *format* is the planner's number format for the same storage, ``None`` where no file is stored so; *scale_bytes* is
    what one scale takes.
    """

    name: str
    bits: int
    group: int | None
    format: str | None
    scale_bytes: int = 2
    normal: bool = False


SCHEMES = {
    scheme.name: scheme
    for scheme in (
        Scheme(name="int8-tensor", bits=8, group=None, format="int8", scale_bytes=0),
        Scheme(name="int8-row", bits=8, group=0, format="int8-row"),
        Scheme(name="int8-g128", bits=8, group=128, format=None),
        Scheme(name="int4-tensor", bits=4, group=None, format="int4", scale_bytes=0),
        Scheme(name="int4-row", bits=4, group=0, format="int4-row"),
        Scheme(name="int4-g128", bits=4, group=128, format="int4-g128"),
        Scheme(name="nf4", bits=4, group=64, format="nf4", scale_bytes=4, normal=True),
    )
}
"""From the coarsest to the finest for each width."""


@cache
def normal_levels() -> tuple[float, ...]:
    """NF4's 16 levels: equally likely under a normal distribution, 0 among them, scaled to −1 … 1.

    Eight intervals of probability above zero and seven below; the outermost quantile is the mean of what either side's
    count of levels would give, (1 − 1/30 + 1 − 1/32) / 2.

    >>> [round(level, 4) for level in normal_levels()[:3]], len(normal_levels()), normal_levels()[7]
    ([-1.0, -0.6962, -0.5251], 16, 0.0)
    """
    outermost = (1 - 1 / 30 + 1 - 1 / 32) / 2
    quantile = NormalDist().inv_cdf

    def side(count: int) -> Iterator[float]:
        step = (outermost - 0.5) / count
        return (quantile(outermost - number * step) for number in range(count))

    found = sorted([*side(8), 0.0, *(-level for level in side(7))])
    return tuple(level / found[-1] for level in found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantized:
    """Codes and scales of one matrix. *codes* are its levels' numbers, one byte each until packed."""

    scheme: Scheme
    codes: torch.Tensor
    scales: torch.Tensor
    shape: torch.Size

    def dequantized(self) -> torch.Tensor:
        """The matrix as it comes back, in fp32."""
        if self.scheme.normal:
            values = torch.tensor(normal_levels(), device=self.codes.device)[self.codes.long()]
        else:
            values = self.codes.float()
        rows, columns = self.shape
        return (values * self.scales).reshape(-1, _padded(columns, self.scheme.group))[:rows, :columns]

    def packed_bytes(self) -> int:
        """Bytes of codes and scales as stored: two 4-bit codes a byte, rows on whole groups; one scale a tensor is
        left out, as the planner's formats do."""
        stored = _pack(self.codes) if self.scheme.bits == 4 else self.codes.to(torch.int8)
        return stored.numel() * stored.element_size() + self.scales.numel() * self.scheme.scale_bytes


def quantize(weight: torch.Tensor, scheme: Scheme) -> Quantized:
    """*weight* of rows × columns in *scheme*. Scales are rounded to the 16 bits in which they are stored."""
    grouped = _grouped(weight.float(), scheme.group)
    largest = grouped.abs().amax(dim=-1, keepdim=True)
    if scheme.normal:
        scales = torch.where(largest > 0, largest, 1.0)
        codes = _nearest(grouped / scales)
        return Quantized(scheme=scheme, codes=codes, scales=scales, shape=weight.shape)
    top = 2 ** (scheme.bits - 1) - 1
    scales = largest / top
    if scheme.scale_bytes == torch.float16.itemsize:
        scales = scales.half().float()
    scales = torch.where(scales > 0, scales, 1.0)
    codes = torch.clamp(torch.round(grouped / scales), -top, top).to(torch.int8)
    return Quantized(scheme=scheme, codes=codes, scales=scales, shape=weight.shape)


def relative_error(weight: torch.Tensor, back: torch.Tensor) -> float:
    """‖W − Ŵ‖ / ‖W‖."""
    return float(torch.linalg.norm(weight.float() - back) / torch.linalg.norm(weight.float()))


def projections(model: torch.nn.Module) -> dict[str, torch.nn.Module]:
    """The linear layers between embedding and head, by name: what quantisers of weights convert."""
    head = model.get_output_embeddings()  # type: ignore[operator]
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and module is not head
    }


def quantize_model(model: torch.nn.Module, scheme: Scheme) -> None:
    """Replaces every projection's weights by what comes back from *scheme*."""
    with torch.no_grad():
        for module in projections(model).values():
            weight = module.weight
            weight.copy_(quantize(weight, scheme).dequantized().to(weight.dtype))


def _grouped(weight: torch.Tensor, group: int | None) -> torch.Tensor:
    """Rows of weights that share a scale; a row that its groups do not fill is filled with zeros."""
    if group is None:
        return weight.reshape(1, -1)
    if group == 0:
        return weight
    filled = torch.nn.functional.pad(weight, (0, _padded(weight.shape[1], group) - weight.shape[1]))
    return filled.reshape(-1, group)


def _padded(columns: int, group: int | None) -> int:
    return -(-columns // group) * group if group else columns


def _nearest(values: torch.Tensor) -> torch.Tensor:
    """The number of the nearest of NF4's levels."""
    levels = torch.tensor(normal_levels(), device=values.device)
    borders = (levels[1:] + levels[:-1]) / 2
    return torch.bucketize(values.contiguous(), borders).to(torch.uint8)


def _pack(codes: torch.Tensor) -> torch.Tensor:
    """Two 4-bit codes a byte; a row with an odd count ends on a whole byte."""
    flat = codes.to(torch.uint8) & 0x0F
    if flat.shape[-1] % 2:
        flat = torch.nn.functional.pad(flat, (0, 1))
    return flat[..., ::2] | flat[..., 1::2] << 4
