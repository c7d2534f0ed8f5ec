"""The server that ``huggingface_hub`` is told to ask, checked before: it reads its environment when it is imported."""

import os
from urllib.parse import urlsplit

from planner.errors import PlannerError
from planner.units import shorten

ENDPOINT = "HF_ENDPOINT"
_TIMEOUTS = ("HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_ETAG_TIMEOUT")


def check_environment() -> None:
    """Raise for an ``HF_ENDPOINT`` that is no server's address, and for a waiting time that is no number."""
    endpoint = os.environ.get(ENDPOINT)
    if endpoint is not None and not _is_server(endpoint):
        raise PlannerError(
            f"{ENDPOINT} = {shorten(endpoint)!r} is no server's address: set it to one such as https://huggingface.co, "
            "or unset it."
        )
    for name in _TIMEOUTS:
        stated = os.environ.get(name, "1")
        if not (stated.strip().isascii() and stated.strip().isdigit()):
            raise PlannerError(f"{name} = {shorten(stated)!r} is not a whole number of seconds: correct or unset it.")


def _is_server(address: str) -> bool:
    if not address.isprintable() or any(letter.isspace() for letter in address):
        return False
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or a bracket that cannot be
        return False
