"""Wrong, hostile and slow answers of a server: one sentence each, no more read than was asked for, the token kept."""

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from planner.errors import PlannerError
from planner.readers import hub
from planner.readers.hub import ranges as hub_ranges
from planner.readers.hub.ranges import read_range

pytest.importorskip("huggingface_hub")

DATA = bytes(range(200))
Answer = Callable[[BaseHTTPRequestHandler], None]
Serve = Callable[[Answer], tuple[str, list[str | None]]]


def answer(body: bytes, status: int = 206, send: bool = True, **headers: str) -> Answer:
    """*body* with the range it is said to have, ``content_range``, and other *headers*."""
    said = {"content_length": str(len(body)), "content_range": "bytes 0-9/200", **headers}

    def give(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for key, value in said.items():
            if value:
                request.send_header(key.replace("_", "-"), value)
        request.end_headers()
        if send:
            request.wfile.write(body)
        request.close_connection = True

    return give


def dripping(request: BaseHTTPRequestHandler) -> None:
    answer(DATA[:10], send=False)(request)
    for byte in DATA[:10]:
        request.wfile.write(bytes([byte]))
        time.sleep(0.1)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """A server that gives one answer to everything: its address, and the Authorization of each request."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    servers: list[ThreadingHTTPServer] = []

    def started(give: Answer) -> tuple[str, list[str | None]]:
        tokens: list[str | None] = []

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                return

            def do_GET(self) -> None:
                tokens.append(self.headers.get("Authorization"))
                try:
                    give(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}", tokens

    yield started
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_right_answer(serve: Serve) -> None:
    address, tokens = serve(answer(DATA[:10]))
    assert read_range(f"{address}/x", 0, 10) == (DATA[:10], 200)
    assert tokens == ["Bearer hf_secret"]


OTHER_BYTES = r"^x: the server sent other bytes than those asked for\.$"
NO_PARTS = r"^x cannot be read in parts on this server\.$"
WRONG: dict[str, tuple[Answer, str]] = {
    "whole file": (answer(DATA, 200, content_range=""), NO_PARTS),
    "page for people": (answer(b"<html>Sign in</html>", 200, content_range="", content_type="text/html"), NO_PARTS),
    "no range": (answer(DATA[:10], content_range=""), NO_PARTS),
    "no range's form": (answer(DATA[:10], content_range="bytes 0-9/*"), NO_PARTS),
    "endless digits": (answer(DATA[:10], content_range=f"bytes 0-9/{'9' * 5000}"), NO_PARTS),
    "compressed": (answer(gzip.compress(DATA[:10]), content_encoding="gzip"), NO_PARTS),
    "another start": (answer(DATA[1:11], content_range="bytes 1-10/200"), OTHER_BYTES),
    "another end": (answer(DATA[:11], content_range="bytes 0-10/200"), OTHER_BYTES),
    "less than there is": (answer(DATA[:5], content_range="bytes 0-4/200"), OTHER_BYTES),
    "too short": (answer(DATA[:5]), OTHER_BYTES),
    "too long": (answer(DATA), OTHER_BYTES),
    "endless": (answer(DATA * 100_000, content_length=""), OTHER_BYTES),
}


@pytest.mark.parametrize(("give", "sentence"), WRONG.values(), ids=WRONG)
def test_another_answer_than_the_asked_bytes_is_refused(give: Answer, sentence: str, serve: Serve) -> None:
    with pytest.raises(PlannerError, match=sentence):
        read_range(f"{serve(give)[0]}/x", 0, 10)


def test_a_file_that_changes_between_two_requests_is_refused(
    serve: Serve,
) -> None:
    with pytest.raises(PlannerError, match=OTHER_BYTES):
        read_range(f"{serve(answer(DATA[:10]))[0]}/x", 0, 10, 201)


BROKEN: dict[str, tuple[Answer, str]] = {
    "cut off": (answer(DATA[:5], content_length="10"), "RemoteProtocolError"),
    "too many requests": (answer(b"", 429), "it answered 429"),
    "refused with bytes that are no text": (answer(b"\xff\x8f", 404), "UnicodeDecodeError"),
    "out of the file": (answer(b"", 416, content_range="bytes */5"), "it answered 416"),
    "redirected for ever": (answer(b"", 302, location="/x"), "TooManyRedirects"),
    "redirected to a file": (answer(b"", 302, location="file:///etc/passwd"), "UnsupportedProtocol"),
}


@pytest.mark.parametrize(("give", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_failed_answer_is_one_sentence(give: Answer, reason: str, serve: Serve) -> None:
    address = serve(give)[0]
    with pytest.raises(PlannerError, match=rf"^a/b could not be read from Hugging Face: {reason}\.") as error:
        hub.asked("a/b", lambda: read_range(f"{address}/x", 0, 10))
    assert "hf_secret" not in str(error.value)


def test_a_failure_inside_the_transport_is_one_sentence() -> None:
    """huggingface_hub makes whole numbers and addresses of whatever headers say."""
    with pytest.raises(PlannerError, match=r"^a/b could not be read from Hugging Face: ValueError\."):
        hub.asked("a/b", lambda: int("x"))


def test_another_host_never_sees_the_token(serve: Serve) -> None:
    address, tokens = serve(answer(DATA[:10]))
    first, firsts = serve(answer(b"", 302, location=f"{address}/y"))
    assert read_range(f"{first}/x", 0, 10) == (DATA[:10], 200)
    assert (firsts, tokens) == (["Bearer hf_secret"], [None])


def test_a_server_that_drips_is_given_up_on(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_ranges, "_SLOWEST_ANSWER_S", 0.2)
    with pytest.raises(PlannerError, match="sends too slowly"):
        read_range(f"{serve(dripping)[0]}/x", 0, 10)


def test_a_server_that_says_nothing_is_given_up_on(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_ranges, "TIMEOUT_S", 0.2)
    address = serve(lambda _: time.sleep(1))[0]
    with pytest.raises(PlannerError, match="no answer within"):
        hub.asked("a/b", lambda: read_range(f"{address}/x", 0, 10))


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"null",
        b"[]",
        b"{}",
        b'{"id": "a/b", "siblings": [1]}',
        b'{"id": "a/b", "siblings": [{"rfilename": 5}]}',
        b'{"id": "a/b", "sha": "../../x", "siblings": [{"rfilename": "config.json"}]}',
        b'{"id": "a/b", "sha": 5, "siblings": []}',
        b"[" * 9000,
    ],
)
def test_an_answer_that_describes_no_model_is_refused(body: bytes, serve: Serve) -> None:
    """Nor does a commit's name lead out of the folder that its headers are kept in."""
    address = serve(answer(body, 200, content_range=""))[0]
    with pytest.raises(PlannerError, match=r"^The server's answer on a/b does not describe a model"):
        hub.list_files("a/b", address)


def test_a_description_is_read(serve: Serve) -> None:
    body = json.dumps({"id": "a/b", "sha": "c" * 40, "siblings": [{"rfilename": "config.json"}]}).encode()
    listing = hub.list_files("a/b", serve(answer(body, 200, content_range=""))[0])
    assert (listing.commit, listing.names) == ("c" * 40, {"config.json"})
