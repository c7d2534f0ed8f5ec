"""Which modules a file's names and patterns mean, whatever wrapper or family spelled them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.architecture import distinct_layers
from planner.errors import UnsupportedModel
from planner.readers.quantization.module_names import canonical
from planner.readers.quantization.module_sets import ModuleSet, Place
from planner.readers.quantization.patterns import glob_source, regex_source
from tests.readers.quantized import TINY, read


def place(name: str, layer: int | None = 3, prediction: int | None = None) -> Place:
    return Place(modules=canonical(tuple(name.split("."))), layer=layer, prediction=prediction)


GATE = "mlp.gate_proj.weight"
EXPERT = "mlp.experts.gate_proj.weight"
QUERY = "self_attn.q_proj.weight"


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        # In full, with and without wrappers, and as other classes spell it.
        ("model.layers.3.mlp.gate_proj", GATE),
        ("layers.3.mlp.gate_proj", GATE),
        ("model.language_model.layers.3.mlp.gate_proj", GATE),
        ("language_model.model.layers.3.feed_forward.w1", GATE),
        ("model.layers.3.mlp.gate_up_proj", GATE),
        ("model.layers.3.block_sparse_moe.experts.17.w1", EXPERT),
        ("model.layers.3.mlp.experts", EXPERT),
        ("backbone.layers.3.mixer.q_proj", QUERY),
        ("transformer.h.3.attn.c_attn", QUERY),
        ("model.layers.3.self_attn.qkv_proj", QUERY),
        ("model.layers.3.self_attn.indexers_proj", "self_attn.indexer.weights_proj.weight"),
        # A module around it, or neighbouring parts of its name.
        ("model.layers.3", GATE),
        ("model.layers.3.mlp", EXPERT),
        ("mlp.experts", EXPERT),
        ("self_attn", QUERY),
        # Shell patterns.
        ("model.layers.3.mlp*", GATE),
        ("model.layers.3.*", QUERY),
        ("*.ffn.experts.*", EXPERT),
        ("model.layers.*.self_attn", QUERY),
        ("*.layers.[0-3].self_attn.*", QUERY),
        ("model.language_model.layers.3.self_attn*", QUERY),
        ("model.layers.3*", QUERY),
        ("*", QUERY),
        # Regular expressions, from the start of a name.
        ("re:.*self_attn.*", QUERY),
        ("re:.*mlp\\.(gate|up|gate_up|down)_proj.*", GATE),
        ("re:model\\.layers\\.[0-3]\\..*", QUERY),
        ("re:^model\\.layers\\.\\d+\\.mlp\\.gate_proj$", GATE),
        ("re:.*layers\\.(1|3)\\.", GATE),
        ("re:.*mlp.gate_proj$", GATE),
        ("re:.*experts\\.\\d+\\.gate_proj", EXPERT),
        ("re:.*block_sparse_moe\\.experts.*", EXPERT),
        (".*self_attn.*", QUERY),
    ],
)
def test_named(entry: str, name: str) -> None:
    assert place(name) in ModuleSet([entry])


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("model.layers.4.mlp.gate_proj", GATE),
        ("model.layers.3.mlp.gate", GATE),
        ("mlp.gate", GATE),
        ("gate", GATE),
        ("model.layers.3.mlp.up_proj", GATE),
        ("model.layers.3.mlp.gate_proj", EXPERT),
        ("lm_head", GATE),
        ("visual", GATE),
        ("", GATE),
        # A tower's layers have the same names below.
        ("vision_model.model.layers.3.self_attn.q_proj", QUERY),
        ("model.vision_tower.encoder.layers.3*", QUERY),
        ("model.visual*", QUERY),
        ("re:vision_tower.*", QUERY),
        # MTP layers are others than the model's.
        ("mtp.layers.3.self_attn.q_proj", QUERY),
        ("mtp*", QUERY),
        # As in a shell, 1* is 10 to 19 too, but 3* is not 30's neighbour.
        ("model.layers.33*", QUERY),
        ("re:self_attn.*", QUERY),
        ("re:.*mlp\\.(gate|up|gate_up|down)_proj.*", EXPERT),
        ("re:.*mlp\\.gate$", GATE),
        ("re:model\\.layers\\.[0-2]\\..*", QUERY),
    ],
)
def test_not_named(entry: str, name: str) -> None:
    assert place(name) not in ModuleSet([entry])


@pytest.mark.parametrize("entry", ["mtp*", "mtp.layers.0*", "model.layers.61*", "mtp.layers.0.self_attn.q_proj", "mtp"])
def test_prediction_layers_go_by_either_name(entry: str) -> None:
    """The first of them after 61 layers."""
    assert place(QUERY, layer=61, prediction=0) in ModuleSet([entry])
    assert place(QUERY, layer=60) not in ModuleSet([entry])


@pytest.mark.parametrize(
    "entry", ["lm_head", "language_model.lm_head", "head", "re:.*lm_head.*", "output_layer", "lm_head*"]
)
def test_the_head_by_its_names(entry: str) -> None:
    assert place("lm_head.weight", layer=None) in ModuleSet([entry])


def test_only_exact_names_reach_a_head_to_quantise_it() -> None:
    head = place("lm_head.weight", layer=None)
    assert ModuleSet(["lm_head"]).names(head)
    assert not ModuleSet(["re:.*", "model"]).names(head)


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "(a+)+$",
            "(a*)*b",
            "(?!x).*",
            "(?=x)",
            "(?P<n>x)",
            "a{2,3}",
            "a\\b",
            "a\\1",
            "(",
            ")",
            "[",
            "(a",
            "*a",
            "a**",
        ),
        *("((((((a))))))", "(.*a|b)", "\\d+\\d+\\d+\\d+x", "[^\\s]", "^a|^b", "[z-a]", "[a-z.]+x", "[^a]*x"),
    ],
)
def test_other_regular_expressions_are_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedModel, match="module pattern"):
        ModuleSet([f"re:{pattern}"])


def test_names_and_patterns_have_a_limit() -> None:
    with pytest.raises(UnsupportedModel, match="has 513 characters; up to 512 are read"):
        ModuleSet(["x" * 513])
    with pytest.raises(UnsupportedModel, match="too many to be read"):
        ModuleSet([f"re:.*{number}.*{'x' * 400}" for number in range(20)])
    with pytest.raises(UnsupportedModel, match="too many to be read"):
        ModuleSet([f"model.layers.{number}.{number}*" for number in range(100)])


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        (".*a.*b", "xaxxb", True),
        (".*a.*b.*c$", "abcbd", False),
        ("a.+", "a", False),
        ("a.?c", "ac", True),
        ("[^.]+x", "y.x", False),
    ],
)
def test_regular_expressions_mean_what_python_means(pattern: str, name: str, matches: bool) -> None:
    assert (re.match(regex_source(pattern), name) is not None) is matches is (re.match(pattern, name) is not None)


@given(st.text(alphabet="ab.*+?()[]|\\\\^$-d0{}", max_size=24))
def test_any_pattern_is_understood_as_python_does_or_refused(pattern: str) -> None:
    try:
        source = regex_source(pattern)
    except UnsupportedModel:
        return
    for name in ("", "a", "ab.a", "aa.b0.ba", "0-a.^"):
        assert (re.match(source, name) is not None) == (re.match(pattern, name) is not None)


def test_many_wildcards_backtrack_little() -> None:
    """Tried one by one, 12 wildcards over 60 characters would be more ways than can be counted."""
    assert re.match(regex_source(".*a" * 12 + "b"), "a" * 60) is None
    assert re.match(glob_source("*a" * 12 + "b"), "a" * 60) is None


def test_seven_hundred_names_leave_two_kinds_of_layers() -> None:
    """79 layers × 9 modules by name; those of layer 0 and no other name the MLP too."""
    names = [f"model.layers.{i}.self_attn.{name}_proj" for i in range(79) for name in "qkvo"]
    names += [f"model.layers.{i}.{name}" for i in range(79) for name in ("input_layernorm", "mlp.gate", "x", "y", "z")]
    config = {**TINY, "num_hidden_layers": 79}
    skipped = [*names, "model.layers.0.mlp"]
    fp8 = {"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert": skipped}
    assert [count for _, count in distinct_layers(read(fp8, config).layers)] == [1, 78]
