"""vLLM's arithmetic on layers that can be worked out on paper, and the block sizes that vLLM printed for real ones."""

from dataclasses import replace
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.answers.answer import Answer, answer
from planner.answers.verdict import verdict
from planner.architecture import Architecture
from planner.budget import State
from planner.errors import PlannerError
from planner.formats import Role
from planner.inputs.choices import Choices, choose
from planner.line_item import LineItem
from planner.presets import load_preset
from planner.shares import even
from planner.units import GIB
from planner.weights import model_bytes
from tests.builders import attention, latent, layer, linear, model, state
from tests.shapes import mamba2, mixed, shape

# 4 layers keep 2 · 2 heads · 64 · 2 bytes = 512 a token, so a block of 16 tokens is 4 · 8,192 = 32,768 bytes.
UNEVEN = model(layer(attention(8, 2, 64)), layer(attention(8, 3, 64, window_tokens=9)))
DENSE = model(*[layer(attention())] * 4)
BLOCK_BYTES = 32_768


def ask(architecture: Architecture, *settings: str, **options: object) -> Answer:
    given = {"memory": "80GiB", "kv_cache": "bf16", "context": 8_192, **options}
    chosen = choose(Choices(model="", engine="vllm", set=settings, **given), architecture)  # type: ignore[arg-type]
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def pool(architecture: Architecture, size: int, *settings: str, **options: object) -> Answer:
    return ask(architecture, f"kv_cache_memory_bytes={size}", *settings, **options)


def block_size(name: str, *settings: str, **options: object) -> int:
    report = ask(shape(name), "num_gpu_blocks_override=2", *settings, **options).report
    assert report is not None
    return report.block_size


@pytest.mark.parametrize(
    ("name", "settings", "options", "block"),
    [
        # What vLLM printed as "Setting attention block size".
        ("gdn-27b", (), {"kv_cache": "fp8"}, 1568),
        ("gdn-27b", ("num_speculative_tokens=2",), {"kv_cache": "fp8"}, 1600),
        ("gdn-27b", (), {}, 784),
        ("gdn-27b", ("num_speculative_tokens=3",), {"kv_cache": "nvfp4-kv"}, 2848),
        ("gdn-27b", ("num_speculative_tokens=3",), {"kv_cache": "fp8", "tensor_parallel": 4}, 1600),
        ("gdn-35b-a3b", (), {"kv_cache": "fp8"}, 2096),
        ("gdn-35b-a3b", ("num_speculative_tokens=2",), {"kv_cache": "fp8"}, 2128),
        ("qwen3.5-0.8b", (), {}, 544),
        ("qwen3.5-9b", (), {}, 528),
        ("granite-4.0-h-1b", (), {}, 400),
        ("falcon-h1-3b", (), {}, 2080),
        ("kimi-linear-48b", (), {"tensor_parallel": 2, "engine_version": "0.14"}, 960),
        # From 0.27 on a multiple of 128 beside latent attention; on Intel's cards of 64 beside Gated DeltaNet.
        ("kimi-linear-48b", (), {"tensor_parallel": 2, "engine_version": "0.27"}, 1024),
        ("gdn-27b", (), {"kv_cache": "fp8", "memory": None, "device": "arc-pro-b60"}, 1600),
        # A longer block that the user asks for wins; a shorter one does not.
        ("gdn-27b", ("block_size=1024",), {}, 1024),
        ("gdn-27b", ("block_size=16",), {}, 784),
    ],
)
def test_blocks_are_as_long_as_a_state_demands(
    name: str, settings: tuple[str, ...], options: dict[str, object], block: int
) -> None:
    assert block_size(name, *settings, **options) == block


