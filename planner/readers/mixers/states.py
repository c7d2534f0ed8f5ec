"""The two kinds of memory that a recurrent mixer keeps: the last inputs of a convolution, and the recurrence itself."""

from planner.architecture import StateTensor
from planner.formats import NumberFormat
from planner.readers.decoder import Decoder


def conv_state(channels: int, kernel: int, format: NumberFormat | None = None) -> StateTensor:
    """A causal convolution's last inputs: *kernel* − 1 columns, since the current token brings the last one."""
    return StateTensor(name="conv", rows=channels, columns=kernel - 1, format=format)


def recurrent_state(decoder: Decoder, rows: int, columns: int, name: str = "recurrent") -> StateTensor:
    """A state that every token updates: it adds up thousands of them, and model classes keep it in 32 bits."""
    return StateTensor(name=name, rows=rows, columns=columns, format=decoder.formats["fp32"])
