"""Quantisations that are not understood: an upper bound that says why, and never anything else than one sentence."""

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.architecture import Architecture
from planner.budget import plan
from planner.deployment import Workload
from planner.errors import PlannerError
from planner.line_item import Basis
from planner.readers.hf_config import read_config
from tests.builders import deployment
from tests.checkpoints import CASES
from tests.readers.knowledge import FORMATS, KNOWLEDGE
from tests.readers.quantized import (
    ELEMENTS,
    KINDS,
    MIXTURE,
    MODULES,
    TINY,
    compressed,
    layer_bytes,
    modelopt,
    read,
    sizes,
)


@pytest.mark.parametrize(
    ("quantization", "reason"),
    [
        ({"quant_method": "higgs", "bits": 4}, "quant_method 'higgs' is not known; give --weights a format"),
        ({"bits": 4}, "quantization_config has no quant_method"),
        (
            {"quant_method": "gptq", "bits": 16, "group_size": 128},
            r"\(gptq\): key 'bits' is 16; it must be one of 2, 3, 4",
        ),
        ({"quant_method": "gptq", "bits": 4}, "key 'group_size' is None; it must be a group size, or -1"),
        ({"quant_method": "awq", "bits": 4, "group_size": 0.5}, "key 'group_size' is 0.5; it must be a whole number"),
        ({"quant_method": "bitsandbytes"}, "key 'load_in_4bit' is None; it must be true, or load_in_8bit must be"),
        ({"quant_method": "fp8", "weight_block_size": [128]}, "key 'weight_block_size' has 1 entry; it must have 2"),
        (compressed("sparse-24-bitmask", num_bits=8, type="float", strategy="channel"), "key 'format' is"),
        (modelopt("FP3"), "key 'quant_algo' is 'FP3'"),
        ({"quant_method": "fp8", "modules_to_not_convert": [3]}, "it must be a list of module names"),
        (
            {"quant_method": "fp8", "modules_to_not_convert": ["re:(a+)+$"]},
            r"module pattern '\(a\+\)\+\$' is not of a kind",
        ),
        ({"quant_method": "exl3", "bits": float("inf")}, "it must be a number from 1 to 16"),
        ({"quant_method": "mxfp4"}, r"quantization_config \(mxfp4\) names none of this model's weights"),
        ({"quant_method": "compressed-tensors", "config_groups": {}}, "names none of this model's weights"),
        ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {}}, "names none of"),
        (
            {"quant_method": "gptq", "bits": 4, "group_size": 8, "modules_in_block_to_quantize": [["warp"]]},
            "names none of this model's weights",
        ),
        ({"quant_method": "fp8", "expert_dtype": "fp3"}, "key 'expert_dtype' is 'fp3'; it must be one of fp4, fp8"),
        ({"quant_method": "fp8", "activation_scheme": "warp"}, "key 'activation_scheme' is 'warp'"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128, "format": "warp"}, "key 'format' is 'warp'"),
        ({"quant_method": "bitnet", "quantization_mode": "warp"}, "key 'quantization_mode' is 'warp'"),
        ({"quant_method": "eetq", "weights": "int3"}, "key 'weights' is 'int3'"),
        (
            {"quant_method": "auto-round", "bits": 4, "group_size": 128, "packing_format": "warp"},
            "key 'packing_format' is 'warp'",
        ),
        (compressed("pack-quantized", num_bits=4, type="warp"), r"key 'config_groups.group_0.weights.type' is 'warp'"),
    ],
)
def test_what_is_not_understood_is_an_upper_bound_and_says_why(quantization: dict[str, object], reason: str) -> None:
    architecture = read(quantization)
    assert layer_bytes(architecture) == 2 * ELEMENTS
    assert architecture.stored_assumed
    (warning,) = architecture.warnings
    assert warning.startswith("The checkpoint's quantisation is not understood: its weights are counted unquantised")
    assert re.search(reason, warning)


def test_bounded_weights_are_assumed_unless_another_format_is_chosen() -> None:
    architecture = read({"quant_method": "higgs"})
    workload = Workload(context_tokens=128, users=1)

    def basis(weights: str | None) -> Basis:
        chosen = None if weights is None else FORMATS[weights]
        return plan(architecture, deployment(2**30, weights=chosen), workload).ranks[0].items[0].basis

    assert (basis(None), basis("int8")) == (Basis.ASSUMED, Basis.EXACT)


