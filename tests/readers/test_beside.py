"""Parts of a file that its class does not read: counted as an upper bound that is said, or refused; never left out."""

from typing import Any

import pytest

from planner import presets
from planner.errors import UnsupportedModel
from planner.readers.hf_config import read_config
from planner.weights import parameters, parameters_by_role
from tests.readers.knowledge import KNOWLEDGE, find_family
from tests.readers.test_class_totals import DATA
from tests.readers.test_hf_config import MODELS, config_of

TOWER: dict[str, Any] = {
    "model_type": "new_tower", "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4,
    "intermediate_size": 64, "patch_size": 4, "image_size": 8, "num_mel_bins": 16,
}  # fmt: skip
DECODER = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 10}
ALL = (
    *(config_of(name) for name in MODELS if "model_type" in config_of(name)),
    *(case["config"] for case in DATA["totals"]),
)
CASES: list[dict[str, Any]] = list({str(config.get("model_type")): config for config in ALL}.values())
WITH_TOWERS = [config for config in CASES if any(key in config for key in ("vision_config", "audio_config"))]
LLAMA = config_of("meta-llama/Meta-Llama-3.1-8B")


def read_keys(model_type: str) -> set[str]:
    """Where the family has a tower, or keys of its own."""
    family = find_family(model_type)
    assert family is not None
    return {rule.config.partition(".")[0] for rule in family.towers} | {*family.own_keys, *family.nested}


@pytest.mark.parametrize("config", CASES, ids=lambda config: str(config["model_type"]))
def test_a_tower_that_a_class_does_not_read_is_counted_and_said(config: dict[str, Any]) -> None:
    known = parameters(read_config(config, KNOWLEDGE))
    for key in {"vision_config", "audio_config", "image_tower_cfg"} - read_keys(str(config["model_type"])) - {*config}:
        found = read_config({**config, key: TOWER}, KNOWLEDGE)
        assert parameters(found) > known, key
        assert found.assumed
        assert any(f"is not known to have {key}: counted as an upper bound" in said for said in found.warnings), key


@pytest.mark.parametrize("config", CASES, ids=lambda config: str(config["model_type"]))
def test_a_second_decoder_that_a_class_does_not_read_is_refused(config: dict[str, Any]) -> None:
    for key in ("talker_config", "decoder_config", "llm_config"):
        if key not in {*config, *read_keys(str(config["model_type"]))}:
            with pytest.raises(UnsupportedModel, match=f"is not known to have '{key}'"):
                read_config({**config, key: DECODER}, KNOWLEDGE)


@pytest.mark.parametrize("key", ["decoder_config", "llm_config", "talker_config", "code2wav_config", "aligner"])
def test_an_unknown_wrapper_with_a_second_part_that_is_no_tower_is_refused(key: str) -> None:
    with pytest.raises(UnsupportedModel, match=f"'new_omni' is not known to have '{key}'.*; take it out"):
        read_config({"model_type": "new_omni", "text_config": LLAMA, key: DECODER}, KNOWLEDGE)


@pytest.mark.parametrize("key", ["text_config", "llm_config", "language_config"])
def test_an_unknown_wrapper_is_its_text_model_and_a_bound_of_its_tower(key: str) -> None:
    """The bound of 3 + 1 layers, each of four projections, a gated part, and six norms; and a projector.

    Four patches of 32 go into a token, through a layer of four times the text model's 4,096.
    """
    model = read_config({"model_type": "new_vl", key: LLAMA, "vision_config": TOWER}, KNOWLEDGE)
    layer = 4 * (32 * 32 + 32) + 3 * 32 * 64 + 64 + 64 + 32 + 6 * 2 * 32
    outer = 32 * 3 * 4 * 4 + 32 + (2 * 2 + 1) * 32 + 2 * 2 * 32
    projector = 16384 * 4 * 32 + 16384 + 4096 * 16384 + 4096 + 2 * 4 * 32
    assert parameters_by_role(model)["vision"] == 4 * layer + outer + projector
    assert model.layers == read_config(LLAMA, KNOWLEDGE).layers
    assert model.assumed
    assert model.warnings[:2] == (
        f"model_type 'new_vl' is not known: its text model is planned as it stands in {key}.",
        "model_type 'new_vl' is not known to have vision_config: counted as an upper bound, with what may lead from it "
        "into the text model.",
    )


@pytest.mark.parametrize(
    ("around", "tower", "said"),
    [
        ({}, {"hidden_size": None}, "key 'vision_config.hidden_size' is null; add it to the config"),
        ({}, {"warp_layers": 3}, "keys that are not understood: 'vision_config.warp_layers'; take that out"),
        ({"mm_tower": "openai/clip"}, {}, "keys that are not understood: 'mm_tower'; take that out"),
    ],
)
def test_a_tower_without_a_bound_is_refused(around: dict[str, Any], tower: dict[str, Any], said: str) -> None:
    config = {"model_type": "new_vl", "text_config": LLAMA, "vision_config": TOWER | tower, **around}
    with pytest.raises(UnsupportedModel) as refusal:
        read_config(config, KNOWLEDGE)
    assert said in str(refusal.value)