def test_a_uniform_model_is_one_group_of_all_its_layers() -> None:
    found = pool(DENSE, 100 * BLOCK_BYTES + 5, context=160)
    assert found.report is not None
    assert (found.report.num_blocks, found.report.block_size, found.report.blocks_per_request) == (100, 16, 10)
    assert (found.pool_tokens, found.max_concurrency) == (1_600, 10.0)
    assert (found.kv_bytes_per_token, found.kv_request_bytes) == (2_048, 10 * BLOCK_BYTES)
    assert found.report.groups == ("1 × 4 layers, full attention, blocks of 16 tokens",)


def test_windows_have_groups_as_long_as_the_rarest_kind() -> None:
    # 2 full and 5 windowed layers: groups of 2, three for the windows, one place left empty.
    mix = model(*[layer(attention())] * 2, *[layer(attention(window_tokens=100))] * 5)
    found = pool(mix, 10**9, "max_num_batched_tokens=1000", context=8_192)
    assert found.report is not None
    assert found.report.groups == (
        "1 × 2 layers, full attention, blocks of 16 tokens",
        "3 × 2 layers, sliding window 100, blocks of 16 tokens",
    )
    # ceil(8,192 / 16) for the full group; ceil((99 + 2 · 1,000) / 16) + 1 for each windowed one.
    assert found.report.blocks_per_request == 512 + 3 * (132 + 1)
    assert found.report.num_blocks == 10**9 // (2 * 8_192)


@pytest.mark.parametrize(
    ("version", "settings", "stages", "steps"),
    [
        ("0.25", (), 1, 1),
        ("0.25", (), 2, 1),
        ("0.26", (), 1, 2),
        ("0.26", ("async_scheduling=false",), 1, 1),
        ("0.26", ("num_speculative_tokens=2", "speculative_method=ngram"), 1, 1),
        ("0.26", (), 2, 2),
        ("0.29", (), 2, 3),
    ],
)
def test_a_window_keeps_the_tokens_of_every_step_under_way(
    version: str, settings: tuple[str, ...], stages: int, steps: int
) -> None:
    """One a pipeline stage, and one more that is planned before the last has ended."""
    mix = model(*[layer(attention()), layer(attention(window_tokens=100))] * 2)
    found = pool(
        mix, 10**9, "max_num_batched_tokens=1000", *settings, engine_version=version, pipeline_parallel=stages
    ).report
    assert found is not None
    assert found.blocks_per_request == 512 + ceil((99 + steps * 1_000) / 16) + 1


def test_chunks_take_no_block_more_than_chunk_and_step() -> None:
    chunked = attention()
    chunked = type(chunked)(
        num_attention_heads=8,
        num_key_value_heads=2,
        head_dim=64,
        v_head_dim=64,
        window_tokens=100,
        window_kind="chunked",
    )
    found = pool(model(layer(attention()), layer(chunked)), 10**9, "max_num_batched_tokens=1000")
    assert found.report is not None
    assert found.report.blocks_per_request == 512 + ceil((100 + 2 * 1_000) / 16)


def test_nearly_equal_numbers_of_layers_are_one_group_each() -> None:
    # 12 windowed layers and 13 full ones, one of them a draft's: 13 and 13, not 12, 12 and 12.
    mix = model(*[layer(attention())] * 13, *[layer(attention(window_tokens=128))] * 12)
    report = pool(mix, 10**9).report
    assert report is not None
    assert [group.split(",")[0] for group in report.groups] == ["1 × 13 layers", "1 × 12 layers"]
    assert report.num_blocks == 10**9 // (13 * 8_192)


