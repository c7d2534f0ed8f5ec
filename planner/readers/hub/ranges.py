"""A few bytes of a file on a server, by a range request whose answer is checked: never more than was asked for."""

import re
import time

from planner.errors import BadFile
from planner.units import shorten

TIMEOUT_S = 10
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", re.ASCII)
_SLOWEST_BYTES_PER_S = 20_000
_SLOWEST_ANSWER_S = 60
"""However little is asked for: a server that sends a byte now and then is given up on."""


def read_range(url: str, start: int, end: int, size: int | None = None) -> tuple[bytes, int]:
    """Bytes *start* … *end* − 1 of *url*, fewer at its end, and its whole size; *size* is what an answer before said.

    Raises BadFile where the server sends anything else, be it the whole file or a page for people.
    """
    from huggingface_hub import get_session, hf_raise_for_status
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    name = shorten(url.rpartition("/")[2])
    headers = {**build_hf_headers(), "Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
    last_moment = time.monotonic() + _SLOWEST_ANSWER_S + (end - start) / _SLOWEST_BYTES_PER_S
    with get_session().stream("GET", url, headers=headers, timeout=TIMEOUT_S, follow_redirects=True) as response:
        hf_raise_for_status(response)
        given = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if (
            response.status_code != 206
            or given is None
            or response.headers.get("Content-Encoding", "identity") != "identity"
        ):
            # A server without ranges would send the whole file.
            raise BadFile(f"{name} cannot be read in parts on this server.")
        first, last, whole = map(int, given.groups())
        if (first, last) != (start, min(end, whole) - 1) or size not in (None, whole):
            raise BadFile(f"{name}: the server sent other bytes than those asked for.")
        found = bytearray()
        for piece in response.iter_raw():
            found += piece
            if len(found) > last - first + 1:
                break
            if time.monotonic() > last_moment:
                raise BadFile(f"{name}: the server sends too slowly to read its header.")
    if len(found) != last - first + 1:
        raise BadFile(f"{name}: the server sent other bytes than those asked for.")
    return bytes(found), whole
