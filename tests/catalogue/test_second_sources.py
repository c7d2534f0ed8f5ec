"""A second source for a model: the size of a published file, or figures that others wrote down, against the preset."""

import re
import tomllib

import pytest

from planner import format_presets, presets
from planner.architecture import Attention
from planner.catalogue.second_sources import confirmed_by
from planner.gguf_mixes import as_stored
from planner.inputs.format_choices import choose_weights
from planner.preset_files import PRESETS
from planner.weights import model_bytes

DATA = tomllib.loads((PRESETS / "second_sources.toml").read_text(encoding="utf-8"))
FILES, FIGURES = DATA["library"]["files"], DATA["litgpt"]["figures"]
UNITS = {"MB": 10**6, "GB": 10**9, "TB": 10**12}
BESIDE = 0.006
"""The most, as a share, that vocabulary, merges, and towers in other types make beside the tensors."""


@pytest.mark.parametrize("name", FILES)
def test_the_librarys_file_is_of_the_size_that_is_planned(name: str) -> None:
    tag, weights, size = FILES[name]
    model = presets.load_preset(name)
    assert presets.find_model(tag).name == name
    scheme = choose_weights(weights, None, model, "ollama")
    stored = as_stored(model, scheme)
    towers = (tensor for tower in stored.towers for tensor in tower.tensors)
    whole = model_bytes(stored.layers, stored.tensors, scheme) + model_bytes(
        (), towers, choose_weights("fp16", None, model)
    )
    number, unit = re.fullmatch(r"([\d.]+)(MB|GB|TB)", size).groups()
    stated, rounding = float(number) * UNITS[unit], 0.5 * 10 ** -len(number.partition(".")[2]) * UNITS[unit]
    assert whole == pytest.approx(stated, abs=rounding + BESIDE * stated)


@pytest.mark.parametrize("name", FIGURES)
def test_figures_that_others_wrote_down_are_the_presets(name: str) -> None:
    layers, hidden, heads, key_value_heads, head_dim, _, vocabulary = FIGURES[name]
    model = presets.load_preset(name)
    mixers = [mixer for layer in model.layers for mixer in layer.mixers if isinstance(mixer, Attention)]
    assert (len(model.layers), len(mixers), model.hidden_size) == (layers, layers, hidden)
    assert {mixer.num_attention_heads for mixer in mixers} == {heads}
    assert {mixer.num_key_value_heads for mixer in mixers} == {key_value_heads or heads}
    assert {mixer.head_dim for mixer in mixers} == {head_dim or hidden // heads}
    assert vocabulary in (0, model.vocab_size)


def test_what_confirms_a_preset_is_named() -> None:
    assert confirmed_by("llama-3.1-8b")[0].endswith("as its weights in q8_0 come to")
    assert confirmed_by("7b-class") == ()
    assert len(FILES.keys() | FIGURES.keys()) >= 250
    assert format_presets.formats()["fp16"].bytes == 2