@given(kind=st.sampled_from(sorted(KINDS)), skipped=st.sampled_from(("self_attn", "mlp.up_proj", "lm_head", "model")))
def test_what_is_left_alone_never_makes_a_checkpoint_smaller(kind: str, skipped: str) -> None:
    """Naming one more module to leave in 16 bit costs bytes or none."""
    quantization = copy.deepcopy(KINDS[kind][0])
    keys = ("ignore", "modules_to_not_convert", "exclude", "skip_modules", "llm_int8_skip_modules", "exclude_modules")
    more = {**quantization, **{key: [*_list(quantization.get(key)), skipped] for key in keys}}
    assert sum(sizes(read(more)).values()) >= sum(sizes(read(quantization)).values())


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


_KEYS = sorted(
    {
        *("quant_method", "bits", "group_size", "dynamic", "ignore", "modules_to_not_convert", "quant_algo", "lm_head"),
        *(
            "config_groups",
            "weights",
            "targets",
            "format",
            "num_bits",
            "type",
            "strategy",
            "block_structure",
            "symmetric",
        ),
        *("quantized_layers", "kv_cache_scheme", "weight_block_size", "activation_scheme", "extra_config", "head_bits"),
        *("load_in_4bit", "load_in_8bit", "bnb_4bit_quant_type", "quant_config", "weight_quant_params", "nbits"),
        *("quant_type", "default", "_type", "_data", "global_quant_config", "layer_quant_config", "weight", "dtype"),
    }
)
_NAMES = st.sampled_from(
    [
        *("lm_head", "model.layers.0*", "*", "", "model.layers.1.mlp.up_proj", "mtp*"),
        *("re:.*mlp.*", "re:(", "re:[^.]+", ".*(a|b)?x"),
    ]
)
_METHODS = st.sampled_from(
    [
        *("gptq", "awq", "bitsandbytes", "fp8", "fbgemm_fp8", "compressed-tensors", "mxfp4", "modelopt", "quark"),
        *("auto-round", "hqq", "exl2", "exl3", "aqlm", "torchao", "mlx", "NVFP4", "FP8", "Int4WeightOnlyConfig"),
        *("int", "float", "group"),
    ]
)
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 130)
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | _NAMES
    | _METHODS
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(_KEYS) | _NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(
    quantization=st.dictionaries(st.sampled_from(_KEYS) | st.text(max_size=8), _VALUES, max_size=8),
    method=_METHODS | _LEAVES,
)
def test_any_quantization_config_gives_an_architecture_or_one_sentence(
    quantization: dict[str, Any], method: object
) -> None:
    _is_read_or_refused({**quantization, "quant_method": method})


@given(kind=st.sampled_from(sorted(KINDS)), data=st.data())
def test_a_real_config_with_a_strange_value_gives_an_architecture_or_one_sentence(
    kind: str, data: st.DataObject
) -> None:
    quantization = copy.deepcopy(KINDS[kind][0])
    table: dict[str, Any] = quantization
    while True:
        key = data.draw(st.sampled_from(sorted(table)))
        if not isinstance(table[key], dict) or not table[key] or data.draw(st.booleans()):
            break
        table = table[key]
    table[key] = data.draw(_VALUES)
    _is_read_or_refused(quantization)


def _is_read_or_refused(quantization: dict[str, Any]) -> None:
    try:
        architecture = read_config({**MIXTURE, "quantization_config": quantization}, KNOWLEDGE)
    except PlannerError as error:
        assert "\n" not in str(error)
    else:
        assert isinstance(architecture, Architecture)
        assert all(size >= 0 for size in sizes(architecture).values())


