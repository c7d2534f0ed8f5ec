"""What reading a long log costs, by the lines that a server goes on printing: ``python -m bench.logs``."""

import tempfile
import time
from pathlib import Path

from planner.logs.read import read_log_file

START = (
    "(APIServer pid=1) INFO 01-01 21:15:10 [api_server.py:1351] vLLM API server version 0.13.0\n"
    "(EngineCore_DP0 pid=2) INFO 01-01 21:15:40 [gpu_worker.py:298] Available KV cache memory: 4.99 GiB\n"
)
RUNNING = {
    "vLLM, each ten seconds": (
        "(APIServer pid=1) INFO 01-01 00:00:00 [loggers.py:248] Engine 000: Avg prompt throughput: {n}.3 tokens/s, Avg "
        "generation throughput: {n}.6 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.2%, Prefix "
        "cache hit rate: 0.0%\n"
    ),
    "vLLM, each request": ('(APIServer pid=1) INFO:     127.0.0.1:{n} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'),
    "llama-server, each request": (
        "slot launch_slot_: id  0 | task {n} | processing task\n"
        "slot update_slots: id  0 | task {n} | new prompt, n_ctx_slot = 8192, n_keep = 0, n_prompt_tokens = 412\n"
        "prompt eval time =     {n}.73 ms /   412 tokens (    0.39 ms per token,  2547.45 tokens per second)\n"
        "srv  update_slots: all slots are idle\n"
    ),
    "a traceback, again and again": (
        "Traceback (most recent call last):\n"
        '  File "/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/core.py", line 708, in run_engine_core\n'
        "    engine_core = EngineCoreProc(*args, **kwargs)\n"
        "RuntimeError: the model {n} cannot be loaded\n"
    ),
}
"""``{n}`` is another number each time."""
SIZE_BYTES = 2 * 10**8
LIMIT_S = 20


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server.log"
        for name, lines in RUNNING.items():
            with path.open("w", encoding="utf-8") as file:
                file.write(START)
                file.writelines(lines.replace("{n}", str(n)) for n in range(SIZE_BYTES // len(lines)))
            start = time.process_time()
            found = read_log_file(path)
            spent_s = time.process_time() - start
            print(f"{name:30} {spent_s:5.1f} s, {found.lines:9,} lines of 200 MB   the aim is under {LIMIT_S} s")


if __name__ == "__main__":
    main()
