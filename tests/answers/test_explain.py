"""The arithmetic shown behind a figure gives that figure."""

from hypothesis import given
from hypothesis import strategies as st

from planner.answers.answer import answer
from planner.answers.explain import CacheTerm, cache_terms, mixer_words, naive_cache, weights_terms
from planner.architecture import Architecture
from planner.deployment import Workload
from planner.inputs.choices import Choices, choose
from planner.kv_cache import bytes_for, model_specs
from planner.weights import model_bytes
from tests.builders import BF16, FP8, attention, deployment, latent, layer, linear, model, state

MIXED = model(
    layer(attention(window_tokens=100)), layer(attention()), layer(attention()), layer(state()), layer(latent())
)


def terms(architecture: Architecture, tokens: int) -> tuple[CacheTerm, ...]:
    return cache_terms(architecture, deployment(10**12), Workload(context_tokens=tokens))


def test_each_kind_of_layer_once_with_its_own_arithmetic() -> None:
    window, full, fixed, compressed = terms(MIXED, 1_000)
    assert (window.layers, window.formula) == (
        1,
        "2 (key and value) × 2 heads × 64 × 2 B × 100 tokens (the window is full)",
    )
    assert window.bytes == 2 * 2 * 64 * 2 * 100
    assert (full.layers, full.bytes) == (2, 2 * 2 * 2 * 64 * 2 * 1_000)
    assert (fixed.formula, fixed.bytes) == ("1,000 × 4 B, whatever the length", 4_000)
    assert compressed.formula == "(512 + 64 (rotary)) × 2 B × 1,000 tokens"
    assert compressed.bytes == 576 * 2 * 1_000


@given(st.integers(1, 10**6))
def test_terms_add_up(tokens: int) -> None:
    """The terms of a cache are the cache."""
    assert sum(term.bytes for term in terms(MIXED, tokens)) == bytes_for(model_specs(MIXED.layers, BF16, BF16), tokens)


def test_weights_add_up_by_role_largest_first() -> None:
    dense = model(layer(attention(), tensors=(linear(),)), tensors=(linear(1000, 512),))
    own = deployment(10**9)
    found = weights_terms(dense, own)
    assert sum(term.bytes for term in found) == model_bytes(dense.layers, dense.tensors, own.weights)
    assert [term.bytes for term in found] == sorted((term.bytes for term in found), reverse=True)


def test_plain_words_first_and_the_term_in_brackets() -> None:
    assert mixer_words(attention(heads=8, kv_heads=2)) == "four heads share (GQA)"
    assert mixer_words(attention(heads=8, kv_heads=8)) == "every head keeps its own (MHA)"
    assert mixer_words(attention(heads=8, kv_heads=1)) == "all 8 heads share one (MQA)"
    assert mixer_words(attention(heads=48, kv_heads=4)) == "12 heads share (GQA)"
    assert mixer_words(latent(heads=16)) == "one compressed vector for all 16 heads (MLA)"


def test_the_usual_formula_is_shown_only_where_it_differs() -> None:
    chosen = choose(Choices(model="gemma-3-27b", memory="80GiB"))
    real = answer(chosen.architecture, chosen.deployment, chosen.workload).kv_request_bytes
    found = naive_cache(chosen.architecture, chosen.deployment, chosen.workload, real)
    assert found is not None
    # 2 · 62 layers · 16 heads · (5,376 / 32) wide · 2 bytes
    assert found.bytes_per_token == 666_624
    assert found.factor == 666_624 * 8_192 / 1_107_296_256
    chosen = choose(Choices(model="llama-3.1-8b", memory="80GiB"))
    assert naive_cache(chosen.architecture, chosen.deployment, chosen.workload, 2**30) is None


def test_blocks_are_said_as_blocks() -> None:
    narrow = deployment(10**9, cache=FP8)
    (term,) = cache_terms(model(layer(attention())), narrow, Workload(context_tokens=10))
    assert term.formula == "2 (key and value) × 2 heads × 64 × 1 B × 10 tokens"
