"""Reading from the hub, against a stand-in server on loopback that answers as the hub does."""

import json
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from planner.errors import PlannerError
from planner.format_presets import formats
from planner.formats import QuantScheme
from planner.inputs.model_files import load_model
from planner.presets import gguf_knowledge, knowledge
from planner.readers import hub
from planner.readers.checkpoint.tensors import with_file_tensors
from planner.readers.hf_config import read_config
from planner.readers.hub.gguf import fetch_gguf, has_gguf
from planner.weights import model_bytes, parameters
from tests.readers.gguf_files import BLOCK, LLAMA, header, model

pytest.importorskip("huggingface_hub")

COMMIT = "c" * 40
CONFIG = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 100,
    "max_position_embeddings": 512,
    "torch_dtype": "bfloat16",
}
# Embedding and head 100 · 64; a layer: q, o 64 · 64, k, v 32 · 64, three MLP matrices 128 · 64, two norms; final norm.
PARAMETERS = 2 * 6_400 + 2 * (2 * 4_096 + 2 * 2_048 + 3 * 8_192 + 128) + 64


def shard(tensors: dict[str, list[int]], padding: int = 0) -> bytes:
    """A safetensors file of bf16 zeros; *padding* lengthens its header."""
    header: dict[str, object] = {"__metadata__": {"note": "x" * padding}} if padding else {}
    end = 0
    for name, shape in tensors.items():
        size = 2
        for length in shape:
            size *= length
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(end)


def layer(index: int) -> dict[str, list[int]]:
    prefix = f"model.layers.{index}"
    return {
        f"{prefix}.self_attn.q_proj.weight": [64, 64],
        f"{prefix}.self_attn.k_proj.weight": [32, 64],
        f"{prefix}.self_attn.v_proj.weight": [32, 64],
        f"{prefix}.self_attn.o_proj.weight": [64, 64],
        f"{prefix}.mlp.gate_proj.weight": [128, 64],
        f"{prefix}.mlp.up_proj.weight": [128, 64],
        f"{prefix}.mlp.down_proj.weight": [64, 128],
        f"{prefix}.input_layernorm.weight": [64],
        f"{prefix}.post_attention_layernorm.weight": [64],
    }


FIRST = {"model.embed_tokens.weight": [100, 64], **layer(0)}
SECOND = {**layer(1), "model.norm.weight": [64], "lm_head.weight": [100, 64]}
NAMES = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
INDEX = {"weight_map": dict.fromkeys(FIRST, NAMES[0]) | dict.fromkeys(SECOND, NAMES[1])}


class Hub:
    """Repositories by id, each a mapping from file name to bytes; what was asked is kept in *requests*."""

    def __init__(self) -> None:
        self.repos: dict[str, dict[str, bytes]] = {
            "org/tiny": {
                "config.json": json.dumps(CONFIG).encode(),
                "model.safetensors.index.json": json.dumps(INDEX).encode(),
                NAMES[0]: shard(FIRST),
                NAMES[1]: shard(SECOND, padding=300_000),  # a header longer than the first request
            },
            "org/no-config": {"README.md": b"nothing"},
            "org/config-only": {"config.json": json.dumps(CONFIG).encode()},
        }
        self.gated = {"org/gated"}
        self.ranges = True
        self.requests: list[tuple[str, str]] = []
        self.sent_bytes = 0


