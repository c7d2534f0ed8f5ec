import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.architecture import Attention, SharedCache
from planner.formats import NumberFormat
from planner.kv_cache import (
    KVCacheSpec,
    attention_bytes_per_token,
    bytes_for,
    bytes_per_token_at,
    fixed_bytes,
    latent_bytes_per_token,
    layer_specs,
    merge_specs,
    mixer_spec,
    model_specs,
)
from tests.builders import BF16, FP8, attention, latent, layer, state

SPECS = st.builds(
    KVCacheSpec,
    fixed_bytes=st.integers(0, 10**9),
    bytes_per_entry=st.integers(0, 10**5),
    tokens_per_entry=st.integers(1, 128),
    max_tokens=st.none() | st.integers(1, 10**5),
)
LENGTHS = st.integers(0, 10**6)


def test_grouped_query_attention_by_hand() -> None:
    # 2 key-value heads × 64 wide × (key + value) × 2 bytes: Qwen2.5-0.5B's layer; 24 of them keep 12,288 bytes a token.
    assert attention_bytes_per_token(attention(heads=14, kv_heads=2, head_dim=64), BF16, BF16) == 512
    assert 24 * 512 == 12_288


def test_keys_and_values_may_differ_in_width_and_format() -> None:
    mixer = Attention(num_attention_heads=64, num_key_value_heads=4, head_dim=192, v_head_dim=128)
    assert attention_bytes_per_token(mixer, BF16, FP8) == 4 * 192 * 2 + 4 * 128 * 1


def test_block_formats_round_up_to_whole_blocks() -> None:
    q8_0 = NumberFormat(name="q8_0", elements=32, bytes=34)
    assert attention_bytes_per_token(attention(kv_heads=1, head_dim=80), q8_0, q8_0) == 2 * 3 * 34


def test_latent_attention_ignores_the_head_count() -> None:
    """MLA keeps one latent whatever the heads."""
    assert latent_bytes_per_token(latent(heads=16), BF16) == latent_bytes_per_token(latent(heads=128), BF16) == 1152


@given(st.integers(1, 64), st.sampled_from([64, 80, 128, 256]))
def test_equal_heads_make_grouped_attention_multi_head(heads: int, head_dim: int) -> None:
    """MHA is GQA with as many key-value heads as heads, and costs heads times what MQA does."""
    mha = attention_bytes_per_token(attention(heads, heads, head_dim), BF16, BF16)
    mqa = attention_bytes_per_token(attention(heads, 1, head_dim), BF16, BF16)
    assert mha == heads * mqa


@given(SPECS, LENGTHS, LENGTHS)
def test_more_tokens_never_cost_less(spec: KVCacheSpec, a: int, b: int) -> None:
    """bytes(n) never falls."""
    assert spec.bytes_for(min(a, b)) <= spec.bytes_for(max(a, b))


@given(SPECS, st.integers(0, 10**6))
def test_past_its_window_a_cache_is_flat(spec: KVCacheSpec, extra: int) -> None:
    """bytes(window + k) = bytes(window)."""
    if spec.max_tokens is not None:
        assert spec.bytes_for(spec.max_tokens + extra) == spec.bytes_for(spec.max_tokens)
        assert not spec.grows_at(spec.max_tokens + extra)


@given(st.lists(st.tuples(SPECS, st.integers(1, 80)), max_size=8), LENGTHS)
def test_merging_keeps_the_bytes(specs: list[tuple[KVCacheSpec, int]], tokens: int) -> None:
    """Merged specs give the same bytes at every length."""
    merged = merge_specs(specs)
    assert bytes_for(merged, tokens) == sum(count * spec.bytes_for(tokens) for spec, count in specs)
    assert fixed_bytes(merged) == sum(count * spec.fixed_bytes for spec, count in specs)


def test_a_recurrent_state_is_there_from_the_first_token() -> None:
    spec = mixer_spec(state(elements=1000), BF16, BF16)
    assert spec.bytes_for(0) == spec.bytes_for(10**6) == 4_000


def test_a_shared_cache_costs_nothing() -> None:
    assert mixer_spec(SharedCache(), BF16, BF16).bytes_for(10**6) == 0


def test_a_layer_may_keep_attention_and_state_side_by_side() -> None:
    specs = layer_specs(layer(attention(), state()), BF16, BF16)
    assert bytes_for(specs, 10) == 10 * 2 * 2 * 64 * 2 + 4_000


def test_a_windowed_model_grows_only_in_its_full_layers() -> None:
    # gpt-oss's shape: half the layers keep 128 tokens, half keep all.
    full, window = layer(attention(64, 8, 64)), layer(attention(64, 8, 64, window_tokens=128))
    specs = model_specs([window, full] * 18, BF16, BF16)
    assert bytes_for(specs, 8_192) == 306_708_480
    assert bytes_per_token_at(specs, 127) == 36 * 2_048
    assert bytes_per_token_at(specs, 128) == 18 * 2_048
    assert len(specs) == 2


def test_growth_of_compressed_entries_is_an_average() -> None:
    assert bytes_per_token_at([KVCacheSpec(bytes_per_entry=1024, tokens_per_entry=4)], 100) == 256
    growth = bytes_per_token_at(
        [KVCacheSpec(bytes_per_entry=10, tokens_per_entry=4), KVCacheSpec(bytes_per_entry=1)], 100
    )
    assert growth == pytest.approx(3.5)
