"""Refusals that are built of parts read as sentences: one article, and a number that agrees with its noun."""

import re

import pytest

from planner import presets
from planner.errors import UnsupportedModel
from planner.readers.contradictions import _WEIGHTY
from planner.readers.hf_config import read_config

LLAMA = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 64, "num_attention_heads": 2, "num_hidden_layers": 1,
    "vocab_size": 64, "torch_dtype": "bfloat16",
}  # fmt: skip
TWO_ARTICLES = re.compile(r"\b(?:a|an|no|the|one) (?:a|an|no|the)\b|\b1 (?:\w+ies|\w+[^s]s)\b")


def refusal(**keys: object) -> str:
    with pytest.raises(UnsupportedModel) as error:
        read_config({**LLAMA, **keys}, presets.knowledge(), name="x", title="x", source="x")
    return str(error.value)


@pytest.mark.parametrize("what", sorted(_WEIGHTY.keys() - {"cross-attention"}))  # which every family reads
def test_what_a_model_does_not_have_is_named_with_one_article(what: str) -> None:
    key = max(_WEIGHTY[what])
    said = refusal(**{key: 8})
    assert not TWO_ARTICLES.search(f"has no {what}, but")
    assert said.startswith(f"model_type 'llama' has no {what}, but the config has {key!r}")


@pytest.mark.parametrize(("entries", "words"), [(1, "1 entry for 2 layers"), (3, "3 entries for 2 layers")])
def test_a_number_agrees_with_its_noun(entries: int, words: str) -> None:
    said = refusal(num_hidden_layers=2, layer_types=["full_attention"] * entries)
    assert words in said
    assert not TWO_ARTICLES.search(said)