def handler(state: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            return

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, body: bool) -> None:
            state.requests.append((self.command, self.path))
            parts = self.path.strip("/").split("/")
            if parts[:2] == ["api", "models"]:
                repo, name = "/".join(parts[2:4]), None
            else:
                repo, name = "/".join(parts[:2]), "/".join(parts[4:])
            if repo in state.gated:
                return self._send(403, b"{}", {"X-Error-Code": "GatedRepo"}, body)
            if repo not in state.repos:
                return self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"}, body)
            files = state.repos[repo]
            if name is None:
                info = {"id": repo, "sha": COMMIT, "siblings": [{"rfilename": n} for n in files]}
                return self._send(200, json.dumps(info).encode(), {}, body)
            if name not in files:
                return self._send(404, b"", {"X-Error-Code": "EntryNotFound"}, body)
            return self._file(files[name], name, body)

        def _file(self, data: bytes, name: str, body: bool) -> None:
            headers = {"ETag": f'"{name}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
            asked = self.headers.get("Range")
            if asked and state.ranges and body:
                start, end = (int(number) for number in asked.removeprefix("bytes=").split("-"))
                end = min(end, len(data) - 1)
                headers["Content-Range"] = f"bytes {start}-{end}/{len(data)}"
                return self._send(206, data[start : end + 1], headers, body)
            return self._send(200, data, headers, body)

        def _send(self, status: int, data: bytes, headers: dict[str, str], body: bool) -> None:
            self.send_response(status)
            for key, value in {"Content-Length": str(len(data)), "Content-Type": "application/json", **headers}.items():
                self.send_header(key, value)
            self.end_headers()
            if body:
                state.sent_bytes += len(data)
                try:
                    self.wfile.write(data)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

    return Handler


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Hub, str]]:
    from huggingface_hub import constants
    from huggingface_hub.utils import _cache_assets

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(_cache_assets, "HF_ASSETS_CACHE", str(tmp_path / "assets"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    state = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(state))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield state, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_model_is_read_by_its_headers(stand_in: tuple[Hub, str]) -> None:
    found = hub.fetch("org/tiny", stand_in[1])
    assert (found.repo_id, found.commit) == ("org/tiny", COMMIT)
    assert found.stored is not None
    architecture = with_file_tensors(read_config(json.loads(found.config), knowledge()), found.stored)
    assert parameters(architecture) == PARAMETERS
    as_stored = QuantScheme(format=None, rest=formats()["bf16"])
    assert model_bytes(architecture.layers, architecture.tensors, as_stored) == 2 * PARAMETERS


def test_weights_are_asked_for_in_parts_and_only_once(stand_in: tuple[Hub, str]) -> None:
    state, endpoint = stand_in
    first = hub.fetch("org/tiny", endpoint)
    asked = [path for verb, path in state.requests if verb == "GET" and path.endswith(".safetensors")]
    assert len(asked) == 3  # one short header, and one long one in two parts
    again = hub.fetch("org/tiny", endpoint)
    assert again == first
    assert [path for verb, path in state.requests if verb == "GET" and path.endswith(".safetensors")] == asked


def test_a_damaged_cache_is_read_again(stand_in: tuple[Hub, str]) -> None:
    from huggingface_hub import cached_assets_path

    _, endpoint = stand_in
    first = hub.fetch("org/tiny", endpoint)
    kept = cached_assets_path("kvbudget", namespace="org/tiny", subfolder="headers") / f"{COMMIT}.json"
    kind = '{"template": "a", "dtype": "%s", "shape": [%s], "packed": [%s]}'
    groups = [kind % wrong for wrong in (("Q4", 1, 0), ("U8", -1, 0), ("U8", 1, -1), ("U8", 1, 2**63))]
    for damage in ("", "{", '{"source": 1}', "null", *(f'{{"source": "x", "groups": [{group}]}}' for group in groups)):
        kept.write_text(damage)
        assert hub.fetch("org/tiny", endpoint) == first


def test_a_config_alone_is_enough(stand_in: tuple[Hub, str]) -> None:
    found = hub.fetch("org/config-only", stand_in[1])
    assert found.stored is None
    assert json.loads(found.config) == CONFIG


@pytest.mark.parametrize(
    ("repo_id", "sentence"),
    [
        ("org/none", "Hugging Face shows no model 'org/none'"),
        ("org/gated", "org/gated is gated: accept its terms"),
        ("org/no-config", "org/no-config has no config.json on the hub"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(repo_id: str, sentence: str, stand_in: tuple[Hub, str]) -> None:
    with pytest.raises(PlannerError) as raised:
        hub.fetch(repo_id, stand_in[1])
    assert str(raised.value).startswith(sentence)
    assert "hf_secret" not in str(raised.value)


@pytest.mark.parametrize(("name", "most"), [("config.json", 16), ("model.safetensors.index.json", 64)])
def test_a_text_file_that_is_too_large_is_not_asked_for(name: str, most: int, stand_in: tuple[Hub, str]) -> None:
    state, endpoint = stand_in
    state.repos["org/tiny"][name] = bytes((most + 1) * 2**20)
    with pytest.raises(PlannerError) as raised:
        hub.fetch("org/tiny", endpoint)
    said = f"{name} of org/tiny is {most + 1} MiB long: of such a file no more than {most} MiB is read."
    assert str(raised.value) == said
    assert not [path for verb, path in state.requests if verb == "GET" and path.endswith(name)]


def test_a_server_without_ranges_sends_no_weights(stand_in: tuple[Hub, str]) -> None:
    state, endpoint = stand_in
    state.ranges = False
    with pytest.raises(PlannerError, match="cannot be read in parts"):
        hub.fetch("org/tiny", endpoint)


def test_hostile_shards_are_refused(stand_in: tuple[Hub, str]) -> None:
    state, endpoint = stand_in
    state.repos["org/tiny"][NAMES[0]] = struct.pack("<Q", 2**63) + b"{}"
    with pytest.raises(PlannerError, match=NAMES[0]):
        hub.fetch("org/tiny", endpoint)


def test_an_unreachable_hub_is_no_traceback(stand_in: tuple[Hub, str]) -> None:
    with pytest.raises(PlannerError, match=r"org/tiny could not be read from Hugging Face: .* need no network\."):
        hub.fetch("org/tiny", "http://127.0.0.1:9")


def gguf_file(blocks: int, keys: dict[str, Any] | None = None, first: int = 0) -> bytes:
    """A GGUF header of a small Llama with a token list longer than one request, and room for its tensors."""
    made_keys, shapes = model("llama", blocks, BLOCK, **LLAMA)
    of_part = {name: shape for name, shape in shapes.items() if first == 0 or name.startswith("blk")}
    data, size = header({**made_keys, **(keys or {}), "tokenizer.ggml.tokens": ["x" * 20] * 60_000}, of_part)
    return data + bytes(size)


def test_a_gguf_file_is_read_by_its_header(stand_in: tuple[Hub, str]) -> None:
    """Of 1.7 MB of header and the tensors behind it, no more is asked for than the header's windows."""
    state, endpoint = stand_in
    content = gguf_file(2)
    state.repos["org/one-GGUF"] = {
        "tiny-Q8_0.gguf": content + bytes(8_000_000),
        "mmproj-tiny.gguf": b"GGUF",
        "README.md": b"",
    }
    listing = hub.list_files("org/one-GGUF", endpoint)
    assert has_gguf(listing)
    found = fetch_gguf(listing, "", gguf_knowledge(), endpoint)
    assert len(found.layers) == 2
    assert found.source == f"org/one-GGUF at {COMMIT[:12]}: tiny-Q8_0.gguf"
    assert state.sent_bytes < len(content) + 2 * 2**20


def test_one_of_several_gguf_files_is_chosen_by_its_quantisation(stand_in: tuple[Hub, str]) -> None:
    state, endpoint = stand_in
    state.repos["org/many-GGUF"] = {
        "config.json": json.dumps(CONFIG).encode(),
        "tiny-Q4_K_M.gguf": gguf_file(1),
        "tiny-IQ4_K_M.gguf": gguf_file(2),
        "Q8_0/tiny-Q8_0.gguf": gguf_file(3),
    }
    listing = hub.list_files("org/many-GGUF", endpoint)
    for wanted, layers in (("Q4_K_M", 1), ("iq4_k_m", 2), ("Q8_0", 3)):
        assert len(fetch_gguf(listing, wanted, gguf_knowledge(), endpoint).layers) == layers
    with pytest.raises(PlannerError, match=r"several GGUF files; say which, as in org/many-GGUF:Q4_K_M: tiny-Q8_0, "):
        fetch_gguf(listing, "", gguf_knowledge(), endpoint)
    with pytest.raises(PlannerError, match=r"no GGUF file for 'Q5_0'; it has tiny-Q8_0, "):
        fetch_gguf(listing, "Q5_0", gguf_knowledge(), endpoint)
    with pytest.raises(PlannerError, match=r"org/tiny has no model as a GGUF file"):
        fetch_gguf(hub.list_files("org/tiny", endpoint), "Q4_K_M", gguf_knowledge(), endpoint)


def test_a_split_gguf_file_needs_all_its_parts(stand_in: tuple[Hub, str]) -> None:
    state, endpoint = stand_in
    keys = {"split.count": 2, "split.no": 0}
    state.repos["org/split-GGUF"] = {"Q4/tiny-Q4_0-00001-of-00002.gguf": gguf_file(1, keys)}
    with pytest.raises(PlannerError, match=r"org/split-GGUF has not all parts: Q4/tiny-Q4_0-00002-of-00002\.gguf"):
        fetch_gguf(hub.list_files("org/split-GGUF", endpoint), "", gguf_knowledge(), endpoint)


def test_model_names_lead_to_gguf_files(stand_in: tuple[Hub, str], monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    state, endpoint = stand_in
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", endpoint + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    state.repos["org/tiny-GGUF"] = {"tiny-Q4_0.gguf": gguf_file(2), "tiny-Q8_0.gguf": gguf_file(2)}
    assert len(load_model("org/tiny-GGUF:Q8_0", online=True).layers) == 2
    with pytest.raises(PlannerError, match="add --online"):
        load_model("org/tiny-GGUF:Q8_0")


def test_what_was_read_online_is_there_without_a_network(
    stand_in: tuple[Hub, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    state, endpoint = stand_in
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", endpoint + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    for name in ("org/tiny", "org/config-only"):
        with pytest.raises(PlannerError, match="add --online"):
            load_model(name)
        online = load_model(name, online=True)
        asked = len(state.requests)
        assert load_model(name) == online
        assert len(state.requests) == asked
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        again = load_model(name, online=True)
        assert again.layers == online.layers
        assert again.warnings[-1].endswith(f"this is commit {COMMIT[:12]}, as it was read before.")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


def test_a_hub_that_is_not_there_is_said_in_words(stand_in: tuple[Hub, str]) -> None:
    with pytest.raises(PlannerError, match=r"org/tiny could not be read .*: there is no connection to it\. Presets"):
        hub.list_files("org/tiny", "http://127.0.0.1:9")
