"""GGUF file types: each tensor's format as llama-quantize decides, against the sizes of published files."""

import csv
import json
from pathlib import Path

import pytest

from planner import format_presets, presets
from planner.cli import main
from planner.errors import PlannerError
from planner.formats import Role
from planner.gguf_mixes import as_stored
from planner.inputs.choices import Choices, choose
from planner.inputs.format_choices import choose_weights
from planner.weights import model_bytes, parameters

FILES = list(csv.DictReader((Path(__file__).parent / "data" / "gguf_files.csv").open(encoding="utf-8")))
TOLERANCE = 0.006


def stored_bytes(model: str, weights: str) -> tuple[int, int]:
    architecture = presets.load_preset(model)
    scheme = choose_weights(weights, None, architecture)
    stored = as_stored(architecture, scheme)
    return model_bytes(stored.layers, stored.tensors, scheme), parameters(architecture)


def formats_of(model: str, weights: str, name: str) -> list[str]:
    """The format of the tensor called *name* in every layer that has it."""
    architecture = presets.load_preset(model)
    stored = as_stored(architecture, choose_weights(weights, None, architecture))
    return [t.stored.name for layer in stored.layers for t in layer.tensors if t.name == name]


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row,
            id=f"{row['model']} {row['weights']}",
            marks=pytest.mark.xfail(reason=row["miss"], raises=AssertionError) if row["miss"] else (),
        )
        for row in FILES
    ],
)
def test_published_files(row: dict[str, str]) -> None:
    """All four decimals of the bits per weight; coarser figures, and files with their vocabulary, within 0.6%."""
    size, count = stored_bytes(row["model"], row["weights"])
    bits = row["bits_per_weight"]
    if len(bits) == len("4.8944"):
        assert round(8 * size / count, 4) == float(bits)
    elif bits:
        assert 8 * size / count == pytest.approx(float(bits), rel=TOLERANCE)
    else:
        assert size / 1e9 == pytest.approx(float(row["file_gb"]), rel=TOLERANCE)


def test_q4_k_m_gives_six_bits_to_half_of_the_layers() -> None:
    """The first and last eighth of 32 layers and every third between: 4 + 4 + 8."""
    six = [0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31]
    for name in ("self_attn.v_proj.weight", "mlp.down_proj.weight"):
        found = formats_of("llama-3.1-8b", "q4_k_m", name)
        assert [index for index, kind in enumerate(found) if kind == "q6_k"] == six
        assert set(found) == {"q4_k", "q6_k"}
    assert set(formats_of("llama-3.1-8b", "q4_k_m", "input_layernorm.weight")) == {"fp32"}


def test_values_of_a_70b_get_five_bits_where_they_would_get_four() -> None:
    assert set(formats_of("llama-3-70b", "q4_k_m", "self_attn.v_proj.weight")) == {"q5_k", "q6_k"}


def test_eight_experts_bring_eight_bits_to_keys_and_values() -> None:
    assert set(formats_of("mixtral-8x7b", "q4_k_m", "self_attn.k_proj.weight")) == {"q8_0"}
    assert set(formats_of("mixtral-8x7b", "q4_k_m", "mlp.gate.weight")) == {"fp32"}


def test_rows_that_blocks_do_not_fill_take_another_format() -> None:
    """Qwen2.5-0.5B has rows of 896 and 4,864 elements: 3.5 and 19 blocks of 256."""
    assert set(formats_of("qwen2.5-0.5b", "q4_k_m", "self_attn.q_proj.weight")) == {"q5_0"}
    assert set(formats_of("qwen2.5-0.5b", "q4_k_m", "mlp.down_proj.weight")) == {"q4_k", "q6_k"}
    assert set(formats_of("qwen2.5-0.5b", "iq4_xs", "self_attn.q_proj.weight")) == {"iq4_nl"}


def test_a_tied_embedding_is_stored_as_a_head() -> None:
    architecture = presets.load_preset("gemma-3-4b")
    stored = as_stored(architecture, choose_weights("q4_k_m", None, architecture))
    assert [t.stored.name for t in stored.tensors if t.role is Role.EMBEDDING] == ["q6_k"]


@pytest.mark.parametrize("weights", format_presets.mix_names())
def test_no_type_changes_what_there_is(weights: str) -> None:
    architecture = presets.load_preset("qwen3-30b-a3b")
    stored = as_stored(architecture, choose_weights(weights, None, architecture))
    assert parameters(stored) == parameters(architecture)


def test_a_name_that_is_also_a_format_means_the_file_type_unless_quantize_is_given() -> None:
    file_type = choose(Choices(model="llama-3.1-8b", memory="8GiB", weights="q4_0")).deployment.weights
    block = choose(Choices(model="llama-3.1-8b", memory="8GiB", weights="q4_0", quantize="linear")).deployment.weights
    assert (file_type.name, file_type.quantize) == ("q4_0", "mix")
    assert (block.name, block.quantize) == ("q4_0", "linear")


def test_a_type_alone_takes_no_quantize_and_no_nominal_class() -> None:
    with pytest.raises(PlannerError, match="q4_k_m decides about every tensor by itself: leave --quantize out"):
        choose(Choices(model="llama-3.1-8b", memory="8GiB", weights="q4_k_m", quantize="all"))
    assert main(["plan", "--model", "7b-class", "--memory", "8GiB", "--weights", "q4_k_m"]) == 2


def test_which_names_the_file_to_download_for_a_card(capsys: pytest.CaptureFixture[str]) -> None:
    main(["which", "--memory", "8GiB", "--weights", "q8_0,q6_k,q5_k_m,q4_k_m", "--overhead", "1GiB", "--all", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["weights"] for row in rows if row["model"] == "Qwen3-8B"] == ["q5_k_m", "q4_k_m"]


def test_formats_lists_the_types(capsys: pytest.CaptureFixture[str]) -> None:
    main(["formats", "--json"])
    names = [row["name"] for row in json.loads(capsys.readouterr().out)]
    assert {"q4_k_m", "iq3_xxs", "mxfp4_moe"} <= set(names)
    assert len(names) == len(set(names))
