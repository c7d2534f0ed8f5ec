"""What terminals, mail, web pages and log collectors put around an engine's lines changes no figure."""

import html
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from planner.logs.read import read_log, read_log_bytes, read_log_file
from planner.logs.readings import Start

LOGS = {
    "vllm": (
        "INFO 06-10 vLLM API server version 0.11.0\n"
        "INFO 06-10 non-default args: {'model': 'Qwen/Qwen3-8B', 'max_model_len': 131072, 'max_num_seqs': 64}\n"
        "INFO 06-10 Model loading took 15.27 GiB and 3.1 seconds\n"
        "INFO 06-10 Available KV cache memory: 3.99 GiB\n"
        "ERROR 06-10 ValueError: To serve at least one request with the models's max seq len (131072), (18.00 GiB KV "
        "cache is needed, which is larger than the available KV cache memory (3.99 GiB). Based on the available "
        "memory, the estimated maximum model length is 29040. Try increasing it.\n"
    ),
    "sglang": (
        "[2026-08-01 10:00:00] server_args=ServerArgs(model_path='Qwen/Qwen3-8B', tp_size=1, context_length=4096)\n"
        "[2026-08-01 10:00:01] Load weight begin. avail mem=23.10 GB\n"
        "[2026-08-01 10:00:09] Load weight end. type=Qwen3ForCausalLM, avail mem=7.80 GB, mem usage=15.30 GB.\n"
        "[2026-08-01 10:00:10] KV Cache is allocated. #tokens: 36032, K size: 2.47 GB, V size: 2.47 GB\n"
        "[2026-08-01 10:00:11] Memory pool end. avail mem=2.31 GB\n"
    ),
    "llama_cpp": (
        "build: 6123 (79c1160b0) with cc for x86_64-linux-gnu\n"
        "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3090) - 23871 MiB free\n"
        "llama_model_loader: loaded meta data with 36 key-value pairs and 579 tensors from Qwen3-8B-Q4_K_M.gguf\n"
        "load_tensors: offloaded 37/37 layers to GPU\n"
        "load_tensors:        CUDA0 model buffer size =  4455.34 MiB\n"
        "llama_context: n_ctx         = 16384\n"
        "llama_kv_cache:      CUDA0 KV buffer size =  2304.00 MiB\n"
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 304.75 MiB on device 0: "
        "cudaMalloc failed: out of memory\n"
    ),
    "ollama": (
        'time=2026-01-10 level=INFO source=routes.go:1 msg="Listening on 127.0.0.1:11434 (version 0.13.1)"\n'
        'time=2026-01-10 level=INFO source=device.go:240 msg="model weights" device=CUDA0 size="4.4 GiB"\n'
        'time=2026-01-10 level=INFO source=device.go:251 msg="kv cache" device=CUDA0 size="565.0 MiB"\n'
        'time=2026-01-10 level=INFO source=device.go:272 msg="total memory" size="5.9 GiB"\n'
    ),
}


def prefixed(prefix: str) -> Callable[[str], str]:
    return lambda text: "".join(f"{prefix}{line}\n" for line in text.splitlines())


WRAPPERS: dict[str, Callable[[str], str]] = {
    "docker compose": prefixed("server-1  | "),
    "kubectl with times": prefixed("2026-08-01T10:00:00.123456789Z "),
    "journald": prefixed("Aug 01 10:00:00 athena server[2840147]: "),
    "a collector": prefixed("INFO 2026-08-01T10:00:00.09Z [resource.labels.containerName: server] "),
    "a quoted mail": prefixed("> "),
    "code in Markdown": lambda text: f"Here is the log:\n```\n{text}```\nWhat now?\n",
    "windows": lambda text: text.replace("\n", "\r\n"),
    "a progress bar": lambda text: text.replace("\n", "\nLoading: 10%\rLoading: 90%\r", 1),
    "colours": lambda text: "".join(f"\x1b[1;32m{line}\x1b[0m\n" for line in text.splitlines()),
    "colours that lost their escape": lambda text: "".join(f"[34m{line}[0m\n" for line in text.splitlines()),
    "colours in carets": lambda text: "".join(f"^[[34m{line}^[[0m\n" for line in text.splitlines()),
    "html": lambda text: html.escape(text).replace("\n", "<br />\n"),
    "html on one line": lambda text: "<pre>" + html.escape(text).replace("\n", "<br>") + "</pre>",
    "spaces of a web page": lambda text: text.replace(" GiB", "\xa0GiB").replace(" MiB", "\u202fMiB"),
    "docker's records": lambda text: "".join(
        json.dumps({"log": f"{line}\n", "stream": "stderr", "time": "2026-08-01T10:00:00Z"}) + "\n"
        for line in text.splitlines()
    ),
    "records of a logger": lambda text: "".join(
        json.dumps({"timestamp": "2026-08-01", "level": "INFO", "message": line}) + "\n" for line in text.splitlines()
    ),
    "records behind a container's name": lambda text: "".join(
        f"server-1  | {json.dumps({'log': line})}\n" for line in text.splitlines()
    ),
    "one record for all": lambda text: json.dumps({"message": text}),
}


def facts(start: Start) -> tuple[object, ...]:
    figures = [(reading.name, reading.value, reading.rank) for reading in start.readings]
    return start.engine, start.version, start.model, dict(start.settings), figures, start.failure and start.failure.kind


def only(text: str) -> Start:
    (start,) = read_log(text).starts
    return start


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("engine", LOGS)
def test_a_wrapped_log_says_the_same(engine: str, wrapper: str) -> None:
    plain = only(LOGS[engine])
    assert plain.engine == engine
    assert len(plain.readings) > 2
    assert facts(only(WRAPPERS[wrapper](LOGS[engine]))) == facts(plain)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("engine", LOGS)
def test_a_file_is_read_in_its_own_encoding(engine: str, encoding: str, tmp_path: Path) -> None:
    data = LOGS[engine].encode(encoding)
    (tmp_path / "server.log").write_bytes(data)
    for found in (read_log_bytes(data), read_log_file(tmp_path / "server.log")):
        (start,) = found.starts
        assert facts(start) == facts(only(LOGS[engine]))


@pytest.mark.parametrize("end", [" \\", " ^", " `"])
def test_a_command_over_several_lines_is_one(end: str) -> None:
    """Bash, cmd and PowerShell."""
    command = f"vllm serve Qwen/Qwen3-8B{end}\n  --max-model-len 32768{end}\n  -tp 2\n"
    start = only(command + "Available KV cache memory: 3.99 GiB\n")
    assert (start.model, start.settings) == (
        "Qwen/Qwen3-8B",
        {"max_model_len": "32768", "tensor_parallel_size": "2"},
    )


def test_what_the_engine_says_counts_before_a_command() -> None:
    """A person's command below the log may be another try."""
    start = only(LOGS["vllm"] + "I also tried: vllm serve other/model --max-model-len 8192 --enforce-eager\n")
    assert (start.model, start.settings["max_model_len"]) == ("Qwen/Qwen3-8B", "131072")
    assert start.settings["enforce_eager"] == "True"
