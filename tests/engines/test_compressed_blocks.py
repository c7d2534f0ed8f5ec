"""DeepSeek-V4's cache under transformers, by hand and by what its own classes kept on the meta device."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.answers.answer import answer
from planner.architecture import Architecture
from planner.budget import prepare
from planner.engines.compressed_blocks import BlockSpec, most_bytes_for
from planner.inputs.choices import Choices, choose
from planner.presets import find_model, knowledge, load_preset
from planner.readers.hf_config import read_config

WINDOW, COUNTER = 127 * 512 * 2, 8  # the token in hand is passed on; one integer a layer
LONG_ENTRY, SHORT_ENTRY = 512 * 2, (512 + 128) * 2
LONG_WAITING, SHORT_WAITING = 2 * 512 * 2, 2 * 2 * (512 + 128) * 2  # a key and its weight; both halves of a short one
OVERLAP = 4 * (512 + 128) * (2 + 4)  # the block before: keys in 16 bits, weights summed in 32


def request_bytes(architecture: Architecture, tokens: int) -> int:
    options = Choices(model="", memory="1TiB", engine="transformers", kv_cache="bf16", context=tokens)
    return prepare(architecture, choose(options, architecture).deployment)[0].request_bytes(tokens)


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        # Flash: 2 layers of a window alone, whose values are kept apart, 20 of long blocks, 21 of short ones.
        (127, 20 * 127 * LONG_WAITING + 21 * (31 * SHORT_ENTRY + 3 * SHORT_WAITING + OVERLAP)),
        (128, 20 * LONG_ENTRY + 21 * (32 * SHORT_ENTRY + OVERLAP)),
        (8_192, 20 * 64 * LONG_ENTRY + 21 * (2_048 * SHORT_ENTRY + OVERLAP)),
    ],
)
def test_a_request_by_hand(tokens: int, expected: int) -> None:
    windows = (43 + 2) * WINDOW + 43 * COUNTER
    assert request_bytes(load_preset("deepseek-v4-flash"), tokens) == windows + expected


@pytest.mark.parametrize(
    ("tokens", "kept"),
    [
        (1, 194_904),
        (2, 389_464),
        (127, 12_532_824),
        (128, 7_055_704),
        (129, 7_204_184),
        (4_095, 39_832_664),
        (4_096, 34_355_544),
        (4_097, 34_504_024),
        (8_191, 68_013_144),
        (8_192, 62_536_024),
    ],
)
def test_a_request_is_what_the_library_kept(tokens: int, kept: int) -> None:
    """Flash in transformers 5.24, one prompt of *tokens*, all tensors of its cache."""
    assert request_bytes(load_preset("deepseek-v4-flash"), tokens) == kept


def test_the_class_defaults() -> None:
    """23 layers of long blocks and 20 of short ones, none of a window alone."""
    long, short = "heavily_compressed_attention", "compressed_sparse_attention"
    config = find_model("deepseek-v4-flash").published_config | {"layer_types": [long, long, *[long, short] * 20, long]}
    architecture = read_config(config, knowledge())
    expected = 43 * (WINDOW + COUNTER) + 23 * 64 * LONG_ENTRY + 20 * (2_048 * SHORT_ENTRY + OVERLAP)
    assert request_bytes(architecture, 8_192) == expected == 59_835_736


SPECS = st.builds(
    BlockSpec,
    tokens_per_entry=st.integers(1, 9),
    bytes_per_entry=st.integers(0, 50),
    waiting_bytes=st.integers(0, 50),
    fixed_bytes=st.integers(0, 50),
)


@given(spec=SPECS, tokens=st.integers(0, 60))
def test_the_most_is_that_of_every_length_on_the_way(spec: BlockSpec, tokens: int) -> None:
    """most(n) = the largest bytes(m) of all m ≤ n, so that more context never costs less."""
    assert most_bytes_for([spec], tokens) == max(spec.bytes_for(length) for length in range(tokens + 1))


def test_a_plan_holds_the_most_on_the_way() -> None:
    """At 8,192 tokens nothing waits; a token before, 127 did in each layer of long blocks."""
    found = [
        answer(chosen.architecture, chosen.deployment, chosen.workload)
        for tokens in (8_191, 8_192)
        for chosen in [choose(Choices(model="deepseek-v4-flash", memory="1TiB", engine="transformers", context=tokens))]
    ]
    caches = [next(item.bytes for item in one.items if item.name == "cache") for one in found]
    assert caches == [68_013_144, 68_013_144]
    assert [one.kv_request_bytes for one in found] == [68_013_144, 62_536_024]
