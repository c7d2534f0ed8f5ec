"""What a config file's text may be, and the sentence for what it may not."""

import math

import pytest

from planner.errors import BadFile
from planner.readers.json_text import MAX_JSON_BYTES, parse_json


def test_byte_order_mark_and_infinity_are_read() -> None:
    parsed = parse_json(b'\xef\xbb\xbf{"time_step_limit": [0.0, Infinity]}')
    assert parsed == {"time_step_limit": [0.0, math.inf]}


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"{", "is not valid JSON: Expecting property name enclosed in double quotes in line 1, column 2."),
        (b"[1]", "holds a JSON list; a config is an object of keys."),
        (b"null", "holds a JSON value; a config is an object of keys."),
        (b"\xff{}", "is not UTF-8 text: byte 0 cannot be read."),
        (b'{"a":' + b"[" * 100_000, "is nested too deeply to be a config."),
        (b'{"a": ' + b"9" * 5000 + b"}", "has a number with too many digits."),
        (b" " * (MAX_JSON_BYTES + 1), "is longer than 16 MiB, which is as much as is read of a config."),
    ],
)
def test_bad_text_is_refused_in_one_sentence(data: bytes, sentence: str) -> None:
    with pytest.raises(BadFile) as refusal:
        parse_json(data)
    assert str(refusal.value) == f"config.json {sentence}"
