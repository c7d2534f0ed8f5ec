"""llama.cpp's own arithmetic on models small enough to redo by hand, and on presets."""

from dataclasses import replace

import pytest

from planner import presets
from planner.answers.answer import Answer, answer
from planner.cli import main
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.line_item import Kind
from planner.units import GIB, MIB

TOKEN = 2 * 8 * 128 * 2 * 32
"""Llama-3.1-8B, 16 bit: keys and values of 8 heads of 128 in 32 layers."""


def ask(*settings: str, **given: object) -> Answer:
    base = Choices(model="llama-3.1-8b", device="rtx-3090", weights="q4_k_m", engine="llama_cpp", set=settings)
    chosen = choose(replace(base, **given))  # type: ignore[arg-type]
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def cache_bytes(found: Answer) -> int:
    return sum(item.bytes for item in found.items if item.kind is Kind.CACHE)


def named(found: Answer, name: str) -> int:
    return next(item.bytes for item in found.items if item.name == name)


def on_host(found: Answer, name: str) -> int:
    return next(item.bytes for item in found.host_items if item.name == name)


@pytest.mark.parametrize(("tokens", "cells"), [(1, 256), (256, 256), (257, 512), (8_192, 8_192)])
def test_cells_come_in_steps_of_256(tokens: int, cells: int) -> None:
    assert cache_bytes(ask(context=tokens)) == cells * TOKEN


def test_older_builds_pad_to_32_without_flash_attention() -> None:
    found = ask("flash_attn=off", engine_version="2025-08-01", context=1_000)
    assert cache_bytes(found) == 1_024 * TOKEN
    assert cache_bytes(ask(engine_version="b6325", context=1_000)) == 1_024 * TOKEN


def test_slots_share_unless_their_number_is_set() -> None:
    """Four slots by default share one cache; -np 4 gives each its own; two users share what four slots do."""
    assert cache_bytes(ask(context=8_192)) == 8_192 * TOKEN
    assert cache_bytes(ask("n_parallel=4", context=8_192)) == 4 * 8_192 * TOKEN
    assert cache_bytes(ask("n_parallel=4", "kv_unified=true", context=8_192)) == 8_192 * TOKEN
    assert cache_bytes(ask(context=8_192, users=2)) == 2 * 8_192 * TOKEN
    more = ask(context=8_192, users=6)
    assert cache_bytes(more) == 6 * 8_192 * TOKEN
    assert "counted as with n_parallel=6" in more.warnings[-1]


def test_a_window_has_cells_for_every_slot_that_shares_it_and_for_one_step() -> None:
    """gpt-oss: 12 layers with a window of 128, 12 without; 8 heads of 64. One slot: 128 + 512 → 768 cells."""
    cell = 2 * 8 * 64 * 2 * 12
    one = ask("n_parallel=1", model="gpt-oss-20b", weights="mxfp4_moe", context=32_768)
    assert cache_bytes(one) == (32_768 + 768) * cell
    shared = ask(model="gpt-oss-20b", weights="mxfp4_moe", context=32_768)
    assert cache_bytes(shared) == (32_768 + 1_024) * cell
    full = ask("n_parallel=1", "swa_full=true", model="gpt-oss-20b", weights="mxfp4_moe", context=32_768)
    assert cache_bytes(full) == 2 * 32_768 * cell


@pytest.mark.parametrize(
    ("version", "elements"), [("2025-12-01", 576 + 512), ("b7700", 576 + 512), ("2026-01-25", 576), (None, 576)]
)
def test_a_latent_was_kept_twice_until_january_2026(version: str | None, elements: int) -> None:
    found = ask(model="deepseek-v3", weights="q2_k", context=4_096, engine_version=version)
    assert cache_bytes(found) == 4_096 * 61 * elements * 2


def test_states_are_kept_in_32_bit_for_every_slot_and_drafted_token() -> None:
    """Qwen3.8-27B: 149.62 MiB a slot, 598.5 for four, and three times that while two tokens are drafted."""
    one = ask(model="qwen3.8-27b", context=8_192)
    assert round(one.kv_fixed_bytes / MIB, 2) == 149.62
    drafting = ask("spec_type=draft-mtp", "spec_draft_n_max=2", model="qwen3.8-27b", context=8_192)
    assert round(4 * drafting.kv_fixed_bytes / MIB, 1) == 1795.5


def test_the_embedding_lies_on_the_host_and_a_tied_one_on_both() -> None:
    untied = ask()
    assert on_host(untied, "weights") == 128_256 * 4_096 * 144 // 256
    tied = ask(model="llama-3.2-1b")
    assert on_host(tied, "weights") == 128_256 * 2_048 * 210 // 256
    assert tied.weights_bytes > on_host(tied, "weights")


