"""A pool whose size settings give is there whole: what is asked lies in it, and the card may be too small for it."""

from typing import Any

import pytest

from planner.answers.answer import Answer, answer
from planner.answers.verdict import verdict
from planner.budget import OUTSIDE, State
from planner.inputs.choices import Choices, choose
from planner.line_item import Kind
from planner.rank_budget import REST_OF_POOL
from planner.units import GIB, MIB
from tests.builders import attention, layer, linear, model

# 4 layers keep 2 · 2 heads · 64 · 2 bytes = 512 a token: 2,048 bytes; blocks are 16 tokens in vLLM and 64 in LMDeploy.
DENSE = model(layer(attention(), tensors=(linear(1_024, 1_024),)), *[layer(attention())] * 3)
TOKEN_BYTES, WEIGHTS_BYTES = 2_048, 2 * MIB
TOKENS = 1_024
SETTERS = [
    ("vllm", "0.32", lambda size: f"kv_cache_memory_bytes={size}", 16 * TOKEN_BYTES),
    ("vllm", "0.8.5", lambda size: f"kv_cache_memory_bytes={size}", 0),
    ("vllm", "0.8.5", lambda size: f"num_gpu_blocks_override={size // (16 * TOKEN_BYTES)}", 0),
    ("lmdeploy", "0.14", lambda size: f"cache_max_entry_count={size // (64 * TOKEN_BYTES)}", 0),
]
CAPS = [
    ("sglang", "0.5.17", "max_total_tokens"),
    ("tensorrt_llm", "1.2.1", "max_tokens"),
]


def ask(engine: str, version: str, setting: str, **options: Any) -> Answer:
    given = {"memory": "1GiB", "overhead": "0", "kv_cache": "bf16", "context": TOKENS, **options}
    chosen = choose(Choices(model="", engine=engine, engine_version=version, set=(setting,), **given), DENSE)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def spare(found: Answer) -> set[int]:
    """What is left as expected, at best and at worst."""
    return {found.free_bytes, found.deciding.spare_low_bytes, found.deciding.spare_high_bytes}


def item(found: Answer, name: str) -> int:
    return sum(item.bytes for item in found.items if item.name == name)


@pytest.mark.parametrize(("engine", "version", "setting", "kept"), SETTERS)
def test_a_pool_that_fits_leaves_what_is_not_asked_of_it(engine: str, version: str, setting: Any, kept: int) -> None:
    pool = 512 * MIB
    found = ask(engine, version, setting(pool))
    assert found.state is State.FITS
    assert spare(found) == {pool - kept - TOKENS * TOKEN_BYTES}
    assert item(found, OUTSIDE) == GIB - WEIGHTS_BYTES - pool + kept


@pytest.mark.parametrize(("engine", "version", "setting", "kept"), SETTERS)
@pytest.mark.parametrize("more", [2 * MIB, 64 * MIB, 4 * GIB])
def test_a_pool_that_does_not_is_short_by_itself(engine: str, version: str, setting: Any, kept: int, more: int) -> None:
    """The requests' cache is part of it: weights and pool, not weights, pool and cache."""
    pool = GIB - WEIGHTS_BYTES + more
    found = ask(engine, version, setting(pool))
    assert found.total_bytes == WEIGHTS_BYTES + pool - kept
    assert found.free_bytes == kept - more
    assert item(found, REST_OF_POOL) == pool - kept - TOKENS * TOKEN_BYTES
    assert sum(part.bytes for part in found.items) == found.total_bytes
    assert (found.loads, found.fits, found.state) == (False, False, State.NO)
    assert found.report is not None
    assert "would run out of memory" in found.report.refusals[0]
    assert verdict(found).title == "No: the engine would refuse to start"


@pytest.mark.parametrize(("engine", "version", "setting", "kept"), SETTERS)
def test_a_pool_too_small_for_what_is_asked_is_short_by_the_rest(
    engine: str, version: str, setting: Any, kept: int
) -> None:
    found = ask(engine, version, setting(MIB))
    assert found.free_bytes == MIB - kept - TOKENS * TOKEN_BYTES
    assert not found.fits


@pytest.mark.parametrize(("engine", "version", "name"), CAPS)
def test_a_cap_never_asks_for_more_than_there_is(engine: str, version: str, name: str) -> None:
    """1,536 tokens of 2,048 bytes; a cap above what memory holds changes nothing."""
    capped = ask(engine, version, f"{name}=1536", memory="16GiB")
    assert spare(capped) == {(1_536 - TOKENS) * TOKEN_BYTES}
    whole, more = (ask(engine, version, f"{name}={tokens}", memory="16GiB") for tokens in (10**7, 2 * 10**7))
    assert whole.free_bytes == more.free_bytes
    assert whole.fits


@pytest.mark.parametrize(("engine", "version", "name"), CAPS)
def test_what_a_capped_pool_has_to_spare_is_never_more_than_the_cap(engine: str, version: str, name: str) -> None:
    """However little the runtime turns out to take."""
    found = ask(engine, version, f"{name}=1536", overhead=None, memory="16GiB")
    assert found.deciding.spare_high_bytes == (1_536 - TOKENS) * TOKEN_BYTES


@pytest.mark.parametrize(("size", "short_mib"), [("3.06GiB", 44.01), ("3.0GiB", None)])
def test_qwen3_on_12_gib_with_a_pool_by_hand(size: str, short_mib: float | None) -> None:
    """8.98 GiB of weights and runtime and 3.06 of pool are 12.04; the 1.37 GiB of 10,000 tokens are within the pool."""
    choices = Choices(
        model="qwen3-4b",
        memory="12GiB",
        engine="vllm",
        engine_version="0.8.5",
        context=10_000,
        set=(f"kv_cache_memory_bytes={size}",),
    )
    chosen = choose(choices)
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    cache = sum(part.bytes for part in found.items if part.kind is Kind.CACHE)
    pool = chosen.deployment.settings.integer("kv_cache_memory_bytes") or 0
    assert cache == 10_000 * 147_456
    assert found.state is State.UNCERTAIN
    assert found.deciding.spare_high_bytes == pool - cache
    assert found.fits is (short_mib is None)
    if short_mib is not None:
        assert found.free_bytes / MIB == pytest.approx(-short_mib, abs=0.01)
        assert found.total_bytes / GIB == pytest.approx(12.04, abs=0.005)
    assert 0 > found.deciding.spare_low_bytes > -GIB


def test_a_pool_of_just_one_request_lacks_the_block_that_is_never_given_away() -> None:
    size = TOKENS * TOKEN_BYTES
    report = ask("vllm", "0.32", f"kv_cache_memory_bytes={size}").report
    assert report is not None
    (refusal,) = report.refusals
    assert "are there, one block of which is never given away; the longest that starts is 1,008." in refusal
    before = ask("vllm", "0.28", f"kv_cache_memory_bytes={size}").report
    assert before is not None
    assert before.refusals == ()
