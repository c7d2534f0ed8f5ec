"""What every test may rely on: no network, and property searches that repeat themselves."""

import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

# The fast suite draws the same examples each time, so that no change fails by luck; the long one draws new ones.
settings.register_profile("fast", derandomize=True, deadline=None)
settings.register_profile("long", max_examples=2_000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """Refuse connections that leave this machine; a server on loopback is fine."""
    connect = socket.socket.connect

    def connect_on_loopback(sock: socket.socket, address: Any) -> None:
        if sock.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise ConnectionRefusedError(f"tests have no network, and this one asked for {address[0]}")
        connect(sock, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", connect_on_loopback)
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield
