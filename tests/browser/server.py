"""The real app in a process of its own, for tests and screenshots."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppServer:
    """A running app: where it listens, and what it has printed so far."""

    url: str
    log_path: Path

    def log(self) -> str:
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def is_healthy(self) -> bool:
        try:
            with urlopen(f"{self.url}/_stcore/health", timeout=2) as answer:
                return answer.read() == b"ok"
        except (URLError, OSError):
            return False


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@contextmanager
def running_app(log_path: Path, start_limit_s: float = 60) -> Iterator[AppServer]:
    """Start app.py on a free loopback port, wait until it answers, stop it after.

    Raises RuntimeError with the app's own words when it ends early or stays silent for ``start_limit_s``.
    """
    port = free_port()
    server = AppServer(url=f"http://127.0.0.1:{port}", log_path=log_path)
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    quiet = ["--server.address", "127.0.0.1", "--server.headless", "true", "--server.fileWatcherType", "none"]
    with log_path.open("wb") as log:
        process = subprocess.Popen([*command, *quiet], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + start_limit_s
        while not server.is_healthy():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the app did not start:\n{server.log()}")
            time.sleep(0.1)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
