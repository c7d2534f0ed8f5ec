"""How quantisers lay a weight of out features (rows) × in features (columns) out in files, as number formats.

Sources: https://github.com/AutoGPTQ/AutoGPTQ and https://github.com/ModelCloud/GPTQModel (GPTQ),
https://github.com/casper-hansen/AutoAWQ (AWQ), https://github.com/vllm-project/compressed-tensors,
https://github.com/NVIDIA/TensorRT-Model-Optimizer, https://github.com/turboderp-org/exllamav3 doc/exl3.md,
https://github.com/Vahe1994/AQLM.
"""

from dataclasses import replace

from planner.formats import NumberFormat, Scale

WORD_BYTES, WORD_BITS = 4, 32
HALF_BYTES, FLOAT_BYTES = 2, 4


def gptq(bits: int, group_size: int, *, has_indices: bool = True) -> NumberFormat:
    """GPTQ: qweight and qzeros in 32-bit words, 16-bit scales, and g_idx, the group of every input column as int32.

    Files have g_idx and zero points, used or not; only Marlin's layout (*has_indices* false) has neither.

    >>> gptq(4, 128).bytes_for(4096, 4096) * 8 / 4096**2
    4.1640625
    """
    scales = [Scale(columns=group_size, bytes=HALF_BYTES)]
    if has_indices:
        scales.append(Scale(rows=WORD_BITS, columns=group_size, bytes=WORD_BYTES * bits))
        scales.append(Scale(rows=0, columns=1, bytes=WORD_BYTES))
    return _format(f"gptq-{bits}bit{_group(group_size)}", WORD_BITS, WORD_BYTES * bits, *scales)


def awq(bits: int, group_size: int) -> NumberFormat:
    """AWQ: as GPTQ without g_idx, with both weights and zero points packed along the output.

    >>> awq(4, 128).bytes_for(4096, 4096) * 8 / 4096**2
    4.15625
    """
    in_a_word = WORD_BITS // bits
    return _format(
        f"awq-{bits}bit{_group(group_size)}",
        8 // bits,
        1,
        Scale(columns=group_size, bytes=HALF_BYTES),
        Scale(rows=in_a_word, columns=group_size, bytes=WORD_BYTES),
    )


def packed(bits: int, scale: Scale, *, zero_points: bool = False, indices: bool = False) -> NumberFormat:
    """compressed-tensors ``pack-quantized``: integers in 32-bit words along the row, and the shape as two int64.

    Zero points are packed in words along the output; *indices* are g_idx, the group of every input column.
    """
    in_a_word = WORD_BITS // bits
    scales = [scale, scalar(16)]
    if zero_points:
        scales.append(Scale(rows=in_a_word * scale.rows, columns=scale.columns, bytes=WORD_BYTES))
    if indices:
        scales.append(Scale(rows=0, columns=1, bytes=WORD_BYTES))
    return _format(f"int{bits}{_group(scale.columns)}", in_a_word, WORD_BYTES, *scales)


def bytewise(name: str, *scales: Scale) -> NumberFormat:
    """One byte an element, whatever its bits."""
    return _format(name, 1, 1, *scales)


def nibbles(name: str, *scales: Scale) -> NumberFormat:
    """Two elements a byte."""
    return _format(name, 2, 1, *scales)


def four_bit_floats(group_size: int, *scales: Scale) -> NumberFormat:
    """Two E2M1 elements a byte, and an 8-bit scale a group: NVFP4 (E4M3, 16) and MXFP4 (E8M0, 32) are of this kind."""
    name = {16: "nvfp4", 32: "mxfp4"}.get(group_size, f"fp4{_group(group_size)}")
    return nibbles(name, Scale(columns=group_size, bytes=1), *scales)


def grouped(name: str, bits: int, group_size: int, *, values: int, in_words: bool = True) -> NumberFormat:
    """Integers of *bits* with so many 16-bit *values* a group: scale, zero point or bias.

    *in_words*: three-bit ones go 10 in a 32-bit word, as HQQ packs them; otherwise without a gap.
    """
    elements, size = (10, WORD_BYTES) if bits == 3 and in_words else (8, bits)
    return _format(
        f"{name}-{bits}bit{_group(group_size)}", elements, size, Scale(columns=group_size, bytes=HALF_BYTES * values)
    )


def average_bits(name: str, bits: float, *scales: Scale) -> NumberFormat:
    """A mix that averages *bits* an element, scales included where the quantiser's own figure includes them.

    Counted as whole bytes for 128 elements and one byte more as often as the fraction asks for.
    """
    size, fraction = divmod(16 * bits, 1)
    extra = (Scale(columns=int(128 / fraction), bytes=1),) if fraction > 1e-6 else ()
    return _format(f"{name}-{bits:g}bit", 128, int(size), *extra, *scales)


def row_and_column_vectors() -> tuple[Scale, Scale]:
    """EXL3's 16-bit vectors of signs and scales: svh, one value an output row, and suh, one an input column."""
    return Scale(columns=0, bytes=HALF_BYTES), Scale(rows=0, columns=1, bytes=HALF_BYTES)


def aqlm(in_group: int, out_group: int, codebooks: int, codebook_bits: int) -> NumberFormat:
    """AQLM: codes for every group of weights, codebooks of 16-bit vectors a tensor, a 16-bit scale an output group."""
    code_bytes = codebooks * (1 if codebook_bits <= 8 else HALF_BYTES)
    codebook_bytes = codebooks * 2**codebook_bits * in_group * out_group * HALF_BYTES
    return _format(
        f"aqlm-{codebooks}x{codebook_bits}{_group(in_group)}",
        in_group * out_group,
        code_bytes,
        Scale(rows=out_group, columns=0, bytes=HALF_BYTES),
        scalar(codebook_bytes),
    )


def scalar(size: int = FLOAT_BYTES) -> Scale:
    """One value for the whole tensor, such as a global scale or an activation's."""
    return Scale(rows=0, columns=0, bytes=size)


def with_scales(number_format: NumberFormat, *scales: Scale) -> NumberFormat:
    return replace(number_format, scales=(*number_format.scales, *scales)) if scales else number_format


def _format(name: str, elements: int, size: int, *scales: Scale) -> NumberFormat:
    return NumberFormat(name=name, elements=elements, bytes=size, scales=scales, kind="checkpoint")


def _group(group_size: int) -> str:
    return f"-g{group_size}" if group_size else ""