def test_states_take_a_block_each_and_more_for_drafts_and_prefix_caching() -> None:
    name = "qwen3.5-9b"
    full = ceil(8_192 / 528)
    no_prefixes = "enable_prefix_caching=false"
    for settings, version, states in (
        ((), "0.25", 1),
        ((), "0.26", 2),
        ((no_prefixes,), "0.26", 1),
        (("enable_prefix_caching=true",), "0.25", 2),
        (("mamba_cache_mode=align",), "0.25", 1),  # it gives way: prefixes are not cached by default
        (("mamba_cache_mode=align",), "0.15", 2),
        ((no_prefixes, "num_speculative_tokens=3", "speculative_method=ngram", "block_size=528"), "0.26", 4),
    ):
        report = pool(shape(name), 10**9, *settings, engine_version=version).report
        assert report is not None
        attention_blocks = full if report.block_size == 528 else ceil(8_192 / report.block_size)
        assert report.blocks_per_request == attention_blocks + 3 * states
    aligned, everything = (
        pool(shape(name), 10**9, f"mamba_cache_mode={mode}", "enable_prefix_caching=true", engine_version="0.31").report
        for mode in ("align", "all")
    )
    assert aligned is not None
    assert everything is not None
    assert everything.blocks_per_request == aligned.blocks_per_request
    states_alone = pool(mixed((24, (mamba2(16, 64, 128, 1),))), 10**9).report
    assert states_alone is not None
    assert states_alone.blocks_per_request == 1
    with pytest.raises(PlannerError, match=r"0\.32 has no mamba_cache_mode = all"):
        pool(shape(name), 10**9, "mamba_cache_mode=all", engine_version="0.32")


@pytest.mark.parametrize(("version", "states"), [("0.31", 2), ("0.32", 3)])
def test_a_checkpoint_in_a_prompt_takes_a_block_of_mamba_2(version: str, states: int) -> None:
    aligned = ("mamba_cache_mode=align", "enable_prefix_caching=true")
    report = pool(shape("granite-4.0-h-1b"), 10**9, *aligned, engine_version=version).report
    assert report is not None
    assert report.blocks_per_request == ceil(8_192 / 400) + 9 * states


def test_the_draft_layer_is_a_layer_of_its_kind() -> None:
    without, with_draft = (
        pool(shape("gdn-27b"), 10**10, "enable_prefix_caching=true", *drafts, kv_cache="fp8").report
        for drafts in ((), ("num_speculative_tokens=3",))
    )
    assert without is not None
    assert with_draft is not None
    assert without.groups[0].startswith("1 × 16 layers")
    assert with_draft.groups[0].startswith("1 × 17 layers")
    with pytest.raises(PlannerError, match="Test has no layers for multi-token prediction"):
        ask(DENSE, "num_speculative_tokens=1")


def test_heads_are_divided_and_then_repeated() -> None:
    eight = model(layer(attention(16, 8, 64)))
    bytes_per_token = [ask(eight, tensor_parallel=ranks).kv_bytes_per_token for ranks in (1, 2, 8, 16)]
    assert bytes_per_token == [2_048, 1_024, 256, 256]
    with pytest.raises(PlannerError, match="tensor_parallel = 3 does not go with 16 attention heads"):
        ask(eight, tensor_parallel=3)


def test_a_latent_is_whole_on_every_rank_and_may_demand_a_longer_block() -> None:
    mla = model(layer(latent()))
    assert [ask(mla, tensor_parallel=ranks).kv_bytes_per_token for ranks in (1, 8)] == [1_152, 1_152]
    blocks = []
    for version in ("0.17", "0.18"):
        report = ask(mla, engine_version=version).report
        assert report is not None
        blocks.append(report.block_size)
    assert blocks == [64, 16]


def test_a_sparse_latent_has_an_indexer_of_132_bytes() -> None:
    sparse = latent()
    sparse = type(sparse)(num_attention_heads=128, kv_lora_rank=512, qk_rope_head_dim=64, index_head_dim=128)
    assert ask(model(layer(sparse))).kv_bytes_per_token == 1_152 + 132
    assert ask(model(layer(sparse)), kv_cache="fp8").kv_bytes_per_token == 656 + 132


def test_the_smallest_pipeline_stage_decides() -> None:
    # 3 layers and 2: a block costs 3 pages on the first stage.
    five = model(*[layer(attention())] * 5)
    report = pool(five, 10**6, pipeline_parallel=2).report
    assert report is not None
    assert report.num_blocks == 10**6 // (3 * 8_192)