@pytest.mark.parametrize(
    "quantization",
    [
        {"quant_method": "bitnet", "quantization_mode": "online"},
        {"quant_method": "modelopt", "kv_cache_quant_algo": "FP8"},
        {
            "quant_method": "compressed-tensors",
            "config_groups": {},
            "kv_cache_scheme": {"num_bits": 8, "type": "float"},
        },
        {"quant_method": "compressed-tensors", "format": "dense", "config_groups": {"group_0": {"weights": None}}},
    ],
)
def test_a_file_that_says_itself_that_weights_are_as_trained_is_exact(quantization: dict[str, object]) -> None:
    architecture = read(quantization)
    assert layer_bytes(architecture) == 2 * ELEMENTS
    assert (architecture.stored_assumed, architecture.warnings) == (False, ())


def test_classes_that_are_not_known_are_counted_unquantised_and_named() -> None:
    quantization = compressed("pack-quantized", num_bits=4, type="int", group_size=128)
    groups = quantization["config_groups"]
    assert isinstance(groups, dict)
    groups["group_0"]["targets"] = ["Linear", "WarpExperts"]
    assert "for modules of class WarpExperts too: these are counted unquantised" in read(quantization).warnings[-1]


def test_activations_scaled_by_block_at_run_time_have_one_scale_in_the_file() -> None:
    """LLM Compressor's NVFP4: ``dynamic`` is ``local``, and every module stores a 32-bit global scale for its input."""
    weights = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}
    local, dynamic = (
        read(compressed("nvfp4-pack-quantized", {"num_bits": 4, "type": "float", "dynamic": kind}, **weights))
        for kind in ("local", True)
    )
    assert local.stored_as == "nvfp4"
    assert layer_bytes(local) - layer_bytes(dynamic) == 4 * MODULES


def places(value: object, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to every value in *value*, objects and lists themselves too."""
    yield above
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value[:2]):
            yield from places(inner, (*above, key))


PUBLISHED = [case["quantization"] for case in CASES.values()] + [
    {**case["quantization"], "quantized_layers": {"model.layers.0.mlp.up_proj": case["quantized"]}}
    for case in CASES.values()
    if case.get("quantized")
]


@pytest.mark.parametrize("quantization", [*(settings for settings, _ in KINDS.values()), *PUBLISHED])
def test_a_value_of_any_other_type_is_read_or_bounded(quantization: dict[str, Any]) -> None:
    for place in places(quantization):
        for value in (None, True, 3, -1, 1.5, "x", "", [], [3], ["x"], [[]], {}, {"x": 3}, {"x": {}}):
            changed: dict[str, Any] = {"": copy.deepcopy(quantization)}
            table: Any = changed
            for step in ("", *place)[:-1]:
                table = table[step]
            table[("", *place)[-1]] = value
            try:
                read_config({**MIXTURE, "quantization_config": changed[""]}, KNOWLEDGE)
            except PlannerError as error:
                assert str(error)


@pytest.mark.parametrize(
    "settings", [{}, {"sym": True}, {"desc_act": False}, {"zero_point": True}, {"damp_percent": 0.1, "sym": True}]
)
def test_settings_of_several_quantisers_are_nobodys_without_a_method(settings: dict[str, Any]) -> None:
    found = read({"bits": 4, "group_size": 128, **settings})
    assert found.stored_assumed
    assert layer_bytes(found) == 2 * ELEMENTS
    assert not read({"bits": 4, "group_size": 64, "mode": "affine"}).stored_assumed


def test_a_copy_of_a_tied_head_is_named_as_the_header_names_it() -> None:
    awq = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
    tied = read(awq, {**TINY, "tie_word_embeddings": True})
    assert "head" not in sizes(tied)
    assert tied.warnings == (
        "Such files store a copy of the tied head (0.50 MiB) that the model does not load: not counted.",
    )
    assert read(awq).warnings == ()


def test_a_sibling_alone_in_wanting_a_small_cache_is_named() -> None:
    config = {**TINY, "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}
    sibling = {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}}
    found = read_config(config, KNOWLEDGE, quantization=sibling)
    assert found.cache_format.name == "bf16"
    assert [warning.partition(",")[0] for warning in found.warnings] == ["hf_quant_config.json wants the cache in FP8"]
    both = {**config["quantization_config"], "kv_cache_scheme": {"num_bits": 8, "type": "float"}}
    assert read_config({**config, "quantization_config": both}, KNOWLEDGE, quantization=sibling).warnings == ()
    assert read_config(TINY, KNOWLEDGE, quantization=sibling).cache_format.name == "fp8"
