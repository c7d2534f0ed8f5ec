"""A log in, whichever engine wrote it: its starts out."""

from pathlib import Path
from typing import IO

from planner.logs import llama_cpp, lmdeploy, ollama, sglang, tensorrt_llm, torch, vllm
from planner.logs.collector import collect
from planner.logs.lines import bytes_stream, open_log, text_stream
from planner.logs.readings import Readings

FORMATS = (vllm.FORMAT, sglang.FORMAT, tensorrt_llm.FORMAT, lmdeploy.FORMAT, llama_cpp.FORMAT, torch.FORMAT)
FINISH = {
    "sglang": sglang.name_drafts,
    "tensorrt_llm": tensorrt_llm.with_weights,
    "llama_cpp": llama_cpp.last_tables,
    "ollama": lambda readings: ollama.finish(llama_cpp.last_tables(readings)),
}
"""What an engine's readings need once a start is complete."""


def read_log(text: str) -> Readings:
    """The starts in a pasted log; none where no line is an engine's."""
    return read_log_stream(text_stream(text))


def read_log_bytes(data: bytes) -> Readings:
    """The starts in an uploaded log."""
    return read_log_stream(bytes_stream(data))


def read_log_file(path: Path) -> Readings:
    """The starts in a log file, read line by line. Raises BadFile where it cannot be opened."""
    with open_log(path) as stream:
        return read_log_stream(stream)


def read_log_stream(stream: IO[str]) -> Readings:
    """The starts in what comes in, such as standard input."""
    return collect(stream, FORMATS, FINISH)