def test_replicas_share_the_users() -> None:
    one, four = (ask(DENSE, data_parallel=n, users=8) for n in (1, 4))
    cache = [next(item.bytes for item in found.items if item.name == "cache") for found in (one, four)]
    assert cache[0] == 4 * cache[1]
    assert four.device_count == 4


def test_whole_experts_are_spread_over_expert_parallel_ranks() -> None:
    experts = model(layer(attention(), tensors=(linear(512, 512, count=8, active=2),)))
    shared = ask(experts, data_parallel=4, expert_parallel=4)
    assert shared.weights_bytes * 4 == ask(experts).weights_bytes == 8 * 512 * 512 * 2


def test_experts_are_not_shared_over_more_devices_than_there_are() -> None:
    experts = model(layer(attention(), tensors=(linear(512, 512, count=8, active=2),)))
    with pytest.raises(PlannerError, match=r"expert_parallel = 4 .* than there are, 2"):
        ask(experts, data_parallel=2, expert_parallel=4)


def test_printed_tokens_changed_their_meaning() -> None:
    mix = mixed((4, (attention(),)), (22, (attention(window_tokens=512),)))
    old, new = (pool(mix, 10**9, engine_version=version, context=32_768) for version in ("0.20", "0.21"))
    assert old.report is not None
    assert new.report is not None
    assert old.max_concurrency == new.max_concurrency
    assert old.pool_tokens == old.report.num_blocks // 7 * 16
    assert new.pool_tokens == int(new.report.num_blocks / new.report.blocks_per_request * 32_768)


def test_versions_before_groups_keep_windows_whole() -> None:
    windowed = model(*[layer(attention(window_tokens=100))] * 4)
    assert pool(windowed, 10**6, engine_version="0.6").kv_request_bytes == 8_192 * 2_048
    mix = model(layer(attention()), layer(attention(window_tokens=100)))
    whole = pool(mix, 10**7, "disable_hybrid_kv_cache_manager=true")
    assert whole.kv_request_bytes == 2 * 8_192 * 512
    assert whole.report is not None
    assert whole.report.groups == ("1 × 2 layers, full attention, blocks of 16 tokens",)


def test_the_null_block_is_left_out_from_0_29() -> None:
    # Ten blocks hold 160 tokens, nine hold 144.
    for version, longest in (("0.28", 160), ("0.29", 144)):
        report = pool(DENSE, 10 * BLOCK_BYTES, engine_version=version, context=100).report
        assert report is not None
        assert (report.num_blocks, report.longest_start_tokens) == (10, longest)


def test_the_share_of_the_card_is_rounded_up_and_the_rest_is_an_item() -> None:
    found = ask(
        DENSE,
        "gpu_memory_utilization=0.9",
        "enforce_eager=true",
        memory="10000000001",
        overhead="1GB",
        engine_version="0.28",
    )
    items = {item.name: item for item in found.items}
    assert items["outside the pool"].bytes == 10_000_000_001 - 9_000_000_001
    assert found.free_bytes == 9_000_000_001 - 10**9 - found.kv_request_bytes
    assert sum(item.bytes for item in found.items) == found.total_bytes == found.memory_bytes - found.free_bytes


@pytest.mark.parametrize(
    ("setting", "version", "least"),
    [
        ("num_gpu_blocks_override=1", "0.29", "num_gpu_blocks_override = 1: .* give 2 or more"),
        ("kv_cache_memory_bytes=63KiB", "0.29", f"give {2 * BLOCK_BYTES:,} or more"),
        ("kv_cache_memory_bytes=31KiB", "0.28", f"give {BLOCK_BYTES:,} or more"),
        ("kv_cache_memory_bytes=0", "0.29", "a size such as 8GiB, and not 0"),
    ],
)
def test_a_set_pool_without_a_block_to_give_away_is_refused(setting: str, version: str, least: str) -> None:
    with pytest.raises(PlannerError, match=least):
        ask(DENSE, setting, engine_version=version)
    assert ask(DENSE, f"kv_cache_memory_bytes={2 * BLOCK_BYTES}").loads
    assert ask(DENSE, "num_gpu_blocks_override=2").loads


