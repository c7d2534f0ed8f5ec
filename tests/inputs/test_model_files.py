"""Presets, files, folders and ids: what a name means, and that nothing is fetched unless asked."""

import json
from math import prod
from pathlib import Path

import pytest

from planner.cli import main
from planner.errors import PlannerError
from planner.inputs.model_files import load_model
from planner.inputs.uploads import read_uploads
from planner.weights import parameters
from tests.readers.gguf_files import BLOCK, F32, LLAMA, model, write
from tests.test_hub import CONFIG, FIRST, INDEX, NAMES, PARAMETERS, SECOND, shard


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "tiny"
    path.mkdir()
    (path / "config.json").write_text(json.dumps(CONFIG))
    (path / "model.safetensors.index.json").write_text(json.dumps(INDEX))
    (path / NAMES[0]).write_bytes(shard(FIRST))
    (path / NAMES[1]).write_bytes(shard(SECOND))
    return path


@pytest.mark.parametrize("name", ["", "config.json", "model.safetensors.index.json"])
def test_a_folder_its_config_and_its_index_are_the_same_model(folder: Path, name: str) -> None:
    architecture = load_model(str(folder / name))
    assert (architecture.title, parameters(architecture)) == ("tiny", PARAMETERS)


@pytest.mark.parametrize("name", ["", "config.json"])
def test_a_quantisation_beside_the_config_counts(tmp_path: Path, name: str) -> None:
    """ModelOpt writes hf_quant_config.json; published configs of its models may say nothing of it."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    assert load_model(str(tmp_path / name)).stored_as == "bf16"
    quantization = {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}}
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(quantization))
    architecture = load_model(str(tmp_path / name))
    assert (architecture.stored_as, architecture.cache_format.name) == ("fp8", "fp8")
    (tmp_path / "hf_quant_config.json").write_text("[")
    with pytest.raises(PlannerError, match=r"hf_quant_config\.json is not valid JSON"):
        load_model(str(tmp_path / name))


@pytest.mark.parametrize(
    ("name", "quantization", "stored_as"),
    [
        (
            "quantize_config.json",
            {"bits": 4, "group_size": 128, "damp_percent": 0.01, "desc_act": False},
            "gptq-4bit-g128",
        ),
        ("quant_config.json", {"zero_point": True, "q_group_size": 64, "w_bit": 4, "version": "GEMM"}, "awq-4bit-g64"),
    ],
)
def test_the_first_quantisers_files_count_where_the_config_says_nothing(
    tmp_path: Path, name: str, quantization: dict[str, object], stored_as: str
) -> None:
    (tmp_path / name).write_text(json.dumps(quantization))
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    assert load_model(str(tmp_path)).stored_as == stored_as
    given = {"config.json": json.dumps(CONFIG).encode(), name: json.dumps(quantization).encode()}
    assert read_uploads(given).stored_as == stored_as
    own = {"quant_method": "gptq", "bits": 8, "group_size": -1}
    (tmp_path / "config.json").write_text(json.dumps({**CONFIG, "quantization_config": own}))
    assert load_model(str(tmp_path)).stored_as == "gptq-8bit"
    (tmp_path / name).write_text("[")
    with pytest.raises(PlannerError, match=f"{name} is not valid JSON"):
        load_model(str(tmp_path))


def test_weights_without_their_config_are_refused(folder: Path) -> None:
    (folder / "config.json").unlink()
    with pytest.raises(PlannerError, match=r"config\.json cannot be read: No such file"):
        load_model(str(folder / NAMES[0]))


def test_missing_shards_are_named(folder: Path) -> None:
    (folder / NAMES[1]).unlink()
    with pytest.raises(PlannerError, match=NAMES[1]):
        load_model(str(folder))


def test_an_id_that_is_no_preset_needs_online(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(PlannerError, match="'org/tiny' is not among the presets; add --online"):
        load_model("org/tiny")


def test_an_id_that_this_machine_has_needs_no_network(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: Path
) -> None:
    pytest.importorskip("huggingface_hub")
    from huggingface_hub import constants

    snapshot = tmp_path / "hub" / "models--org--tiny" / "snapshots" / ("c" * 40)
    snapshot.parent.mkdir(parents=True)
    folder.rename(snapshot)
    refs = snapshot.parents[1] / "refs"
    refs.mkdir()
    (refs / "main").write_text("c" * 40)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    assert parameters(load_model("org/tiny")) == PARAMETERS


def test_a_presets_hub_id_is_the_preset() -> None:
    assert load_model("meta-llama/Llama-3.1-8B-Instruct").name == "llama-3.1-8b"


def test_a_gguf_is_planned_with_the_bytes_of_its_tensors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys, tensors = model("llama", 4, BLOCK, context_length=4096, **LLAMA)
    write(tmp_path / "small.gguf", keys, tensors)
    # No request is shorter than a token: 4 layers · (key + value) · 2 heads · 8 · 2 bytes.
    assert main(["plan", "--model", str(tmp_path / "small.gguf"), "--memory", "1GiB", "--context", "1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["weights_bytes"] == 4 * sum(prod(shape) for kind, shape in tensors.values() if kind == F32)
    assert answer["kv_request_bytes"] == 4 * 2 * 2 * 8 * 2
    assert answer["model_limit_tokens"] == 4096


def test_a_folder_of_gguf_files_offers_them(tmp_path: Path) -> None:
    for name in ("b.gguf", "a.gguf"):
        write(tmp_path / name, *model("llama", 2, BLOCK, **LLAMA))
    with pytest.raises(PlannerError, match=r"has no config\.json, but GGUF files: name one, such as a\.gguf\."):
        load_model(str(tmp_path))


@pytest.mark.parametrize("name", ["config.json", NAMES[0], "model.safetensors.index.json"])
def test_a_pointer_to_a_file_is_not_the_file(folder: Path, name: str) -> None:
    (folder / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 123\n")
    with pytest.raises(PlannerError, match=rf"{name} is a Git LFS pointer, not the file itself"):
        load_model(str(folder))


@pytest.mark.parametrize("dtype", [16, ["bfloat16"], True])
def test_a_dtype_that_is_no_name_is_refused(tmp_path: Path, dtype: object) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**CONFIG, "torch_dtype": dtype}))
    with pytest.raises(PlannerError, match=r"key 'torch_dtype' is .*; it must be one of bfloat16"):
        load_model(str(tmp_path))
