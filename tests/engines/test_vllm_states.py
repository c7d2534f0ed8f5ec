"""How many states of one request vLLM keeps of Mamba-2 layers, by version and by how prefixes are cached."""

import json
from pathlib import Path

import pytest

from planner.answers.answer import answer
from planner.inputs.choices import Choices, choose
from planner.units import GIB
from tests.engines.tiny_configs import CONFIGS
from tests.shapes import shape


@pytest.mark.parametrize(
    ("version", "settings", "blocks"),
    [
        # ceil(8,192 / 400) = 21 blocks of attention; nine groups of states, each with as many
        ("0.31", (), 10 * 21),
        ("0.31", ("num_speculative_tokens=1", "speculative_method=ngram"), 21 + 9 * 3),
        ("0.31", ("enable_prefix_caching=false",), 21 + 9),
        ("0.25", (), 21 + 9),
        ("0.32", (), 21 + 9 * 3),
    ],
)
def test_mamba_2_keeps_a_state_for_every_block_while_prefixes_are_cached(
    version: str, settings: tuple[str, ...], blocks: int
) -> None:
    choices = Choices(
        model="",
        memory="80GiB",
        kv_cache="bf16",
        context=8_192,
        engine="vllm",
        engine_version=version,
        set=("kv_cache_memory_bytes=1GB", *settings),
    )
    chosen = choose(choices, shape("granite-4.0-h-1b"))
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    assert found.report is not None
    assert found.report.blocks_per_request == blocks
    assert any("whole chunks" in text for text in found.warnings) == (blocks == 10 * 21)


@pytest.mark.parametrize(("settings", "states"), [((), 2), (("enable_prefix_caching=false",), 1)])
def test_short_convolutions_have_pages_as_large_as_attention(
    tmp_path: Path, settings: tuple[str, ...], states: int
) -> None:
    """128 tokens × 2 heads × 32 × 2 × 2 B = 32,768 B a page, which holds a state of 256 × 2 × 2 B; four groups of two
    layers. A request of 4,096 tokens has 32 blocks, and in three groups its states: vLLM 0.32 prints 431.16x.
    """
    (tmp_path / "config.json").write_text(json.dumps(CONFIGS["lfm2"]), encoding="utf-8")
    pool = ("block_size=128", f"kv_cache_memory_bytes={GIB}")
    chosen = choose(Choices(model=str(tmp_path), memory="8GiB", engine="vllm", context=4_096, set=(*pool, *settings)))
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    assert found.report is not None
    assert (found.report.num_blocks, found.report.blocks_per_request) == (GIB // 65_536, 32 + 3 * states)
    assert found.pool_tokens == int(GIB // 65_536 / (32 + 3 * states) * 4_096)
