"""Ollama's own engine, which it had until May 2026: public logs, whose caches follow its source to the last digit."""

import pytest

from planner.budget import plan
from planner.inputs.choices import Choices, choose
from planner.logs.read import read_log
from planner.startups.comparison import Compared, Match
from planner.startups.report import report_log
from planner.units import GIB, MIB

COMMIT = (
    'time={day}T00:42:50Z level=INFO source={runner} msg=load request="{{Operation:commit LoraPath:[] Parallel:1 '
    "BatchSize:{batch} FlashAttention:{flash} KvSize:{tokens} KvCacheType: NumThreads:8 GPULayers:{layers}[ID:0 "
    'Layers:1(0..0)] MultiUserCache:false ProjectorPath: MainGPU:0 UseMmap:false}}"\n'
    'time={day}T00:42:50.484+02:00 level=INFO source=ggml.go:498 msg="offloaded {layers}/{of} layers to GPU"\n'
)
LAID = 'time={day}T00:42:50.484+02:00 level=INFO source={source} msg="{what}" device={where} size="{size}"\n'


def rows(log: str, **choices: str) -> dict[str, Compared]:
    found = report_log(read_log(log), Choices(engine="", **choices))  # type: ignore[arg-type]
    return {row.name: row for row in found.readings}


def laid(day: str, source: str, **sizes: str) -> str:
    """``weights_CUDA0="19.9 GiB"``: a size by what and where."""
    names = {"weights": "model weights", "cache": "kv cache", "compute": "compute graph"}
    lines = ((name.partition("_"), size) for name, size in sizes.items())
    return "".join(
        LAID.format(day=day, source=source, what=names[what], where=where, size=size)
        for (what, _, where), size in lines
    )


def test_gpt_oss_remembers_4096_tokens_of_its_windows() -> None:
    """18 layers of 8,192 tokens and 18 of 4,096 + 512, each 2,048 B a token: 288 + 162 = 450 MiB (September 2025)."""
    log = COMMIT.format(
        day="2025-09-11", runner="runner.go:1169", batch=512, flash="true", tokens=8192, layers=37, of=37
    ) + laid("2025-09-11", "backend.go:310", weights_ROCm0="59.8 GiB", weights_CPU="1.1 GiB", cache_ROCm0="450.0 MiB")
    found = rows(log, model="gpt-oss-120b", device="mi210", weights="checkpoint")
    assert found["cache"].predicted == 18 * (8_192 + 4_096 + 512) * 2_048 == 450 * MIB
    assert found["cache"].match is Match.EQUAL
    assert found["weights"].predicted == pytest.approx(59.8 * GIB, rel=2e-3)


def test_gemma_s_windows_are_of_a_batch_more() -> None:
    """5 of 34 layers of 8,192 tokens and 29 of 1,024 + 512, 4,096 B a token: 160 + 174 = 334 MiB (ollama#12303)."""
    chosen = choose(
        Choices(
            model="gemma-3-4b",
            device="cpu-32gb",
            weights="q4_k_m",
            engine="ollama",
            engine_version="0.12.0",
            context=8_192,
        )
    )
    size = plan(chosen.architecture, chosen.deployment, chosen.workload).kv_request_bytes
    assert size == (5 * 8_192 + 29 * 1_536) * 4_096 == 334 * MIB


@pytest.mark.parametrize(
    ("version", "states"), [("0.13.5", 1), ("0.16.3", 33), ("0.20.3", 25), ("0.24.0", 25), ("0.30.0", 1)]
)
def test_recurrent_states_are_kept_for_prompts_that_begin_alike(version: str, states: int) -> None:
    """Qwen3-Next: 36 layers of 32 × 128 × 128 and 3 × 8,192 numbers in 32 bit; 12 of 2,048 B a token."""
    chosen = choose(
        Choices(model="qwen3-next-80b-a3b", memory="96GiB", engine="ollama", engine_version=version, context=4_096)
    )
    size = plan(chosen.architecture, chosen.deployment, chosen.workload).kv_request_bytes
    assert size == 12 * 4_096 * 2_048 + states * 36 * 4 * (32 * 128 * 128 + 3 * 8_192)


def test_qwen3_coder_next_with_20_layers_on_the_card() -> None:
    """April 2026: of layers 28 to 47 five keep 64 MiB of tokens and 15 a state 25 times; the weights have the mix of
    Ollama's file."""
    log = COMMIT.format(
        day="2026-04-09", runner="runner.go:1284", batch=1024, flash="Enabled", tokens=32768, layers=20, of=49
    ) + laid("2026-04-09", "device.go:240", weights_CUDA0="19.9 GiB", weights_CPU="28.3 GiB", cache_CUDA0="1.1 GiB")
    found = rows(log, model="qwen3-coder-next", device="rtx-3090", weights="q4_k_m")
    state_bytes = 4 * (32 * 128 * 128 + 3 * 8_192)
    assert found["cache"].predicted == 5 * 32_768 * 2_048 + 15 * 25 * state_bytes
    assert found["cache"].match is found["weights"].match is Match.EQUAL


def test_qwen3_moe_keeps_every_token() -> None:
    """48 layers of 4,096 tokens at 2,048 B: 384 MiB (February 2026)."""
    log = COMMIT.format(
        day="2026-02-21", runner="runner.go:1284", batch=512, flash="Enabled", tokens=4096, layers=49, of=49
    ) + laid("2026-02-21", "device.go:240", cache_CUDA0="384.0 MiB")
    found = rows(log, model="qwen3-30b-a3b", device="rtx-4090", weights="q4_k_m")
    assert (found["cache"].predicted, found["cache"].match) == (384 * MIB, Match.EQUAL)
    assert 384 * MIB == 48 * 4_096 * 2_048 < GIB