def test_layers_move_one_by_one() -> None:
    """Of 33 the output is the first to come to the card, and the first layer the last."""
    held = [ask(f"n_gpu_layers={count}", context=4_096) for count in (0, 1, 2, 32, 33)]
    assert [found.weights_bytes == 0 for found in held] == [True, False, False, False, False]
    assert [cache_bytes(found) for found in held] == [count * 4_096 * TOKEN // 32 for count in (0, 0, 1, 31, 32)]
    totals = {found.weights_bytes + on_host(found, "weights") for found in held}
    assert len(totals) == 1


def test_older_builds_bring_the_output_last() -> None:
    found = ask("n_gpu_layers=25", engine_version="2025-06-01", context=4_096)
    assert cache_bytes(found) == 25 * 4_096 * TOKEN // 32


def test_experts_stay_in_main_memory_where_so_set() -> None:
    whole = ask(model="qwen3-30b-a3b")
    some = ask("n_cpu_moe=24", model="qwen3-30b-a3b")
    none = ask("cpu_moe=true", model="qwen3-30b-a3b")
    assert none.weights_bytes < 1 * GIB < some.weights_bytes < whole.weights_bytes
    assert cache_bytes(none) == cache_bytes(whole)
    assert named(none, "compute buffer") > named(whole, "compute buffer")


def test_the_cache_may_stay_in_main_memory() -> None:
    found = ask("no_kv_offload=true", context=4_096)
    assert cache_bytes(found) == 0
    assert on_host(found, "cache") == 4_096 * TOKEN


def test_main_memory_counts_where_it_is_stated() -> None:
    arguments = {"model": "qwen3-30b-a3b", "context": 4_096}
    assert ask("cpu_moe=true", host_memory="32GiB", **arguments).fits
    short = ask("cpu_moe=true", host_memory="8GiB", **arguments)
    assert not short.fits
    assert short.free_bytes > 0
    assert short.host_bytes > short.host_memory_bytes == 8 * GIB


def test_a_step_is_the_largest_of_its_stages() -> None:
    """Llama-3.1-8B at 8,192: logits of a whole step before June 2026; gate, up and their product since.

    Beside these are the mask, two residuals and the two that hold a hole open, and less than 16 KiB of indices.
    """
    logits = ask(engine_version="2026-05-01", context=8_192)
    assert named(logits, "compute buffer") == 4 * 512 * (128_256 + 4_096)
    today = ask(context=8_192)
    stage = 4 * 512 * (3 * 14_336 + 4 * 4_096) + 2 * 512 * 8_192
    assert stage < named(today, "compute buffer") <= stage + 16 * 1_024


def test_cards_take_whole_layers_and_keep_their_inputs_four_times() -> None:
    """One Llama-3-8B of 8,192 tokens: 560.00 MiB on a card of its own, 640.01 and 640.02 on two."""
    given = {"model": "llama-3-8b", "context": 8_192, "engine_version": "2025-05-10"}
    one = ask("flash_attn=off", "n_parallel=1", **given)
    two = ask("flash_attn=off", "n_parallel=1", device_count=2, **given)
    sizes = [round(named(found, "compute buffer") / MIB, 2) for found in (one, two)]
    assert sizes == [560.0, 640.02]
    assert two.weights_bytes < one.weights_bytes


@pytest.mark.parametrize(
    ("given", "settings", "sentence"),
    [
        ({"kv_cache": "fp8"}, (), "llama.cpp cannot keep its cache in fp8; choose one of: fp32, fp16, bf16, q8_0"),
        ({"kv_cache": "q8_0"}, ("flash_attn=off",), "needs flash attention for values in q8_0"),
        ({"tensor_parallel": 2}, (), "gives every card whole layers"),
        ({"model": "deepseek-v3", "engine_version": "2025-03-01"}, (), "keeps keys and values of every head"),
        ({"model": "deepseek-v4-flash"}, (), "compressed caches of DeepSeek-V4-Flash are not counted yet"),
        ({}, ("spec_type=draft-mtp", "spec_draft_n_max=2"), "has no layers for multi-token prediction"),
        ({"model": "qwen3.8-27b"}, ("spec_type=draft-mtp",), "needs the number of drafted tokens"),
        ({}, ("n_ctx=4096",), "has no setting 'n_ctx'"),
        ({"engine_version": "latest"}, (), "write the day of the build, such as 2025-11-07, or its number, such as b"),
    ],
)
def test_what_it_cannot_do_is_refused(given: dict[str, object], settings: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(PlannerError, match=sentence):
        ask(*settings, **given)


def test_keys_may_be_quantised_alone() -> None:
    found = ask("flash_attn=off", "n_parallel=1", context=4_096, kv_cache_k="q8_0")
    assert cache_bytes(found) == 4_096 * 32 * 1_024 * (34 + 64) // 32


def test_more_than_256_users_are_refused() -> None:
    found = ask(model="qwen3.5-0.8b", users=257, context=256)
    assert found.report is not None
    assert found.report.refusals == ("llama.cpp has at most 256 slots; 257 users were asked for.",)
    assert not found.fits


def test_ollama_serves_one_request_at_a_time_unless_told() -> None:
    assert cache_bytes(ask(engine="ollama", context=8_192)) == 8_192 * TOKEN
    assert cache_bytes(ask("n_parallel=2", engine="ollama", context=8_192)) == 2 * 8_192 * TOKEN


def test_ik_llama_cpp_has_no_windows_and_keeps_the_latent_as_told() -> None:
    found = ask(engine="ik_llama_cpp", model="gemma-3-27b", context=32_768)
    assert cache_bytes(found) == 32_768 * 62 * 2 * 16 * 128 * 2
    latent = ask("mla_attn=1", "flash_attn=off", engine="ik_llama_cpp", model="deepseek-v3", context=512)
    assert cache_bytes(latent) == 512 * 61 * (576 + 512) * 2


def test_the_longest_context_is_the_last_that_fits() -> None:
    found = ask(device=None, memory="8GiB")
    assert found.max_context_tokens is not None
    assert ask(device=None, memory="8GiB", context=found.max_context_tokens).free_bytes >= 0
    assert ask(device=None, memory="8GiB", context=found.max_context_tokens + 1).free_bytes < 0


def test_text_shows_both_budgets(capsys: pytest.CaptureFixture[str]) -> None:
    words = "plan --model llama-3.1-8b --device rtx-3090 --weights q4_k_m --engine llama_cpp --host-memory 16GiB"
    assert main(words.split()) == 0
    out = capsys.readouterr().out
    assert "n_ctx = 8,192: 8,192 cells shared by 4 slots" in out
    assert "main memory" in out
    assert "of 16.00 GiB" in out
    assert main([*words.split()[:-1], "100MiB"]) == 1
    assert "main memory is" in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize(
    ("model", "context", "token_bytes"),
    [
        ("mistral-7b-v0.1", 32_768, TOKEN),
        ("phi-3-mini-4k", 4_096, 2 * 32 * 96 * 2 * 32),
        ("phi-3-medium-4k", 4_096, 2 * 10 * 128 * 2 * 40),
    ],
)
def test_windows_that_the_code_does_not_use_are_no_windows(model: str, context: int, token_bytes: int) -> None:
    """A window of 4,096 or 2,047 in the file, and a cell a token all the same."""
    assert cache_bytes(ask("n_parallel=1", model=model, context=context)) == context * token_bytes


@pytest.mark.parametrize(
    ("release", "day"),
    [("0.5.4", (2024, 12, 17)), ("0.13", (2025, 11, 6)), ("v0.13.2", (2025, 12, 3)), ("0.14.1", (2025, 12, 17)),
     ("0.30.0", (2026, 6, 1)), ("0.32.15", (2026, 8, 18)), ("0.99", (2026, 8, 18))],
)  # fmt: skip
def test_releases_of_ollama_are_days_of_their_llama_cpp(release: str, day: tuple[int, int, int]) -> None:
    """0.13 has what 0.12.11 brought; one that is not known yet has the newest that is."""
    assert presets.engine_data("ollama").number(release) == day


def test_releases_of_ollama_stand_in_the_order_of_their_days() -> None:
    days = [day for _, day in presets.engine_data("ollama").releases]
    assert days == sorted(days)
    with pytest.raises(PlannerError, match=r"write a release, 0\.5\.0 or later, or the day"):
        presets.engine_data("ollama").number("0.3")


@pytest.mark.parametrize(
    ("model", "version", "on_card"),
    [("gemma-3n-e4b", "0.9.3", True), ("gemma-4-e4b", "0.20.5", True), ("gemma-3n-e4b", "0.30.0", False)],
)
def test_ollamas_own_engine_has_the_embeddings_for_every_layer_where_the_output_is(
    model: str, version: str, on_card: bool
) -> None:
    """262,144 words of 256 elements for each of 35 layers, or of 42, in 16 bit; on the host go the first ones.

    With the output's copy of those, 525 MiB in q6_K, Gemma 4 E4B's output is 6.2 GB; ollama#15634 says 6.1.
    """
    second = {"gemma-3n-e4b": 262_144 * 256 * 35 * 2, "gemma-4-e4b": 262_144 * 256 * 42 * 2}[model]
    given = {"engine": "ollama", "memory": "64GiB", "device": None, "context": 4_096, "model": model}
    newest, found = ask(**given), ask(**given, engine_version=version)
    moved = second if on_card else 0
    assert named(found, "weights") - named(newest, "weights") == moved
    assert on_host(newest, "weights") - on_host(found, "weights") == moved