def test_a_set_pool_must_be_there() -> None:
    fits = pool(DENSE, 10**9, memory="40GiB", engine_version="0.28")
    assert fits.state is State.FITS
    assert fits.memory_bytes - fits.total_bytes == fits.free_bytes == 10**9 - fits.kv_request_bytes
    over = pool(DENSE, 100 * GIB, memory="40GiB")
    assert over.report is not None
    assert (over.loads, over.report.num_blocks) == (False, 100 * GIB // BLOCK_BYTES)
    assert over.report.refusals[0].startswith("vLLM would run out of memory: a cache of 100.00 GiB is ")


def test_too_many_sequences_for_the_states_do_not_start() -> None:
    hybrid = shape("qwen3.5-9b")
    refused = pool(hybrid, 3 * 10**9, "max_num_seqs=1000")
    assert (refused.state, refused.fits) == (State.NO, False)
    assert verdict(refused).title == "No: the engine would refuse to start"
    for settings in (("max_num_seqs=10",), ("max_num_seqs=1000", "enforce_eager=true")):
        assert pool(hybrid, 3 * 10**9, *settings).fits


@pytest.mark.parametrize(
    ("architecture", "settings", "options", "sentence"),
    [
        (
            DENSE,
            (),
            {"kv_cache": None, "kv_cache_k": "fp8", "kv_cache_v": "bf16"},
            "keeps keys and values in one format",
        ),
        (DENSE, (), {"kv_cache": "q8_0"}, "cannot keep its cache in q8_0; choose one of: bf16, fp16, fp8"),
        (DENSE, (), {"kv_cache": "nvfp4-kv", "engine_version": "0.20"}, "vLLM 0.20 cannot keep its cache in nvfp4-kv"),
        (model(layer(latent())), (), {"engine_version": "0.6"}, "expands latent attention into keys and values"),
        (model(layer(state())), (), {"engine_version": "0.9"}, "keeps the states of mamba is not known here"),
        (
            shape("qwen3.5-9b"),
            ("disable_hybrid_kv_cache_manager=true",),
            {},
            "does not go with a model that mixes attention and recurrent states",
        ),
        (UNEVEN, (), {"engine_version": "0.23"}, "blocks as large as the largest page"),
        (UNEVEN, (), {"engine_version": "0.28"}, "that are no multiple is not known here: plan with engine minimum"),
        # The indexer's pages beside those that hold a state: vLLM runs it, in more than one kind of block.
        (
            load_preset("glm-5.3-flash"),
            (),
            {"memory": "300GiB", "tensor_parallel": 4},
            "not known here: plan with engine minimum",
        ),
    ],
)
def test_what_vllm_cannot_do_gets_one_sentence(
    architecture: Architecture, settings: tuple[str, ...], options: dict[str, object], sentence: str
) -> None:
    with pytest.raises(PlannerError) as refusal:
        ask(architecture, *settings, **options)
    assert sentence in str(refusal.value)


def test_pages_that_do_not_go_into_the_largest_are_padded_to_it() -> None:
    """Pages of 16 tokens of 512 and 768 B: both take 12,288 B, and 160 tokens ten blocks and the window's two."""
    found = ask(UNEVEN, "max_num_batched_tokens=1", "max_num_seqs=1", "async_scheduling=false", context=160)
    assert found.report is not None
    assert found.report.groups == (
        "1 × 1 layers, full attention, blocks of 16 tokens",
        "1 × 1 layers, sliding window 9, blocks of 16 tokens",
    )
    assert found.kv_request_bytes == (10 + 2) * 12_288


def test_large_cards_but_the_a100_run_larger_batches() -> None:
    def batch(device: str) -> list[str]:
        found = ask(DENSE, memory=None, device=device)
        return [item.source for item in found.items if item.name == "activation peak"]

    assert batch("h100-sxm") == ["a step of 8,192 tokens, or sampling for 1,024 sequences"]
    assert batch("a100-80gb-sxm") == batch("l40s") == ["a step of 2,048 tokens, or sampling for 256 sequences"]


SHAPES = ("gdn-27b", "gemma-3-1b", "kimi-linear-48b", "granite-4.0-h-1b", "falcon-h1-3b", "32-layers-8-heads")


@given(st.sampled_from(SHAPES), st.integers(5 * 10**8, 10**11), st.integers(1, 200_000))
def test_the_longest_start_is_the_edge(name: str, size: int, context: int) -> None:
    """It starts with the longest context, and not with a token more."""
    longest = pool(shape(name), size, memory="1TiB", context=context).max_context_tokens
    assert longest is not None
    for tokens, starts in ((longest, True), (longest + 1, False)):
        if tokens:
            found = pool(shape(name), size, "enforce_eager=true", memory="1TiB", context=tokens)
            assert found.fits is starts


@given(st.sampled_from(SHAPES), st.integers(1, 100_000), st.integers(1, 10_000))
def test_a_request_takes_whole_blocks_and_never_less_for_more_tokens(name: str, context: int, more: int) -> None:
    """Bytes are blocks; one more token never costs less; concurrency is the pool in requests."""
    short, long = (pool(shape(name), 10**11, memory="1TiB", context=n) for n in (context, context + more))
    assert short.kv_request_bytes <= long.kv_request_bytes
    for found in (short, long):
        assert found.report is not None
        assert found.max_concurrency == found.report.num_blocks / found.report.blocks_per_request
        assert found.kv_request_bytes % found.report.blocks_per_request == 0


@given(st.sampled_from((1, 2)), st.sampled_from(SHAPES))
def test_a_rank_keeps_at_least_what_the_architecture_needs(ranks: int, name: str) -> None:
    """vLLM's blocks hold no less than the layers' own bytes."""
    architecture = shape(name)
    minimum = choose(
        Choices(model="", memory="1TiB", kv_cache="bf16", context=4_096, tensor_parallel=ranks), architecture
    )
    least = answer(minimum.architecture, minimum.deployment, minimum.workload).kv_request_bytes
    own = pool(
        architecture, 10**11, "mamba_ssm_cache_dtype=float32", memory="1TiB", context=4_096, tensor_parallel=ranks
    )
    assert own.kv_request_bytes >= least


def test_mamba2_keeps_its_state_in_sixteen_bits_unless_set() -> None:
    # 4 heads of 8 × 16, 2 groups: (32 + 2 · 2 · 16) · 3 columns of convolution and 512 elements of state.
    only = model(layer(mamba2(4, 8, 16, 2)))
    conv, recurrent = (32 + 64) * 3 * 2, 4 * 8 * 16
    assert ask(only).kv_request_bytes == conv + recurrent * 2
    assert ask(only, "mamba_ssm_cache_dtype=float32").kv_request_bytes == conv + recurrent * 4
    assert ask(only, tensor_parallel=2).kv_request_bytes == (conv + recurrent * 2) // 2


def test_deepseek_v4_packs_pages_of_five_sizes_into_a_block() -> None:
    """What vLLM 0.32's own planning function says of 50 GiB: 53,567 blocks, 975,970 tokens."""
    v4 = load_preset("deepseek-v4-flash")
    settings = ("max_num_batched_tokens=8192", f"kv_cache_memory_bytes={50 * GIB}")
    found = ask(v4, *settings, kv_cache="fp8", context=131_072, memory="2000GiB", engine_version="0.32")
    assert found.report is not None
    # 64 entries of 584 bytes and of 132, and 2 of 584, in multiples of 576: 21 layers have the former, 20 the latter.
    block_bytes = 21 * (37_440 + 8_640) + 20 * 1_728
    assert found.report.num_blocks == 50 * GIB // block_bytes == 53_567
    # Two steps of 8,192 tokens in flight: two groups of windows, entries of 4 tokens and of 128 that wait.
    waiting = [ceil((window - 1 + 16_384) / block) + 1 for window, block in ((128, 64), (8, 4), (128, 8))]
    assert found.report.blocks_per_request == 512 + 2 * waiting[0] + waiting[1] + waiting[2] == 7_194
    assert found.pool_tokens == 975_970
    with pytest.raises(PlannerError, match=r"ask for 0\.27 or later"):
        ask(v4, kv_cache="fp8", engine_version="0.26")
    with pytest.raises(PlannerError, match="give --kv-cache fp8"):
        ask(v4)


@pytest.mark.parametrize(
    ("version", "context", "step"),
    [("0.6.4", 1_024, 2_048), ("0.6.4", 32_768, 32_768), ("0.6.4", 32_769, 512), ("0.7", 32_769, 2_048)],
)
def test_a_version_without_chunks_runs_the_longest_prompt_as_one_step(version: str, context: int, step: int) -> None:
    """SchedulerConfig: max(max_model_len, 2,048), and chunks of 512 or from 0.6.5 on 2,048 above 32,768 tokens."""

    def peak(*settings: str, engine_version: str = version) -> LineItem:
        items = ask(DENSE, *settings, engine_version=engine_version, context=context).items
        return next(item for item in items if item.name == "activation peak")

    assert peak() == peak(f"max_num_batched_tokens={step}")
    assert peak(engine_version="0.8") == peak("max_num_batched_tokens=2048", engine_version="0.8")


@pytest.mark.parametrize(("context", "tokens"), [(20_000, 31_232), (29_000, 23_648)])
def test_the_pool_shrinks_with_the_prompt_that_is_one_step(context: int, tokens: int) -> None:
    """Llama-3.1-8B on 23.58 GiB with 0.6.4: https://github.com/vllm-project/vllm/issues/10517. 35,000 started."""

    def plan(length: int) -> Answer:
        choices = Choices(model="llama-3.1-8b", memory="23.58GiB", engine="vllm", engine_version="0.6.4")
        chosen = choose(replace(choices, context=length))
        return answer(chosen.architecture, chosen.deployment, chosen.workload)

    found = plan(context)
    assert found.fits is (tokens >= context)
    assert found.pool_tokens == pytest.approx(tokens, rel=0.04)
    assert plan(35_000).fits


@pytest.mark.parametrize(
    ("version", "chunked", "step"),
    [
        # The first engine's chunks of 512, and a prompt of 40,000 that it would have cut of itself.
        ("0.6.4", "true", 512),
        ("0.6.4", "false", 40_000),
        # The second always computes chunks up to 0.11, and then unless told not to: max(max_model_len, 8,192).
        ("0.10", "false", 8_192),
        ("0.20", "false", 40_000),
        ("0.20", "true", 8_192),
    ],
)
def test_a_prompt_is_cut_where_the_setting_says_so(version: str, chunked: str, step: int) -> None:
    def peak(setting: str) -> LineItem:
        items = ask(DENSE, setting, engine_version=version, context=40_000).items
        return next(item for item in items if item.name == "activation peak")

    assert peak(f"enable_chunked_prefill={chunked}") == peak(f"max_num_batched_tokens={step}")


def test_a_step_may_be_shorter_than_the_longest_prompt_that_is_cut() -> None:
    def refusals(*settings: str, version: str) -> str:
        report = ask(DENSE, "max_num_batched_tokens=4096", *settings, engine_version=version).report
        assert report is not None
        return " ".join(report.refusals)

    whole = "max_num_batched_tokens = 4,096 is less than max_model_len = 8,192"
    assert whole in refusals(version="0.6.4")
    assert whole in refusals("enable_chunked_prefill=false", version="0.20")
    assert not refusals("enable_chunked_prefill=true", version="0.6.4")
    assert not refusals("enable_chunked_prefill=false", version="0.10")


@pytest.mark.parametrize(
    ("name", "ranks", "more"),
    [
        # 49,155 words become 49,216: 61 rows of 2,048 in 16 bits, on two ranks 24,608 rows and not 24,578.
        ("granite-3.1-2b", 1, 61 * 2_048 * 2),
        ("granite-3.1-2b", 2, 30 * 2_048 * 2),
        # 32,016 become 32,064, in the embedding and the head.
        ("codellama-7b", 1, 2 * 48 * 4_096 * 2),
        ("llama-3.1-8b", 1, 0),
    ],
)
def test_vocabularies_are_padded_to_64_words(name: str, ranks: int, more: int) -> None:
    """vllm/model_executor/layers/vocab_parallel_embedding.py: DEFAULT_VOCAB_PADDING_SIZE."""
    architecture = load_preset(name)
    chosen = choose(Choices(model=name, memory="80GiB", engine="vllm", tensor_parallel=ranks))
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    weights = next(item.bytes for item in found.items if item.name == "weights")
    scheme = chosen.deployment.weights
    assert weights == model_bytes(architecture.layers, architecture.tensors, scheme, even(ranks)) + more


def test_kernels_pad_experts_in_mxfp4_whose_sizes_they_cannot_divide() -> None:
    def padding(model: str) -> list[LineItem]:
        items = ask(load_preset(model), kv_cache="bf16").items
        return [item for item in items if item.name == "padding of experts"]

    # 24 layers of 32 experts of three matrices of 2,880 × 2,880, 17 bytes for 32 elements.
    experts = 24 * 32 * 3 * 2_880 * 2_880 * 17 // 32
    (found,) = padding("gpt-oss-20b")
    assert (found.low_bytes, found.bytes, found.high_bytes) == (0, round(0.067 * experts), round(0.095 * experts))
    assert padding("qwen3-30b-a3b") == []


def test_adapters_take_both_matrices_of_every_linear_layer() -> None:
    # One layer of 512 × 256; an adapter of rank 8 has 8 · 256 and 512 · 8 elements of 2 bytes. Embedding and head of
    # 1,000 words × 256 have one each in a llama.
    words = tuple(linear(1_000, 256, role) for role in (Role.EMBEDDING, Role.HEAD))
    one = replace(model(layer(attention(), tensors=(linear(512, 256),)), tensors=words), model_type="llama")
    settings = ("enable_lora=true", "max_loras=3", "max_lora_rank=8")

    def slots(*more: str, **options: object) -> int:
        items = ask(one, *settings, *more, **options).items
        return sum(item.bytes for item in items if item.name == "LoRA slots")

    outer = 2 * (1_000 + 256)
    assert slots() == 3 * 8 * 2 * (256 + 512 + outer)
    # On two ranks the outputs are divided; with both matrices divided the inputs too.
    assert slots(tensor_parallel=2) == 3 * 8 * 2 * (256 + 256 + outer)
    assert slots("fully_sharded_loras=true", tensor_parallel=2) == 3 * 8 * 2 * (128 + 256 + outer)
    assert not any(item.name == "LoRA slots" for item in ask(one).items)


def test_layers_stay_in_main_memory_until_the_limit_is_reached() -> None:
    # Four layers of 1 MiB, 512 · 1,024 · 2 bytes each; 2.5 MiB are reached with the third.
    four = model(*[layer(attention(), tensors=(linear(512, 1_024),))] * 4)
    whole, some = ask(four), ask(four, f"cpu_offload_gb={2.5 / 1_024}")
    assert whole.weights_bytes - some.weights_bytes == 3 * 2**20
    assert [(item.name, item.bytes) for item in some.host_items] == [("weights", 3 * 2**20)]
    assert whole.host_items == ()
    # Two cards keep half of each tensor there, and both count in the machine's memory.
    both = ask(four, f"cpu_offload_gb={1 / 1_024}", tensor_parallel=2)
    assert [item.bytes for item in both.host_items] == [2 * 2**20]
