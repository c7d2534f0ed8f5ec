"""Which layers of a GGUF model keep a window, from the file's pattern or its architecture's own."""

from collections.abc import Sequence

from planner.errors import UnsupportedModel
from planner.readers.gguf.knowledge import GgufRule
from planner.readers.gguf.values import GgufValues
from planner.units import format_count, shorten

_PATTERN = "attention.sliding_window_pattern"


def read_windows(values: GgufValues, rule: GgufRule, number: int) -> tuple[Sequence[int | None], tuple[str, ...]]:
    """For each of *number* layers its window in tokens, None where it keeps every token; and warnings.

    Source: https://github.com/ggml-org/llama.cpp/blob/3f545becc/src/llama-hparams.cpp, set_swa_pattern.
    """
    window = values.optional_integer("attention.sliding_window")
    if window is None and rule.window_block_count in (None, number):
        window = rule.window_tokens
    if not window or rule.ignores_window:
        return [None] * number, ()
    if rule.period is None and not rule.needs_pattern:
        return [None] * number, (
            f"The file names a window of {format_count(window)} tokens; which layers of "
            f"{shorten(values.architecture)!r} have it is not known, so every layer is counted with every token.",
        )
    return [window if is_windowed else None for is_windowed in _pattern(values, rule, number)], ()


def _pattern(values: GgufValues, rule: GgufRule, number: int) -> list[bool]:
    if values.is_array(_PATTERN) or (rule.needs_pattern and values.has(_PATTERN)):
        return [bool(switch) for switch in values.per_layer(_PATTERN, number) or ()]
    period = values.optional_integer(_PATTERN) if values.has(_PATTERN) else rule.period
    if period is None:
        raise UnsupportedModel(f"{values.where}: key {values.spelled(_PATTERN)} is missing.")
    if not period:
        return [True] * number
    full = 0 if rule.dense_first else period - 1
    return [index % period != full for index in range(number)]
