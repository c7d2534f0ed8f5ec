"""The guard in conftest.py holds: no test can reach past this machine, any can reach itself."""

import socket

import pytest


def test_a_connection_to_elsewhere_is_refused() -> None:
    with (
        socket.socket() as sock,
        pytest.raises(ConnectionRefusedError, match=r"tests have no network, and this one asked for 192\.0\.2\.1"),
    ):
        sock.connect(("192.0.2.1", 80))  # RFC 5737: an address that belongs to nobody


def test_a_server_on_loopback_is_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as sock:
        sock.connect(server.getsockname())
        assert sock.getpeername() == server.getsockname()
