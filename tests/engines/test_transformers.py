"""The peak of a forward pass that the transformers engine shows, on layers that can be worked out on paper."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.answers.answer import Answer, answer
from planner.architecture import Architecture, Tensor
from planner.engines.forward_pass import activation_bytes, layer_cache_bytes, pass_bytes, plain_shape
from planner.formats import Role
from planner.inputs.choices import Choices, choose
from planner.line_item import Basis, LineItem
from planner.presets import load_preset
from tests.builders import BF16, attention, latent, layer, model

HIDDEN, INNER, VOCABULARY = 512, 2_048, 1_000


def matrix(name: str, rows: int, columns: int, **experts: int) -> Tensor:
    role = Role.EXPERT if experts else Role.LINEAR
    return Tensor(name=name, role=role, rows=rows, columns=columns, stored=BF16, **experts)


GATED = (matrix("mlp.gate_proj.weight", INNER, HIDDEN), matrix("mlp.down_proj.weight", HIDDEN, INNER))
PLAIN = model(*[layer(attention(), tensors=GATED)] * 4)


def ask(architecture: Architecture, *settings: str, **options: Any) -> Answer:
    given = {"memory": "8GiB", "kv_cache": "bf16", "context": 1_000, **options}
    chosen = choose(Choices(model="", engine="transformers", set=settings, **given), architecture)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def activations(found: Answer) -> LineItem:
    return next(item for item in found.items if item.name == "activations")


def test_the_feed_forward_of_a_prompt_is_its_largest_moment() -> None:
    """Two embedded inputs, the rotary tables and positions; then its input and output and three inner tensors."""
    rows = 1_000 * 2
    common = 2 * rows * HIDDEN + 2 * 1_000 * 64 * 2 + 8 * 1_000
    item = activations(ask(PLAIN))
    assert item.bytes == item.high_bytes == common + rows * (2 * HIDDEN + 3 * INNER)
    assert item.basis is Basis.ASSUMED


def test_a_single_token_s_step_is_the_low_end() -> None:
    # Its logits: 1,000 of 2 bytes; attention holds its older keys twice: 1.5 · 2 · 1,000 · 2 heads · 64 · 2 bytes less
    # the layer's own, and four rows of 512 and two of queries.
    own = 2 * 1_000 * 2 * 64 * 2
    common = 2 * 2 * HIDDEN + 2 * 64 * 2 + 8
    assert activations(ask(PLAIN)).low_bytes == common + 2 * HIDDEN + 2 * (8 * 64 * 2) + own // 2


def test_eager_attention_holds_scores_of_all_heads() -> None:
    eager, sdpa = activations(ask(PLAIN, "attn_implementation=eager")), activations(ask(PLAIN))
    scores = 8 * 1_000 * 1_000 * 2
    assert eager.bytes - sdpa.bytes > 2 * scores


def test_requests_are_computed_together() -> None:
    one, four = (activations(ask(PLAIN, users=users)) for users in (1, 4))
    shared = 2 * 1_000 * 64 * 2 + 8 * 1_000
    assert four.bytes - shared == 4 * (one.bytes - shared)


def test_ranks_share_the_inner_width() -> None:
    item = activations(ask(PLAIN, tensor_parallel=2))
    rows = 1_000 * 2
    common = 2 * rows * HIDDEN + 2 * 1_000 * 64 * 2 + 8 * 1_000
    assert item.bytes == common + rows * (2 * HIDDEN + 3 * INNER // 2)


def test_a_model_that_is_not_plain_has_a_wider_range() -> None:
    experts = (
        matrix("mlp.experts.gate_proj.weight", 512, HIDDEN, count=8, active=4),
        matrix("mlp.experts.down_proj.weight", HIDDEN, 512, count=8, active=4),
    )
    mixed = activations(ask(model(*[layer(attention(), tensors=experts)] * 4)))
    # Four chosen experts of 512 are as wide as one of 2,048.
    assert mixed.bytes == activations(ask(PLAIN)).bytes
    assert mixed.high_bytes == 2 * mixed.bytes
    assert activations(ask(model(layer(latent())))).bytes > 0
    assert plain_shape(model(layer(attention(window_tokens=100), tensors=GATED)), 2) is None


def test_a_stated_figure_takes_the_place_of_all_runtime() -> None:
    found = ask(PLAIN, overhead="1GiB")
    assert {item.name for item in found.items} == {"weights", "overhead", "cache"}


def test_nothing_is_gone_from_a_machine_s_own_memory() -> None:
    names = {item.name for item in ask(PLAIN).items}
    assert "context and libraries" in names
    found = ask(PLAIN, memory=None, device="gb10")
    assert "context and libraries" not in {item.name for item in found.items}


@given(
    batch=st.integers(min_value=1, max_value=5),
    new=st.integers(min_value=1, max_value=300),
    older=st.integers(min_value=0, max_value=300),
    eager=st.booleans(),
)
def test_a_peak_is_the_cache_and_what_stands_beside_it(batch: int, new: int, older: int, eager: bool) -> None:
    """pass_bytes = cache of all layers + activation_bytes, which grow with the tokens computed at once."""
    shape, tokens = plain_shape(PLAIN, 2), new + older
    assert shape is not None
    beside = activation_bytes(shape, batch, new, tokens, eager=eager)
    cache = shape.layers * layer_cache_bytes(shape, batch, tokens)
    assert pass_bytes(shape, batch, new, tokens, eager=eager, cached=True) == cache + beside
    assert activation_bytes(shape, batch, new + 1, tokens + 1, eager=eager) >= beside or new == 1
    assert activation_bytes(replace(shape, hidden=2 * shape.hidden), batch, new, tokens, eager=eager) >= beside
    assert cache + beside > 0


@pytest.mark.parametrize("users", [1, 3])
def test_more_context_never_frees_memory(users: int) -> None:
    free = [ask(PLAIN, context=tokens, users=users).free_bytes for tokens in (1, 2, 10, 100, 1_000, 10_000)]
    assert free == sorted(free, reverse=True)


def test_a_batch_has_one_counter_for_each_sliding_layer() -> None:
    """Gemma-3-270M: 15 of 18 layers have a window, each with one integer of 8 bytes for the whole batch."""
    gemma = load_preset("gemma-3-270m")
    one, four = (
        next(item.bytes for item in ask(gemma, users=users, context=100).items if item.name == "cache")
        for users in (1, 4)
    )
    assert 4 * one - four == 3 * 15 * 8


def test_a_row_with_two_sizes_says_what_the_larger_is() -> None:
    """DeepSeek-V4 holds more on the way to some lengths than at them; the row's figure is that most."""
    found = ask(load_preset("deepseek-v4-flash"), context=8192)
    cache = next(item for item in found.items if item.name == "cache")
    assert cache.bytes > found.kv_request_bytes
    assert cache.source == (
        f"1 × {found.kv_request_bytes:,} B for 8,192 tokens each, at most {cache.bytes:,} B as the engine holds them"
    )


@pytest.mark.parametrize(
    ("name", "kept", "least"),
    [
        ("falcon-40b", 60 * 128 * 64, 60 * 8 * 64),
        ("falcon2-11b", 60 * 32 * 128, 60 * 8 * 128),
        ("falcon-7b", 32 * 64, 32 * 64),  # one key for all heads, which its class keeps once
    ],
)
def test_falcon_keeps_keys_and_values_of_every_head(name: str, kept: int, least: int) -> None:
    """Its class spreads groups to all heads before the cache; both widths in 16 bit, keys and values."""
    for engine, heads in (("transformers", kept), ("minimum", least)):
        chosen = choose(Choices(model=name, engine=engine, memory="1TiB", kv_cache="bf16"))
        found = answer(chosen.architecture, chosen.deployment, chosen.workload)
        assert found.kv_bytes_per_token == 2 * 2 * heads
