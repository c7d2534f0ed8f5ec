"""JSON without duplicate keys, for what describes a checkpoint; one sentence for what is not."""

import json

from planner.errors import BadFile
from planner.readers.pointers import refuse_pointer
from planner.units import shorten

SPACE = rb"[ \t\n\r]*"
"""What JSON lets stand between its tokens, as a pattern."""
_FIRST_BYTES = 32


def load_json(text: bytes, what: str) -> object:
    """The value that *text* holds; raises BadFile where it is not JSON, names a key twice, is too deep or not text."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise BadFile(f"{what}: its JSON names {_repeated(pairs)!r} twice.")
        return found

    try:
        return json.loads(text.decode(), object_pairs_hook=unique)
    except UnicodeDecodeError as error:
        raise BadFile(f"{what}: byte {error.start} of its header is not UTF-8.") from None
    except json.JSONDecodeError as error:
        refuse_pointer(text[:_FIRST_BYTES], what)
        raise BadFile(f"{what}: its header is not JSON: {error.msg} at character {error.pos}.") from None
    except RecursionError:
        raise BadFile(f"{what}: its header is nested too deeply.") from None
    except ValueError:
        raise BadFile(f"{what}: its header has a number with too many digits.") from None


def _repeated(pairs: list[tuple[str, object]]) -> str:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            break
        seen.add(key)
    return shorten(key)