def test_sizes_of_images_without_a_tower_are_not_understood_in_an_unknown_wrapper() -> None:
    with pytest.raises(UnsupportedModel, match="not understood: 'image_size', 'patch_size'"):
        read_config({"model_type": "new_vl", "text_config": LLAMA, "image_size": 300, "patch_size": 30}, KNOWLEDGE)


def test_an_empty_tower_is_one_of_unknown_size_in_an_unknown_wrapper_alone() -> None:
    with pytest.raises(UnsupportedModel, match=r"key 'vision_config.hidden_size' or .* is missing"):
        read_config({"model_type": "new_vl", "text_config": LLAMA, "vision_config": {}}, KNOWLEDGE)
    assert read_config({**LLAMA, "vision_config": {}, "moe": {}}, KNOWLEDGE) == read_config(LLAMA, KNOWLEDGE)


@pytest.mark.parametrize("config", WITH_TOWERS, ids=lambda config: str(config["model_type"]))
def test_a_tower_of_another_type_weighs_no_less_or_is_refused(config: dict[str, Any]) -> None:
    known = read_config(config, KNOWLEDGE)
    for key in ("vision_config", "audio_config"):
        if config.get(key):
            try:
                found = read_config({**config, key: {**config[key], "model_type": "renamed"}}, KNOWLEDGE)
            except UnsupportedModel as refusal:
                assert key in str(refusal)
                continue
            assert parameters(found) >= parameters(known)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"moe": {"num_experts": 8}}, "is not known to have 'moe'"),
        ({"ffn_config": {"ffn_hidden_size": 9}}, "is not known to have 'ffn_config'"),
        ({"vision_config": {"model_type": "siglip"}}, "is missing; add it to the config"),
        ({"draft_config": {"model_type": "llama"}}, "is not known to have 'draft_config'"),
    ],
)
def test_an_object_with_sizes_that_a_class_does_not_read_is_refused(table: dict[str, Any], said: str) -> None:
    with pytest.raises(UnsupportedModel) as refusal:
        read_config({**LLAMA, **table}, KNOWLEDGE)
    assert said in str(refusal.value)


def test_an_object_without_sizes_is_no_part() -> None:
    more = {"trainer": {"name": "x"}, "ffn_config": {"ffn_type": "mlp"}, "id2label": {"0": "a"}}
    assert read_config({**LLAMA, **more}, KNOWLEDGE) == read_config(LLAMA, KNOWLEDGE)


def test_a_width_of_llm_foundrys_own_is_read_and_its_other_kinds_are_refused() -> None:
    mpt = config_of("mosaicml/mpt-7b")
    width, usual = {"ffn_type": "mptmlp", "ffn_hidden_size": 4 * 4096}, {"ffn_type": "mptmlp"}
    known = parameters(read_config(mpt, KNOWLEDGE))
    assert parameters(read_config({**mpt, "ffn_config": usual}, KNOWLEDGE)) == known
    assert parameters(read_config({**mpt, "ffn_config": width}, KNOWLEDGE)) == known
    wide = parameters(read_config({**mpt, "ffn_config": width | {"ffn_hidden_size": 8 * 4096}}, KNOWLEDGE))
    assert wide - known == 32 * 2 * 4096 * 4 * 4096
    with pytest.raises(UnsupportedModel, match=r"key 'ffn_config.ffn_type' is 'mb_dmoe'; it must be one of mptmlp"):
        read_config({**mpt, "ffn_config": {"ffn_type": "mb_dmoe", "moe_num_experts": 8}}, KNOWLEDGE)


@pytest.mark.parametrize("part", ["moe", "mamba"])
def test_a_blocks_part_that_is_not_understood_is_refused(part: str) -> None:
    nas = config_of("nvidia/Llama-3_3-Nemotron-Super-49B-v1")
    blocks = [dict(block) for block in nas["block_configs"]]  # type: ignore[attr-defined]
    blocks[3] = {**blocks[3], "ffn": {**blocks[3]["ffn"], part: {"num_local_experts": 8}}}
    with pytest.raises(UnsupportedModel, match=rf"key 'block_configs\[3\].ffn.{part}' is not understood here"):
        read_config({**nas, "block_configs": blocks}, KNOWLEDGE)


def test_how_images_are_cut_is_no_part_of_a_model() -> None:
    """As the published file of MiniCPM-V-2.6 has it."""
    config = presets.find_model("minicpm-v-2.6").published_config
    cut = {"slice_config": {"max_slice_nums": 9, "patch_size": 14, "model_type": "minicpmv"}, "slice_mode": True}
    plain, found = (read_config(table, KNOWLEDGE) for table in (config, config | cut))
    assert found == plain
