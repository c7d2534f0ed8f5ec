"""Real engines that are installed here: how each is started, and when its start has said all about memory."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Timer

from planner.errors import PlannerError

SECONDS = 300
"""The longest that a start may take."""
BINDINGS, SERVER, VLLM = "xllamacpp", "llama-server", "vllm"
CPU_POOL_GIB = 1
"""vLLM on a CPU has no share of a card: its pool is stated."""
VLLM_BLOCK = 128
"""Tokens of a block, stated since the CPU's default is another than a card's."""
_COMPUTED = r"compute buffer size"
_DONE = {
    BINDINGS: _COMPUTED,
    SERVER: rf"{_COMPUTED}|server is listening",
    VLLM: r"Maximum concurrency|Application startup complete",
}
_QUIET = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": str(CPU_POOL_GIB),
    "GLOO_SOCKET_IFNAME": "lo",  # one machine; the first interface may lead nowhere
}
LINES_AFTER = 20
"""Read on after the last line that matters: what belongs to it may follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStart:
    """What a start is asked for, by llama.cpp's names: *n_ctx* tokens of all slots together."""

    model: str
    n_ctx: int
    n_parallel: int = 1
    cache_type: str = "f16"


def installed() -> tuple[str, ...]:
    """The engines that can be started here; bindings before the server, which is the same engine."""
    found = [BINDINGS] if find_spec(BINDINGS) else []
    return (*found, *(name for name in (SERVER, VLLM) if shutil.which(name)))


def command(name: str, asked: EngineStart) -> list[str]:
    """The words that start *name*."""
    match name:
        case "xllamacpp":
            words = [asked.model, str(asked.n_ctx), str(asked.n_parallel), asked.cache_type]
            return [sys.executable, "-m", "measure.start_llama_cpp", *words]
        case "llama-server":
            types = ["-ctk", asked.cache_type, "-ctv", asked.cache_type]
            slots = ["-np", str(asked.n_parallel)]
            port = ["--host", "127.0.0.1", "--port", "0"]
            return [
                "llama-server",
                "-m",
                asked.model,
                "-c",
                str(asked.n_ctx),
                *slots,
                *types,
                "--no-warmup",
                "-v",
                *port,
            ]
        case _:
            length = ["--max-model-len", str(asked.n_ctx), "--max-num-seqs", str(asked.n_parallel)]
            length += ["--block-size", str(VLLM_BLOCK)]
            return ["vllm", "serve", asked.model, *length, "--load-format", "dummy", "--enforce-eager", "--port", "0"]


def start_up(name: str, asked: EngineStart, words: Sequence[str] = ()) -> str:
    """What *name* prints until its memory is laid out, where it is ended. Raises PlannerError when it says nothing."""
    lines: list[str] = []
    left = None
    environment: Mapping[str, str] = os.environ | _QUIET
    with subprocess.Popen(
        list(words) or command(name, asked), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", env=environment, start_new_session=True,
    ) as engine:  # fmt: skip
        timer = Timer(SECONDS, _end, (engine,))
        timer.start()
        assert engine.stdout is not None
        try:
            for line in engine.stdout:
                lines.append(line)
                left = LINES_AFTER if left is None and re.search(_DONE[name], line) else left and left - 1
                if left == 0:
                    break
        finally:
            timer.cancel()
            _end(engine)
    if not lines:
        raise PlannerError(f"{name} said nothing in {SECONDS} s and ended with exit code {engine.returncode}.")
    return "".join(lines)


def _end(engine: "subprocess.Popen[str]") -> None:
    """Ends it with all the processes that it started, which share its session."""
    for word in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(engine.pid, word)
        with suppress(subprocess.TimeoutExpired):
            engine.wait(timeout=10)
