"""The command line: exit codes, one sentence for bad input, and outputs that other programs read."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from planner.cli import main

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_limit_may_be_infinite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(LLAMA | {"time_step_limit": [0.0, float("inf")]}))
    assert run(capsys, "plan", "--model", str(file), "--memory", "80GiB")[0] == 0


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The sentence with which *words* are refused: exit 2, nothing on stdout, one line on stderr."""
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert err.endswith(".\n")
    assert err.count("\n") == 1
    return err


def test_exit_codes_say_whether_it_fits(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "plan", "--model", "7b-class", "--memory", "24GiB")[0] == 0
    assert run(capsys, "plan", "--model", "70b-class", "--memory", "24GiB")[0] == 1


def test_json_is_one_object_whose_items_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(
        capsys,
        "plan",
        "--model",
        "llama-3.1-8b",
        "--device",
        "rtx-4090",
        "--overhead",
        "1.5GiB",
        "--users",
        "4",
        "--json",
    )
    answer = json.loads(out)
    assert (code, err) == (0, "")
    assert sum(item["bytes"] for item in answer["items"]) == answer["total_bytes"]
    assert answer["memory_bytes"] - answer["total_bytes"] == answer["free_bytes"]
    assert answer["kv_request_bytes"] == 1_073_741_824
    assert answer["weights_bytes"] == 2 * 8_030_261_248
    assert answer["model_limit_tokens"] == 131_072
    assert answer["state"] == "fits"
    assert {item["basis"] for item in answer["items"]} == {"exact", "assumed"}


def test_a_plan_that_does_not_fit_says_by_how_much_and_what_would_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "plan", "--model", "13b", "--memory", "8GiB", "--weights", "int4-g128", "--overhead", "1.5GiB"
    )
    assert code == 1
    assert out.startswith("It loads, but only 337 tokens are left\n")
    assert "✓ A 16 GiB card: 10,822 tokens" in out


def test_tables_in_every_format_hold_the_same_cells(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["table", "--models", "7b-class,13b-class-mha", "--weights", "int8,int4-g128", "--overhead", "1.5GiB"]
    rows = json.loads(run(capsys, *words, "--json")[1])
    assert len(rows) == 2 * 2 * 3
    tokens = {(row["model"], row["weights"], row["memory_bytes"] >> 30): row["max_context_tokens"] for row in rows}
    assert tokens["7B class (nominal)", "int8", 16] == 65_378
    assert tokens["13B class, no GQA (nominal)", "int4-g128", 8] == 337
    read = list(csv.DictReader(io.StringIO(run(capsys, *words, "--format", "csv")[1])))
    assert [int(row["max_context_tokens"]) for row in read] == [row["max_context_tokens"] for row in rows]
    markdown = run(capsys, *words, "--format", "markdown")[1].splitlines()
    assert markdown[0] == "Tokens of context left for one user; cache in fp16; 1.50 GiB of runtime."
    assert markdown[2] == "| Model | Weights | A token costs | 8 GiB | 16 GiB | 24 GiB |"
    assert markdown[4] == "| 7B class (nominal) | int8 | 131 kB | ✕ 19.72 MiB over | 65,378 | 130,914 |"
    assert markdown[7] == "| 13B class, no GQA (nominal) | int4-g128 | 819 kB | ▲ 337 | 10,822 | 21,308 |"
    assert "▲ 337" in run(capsys, *words)[1]
    file = tmp_path / "table.xlsx"
    assert run(capsys, *words, "--format", "xlsx", "--output", str(file))[0] == 0
    openpyxl = pytest.importorskip("openpyxl")
    sheet = openpyxl.load_workbook(file).active
    assert [cell.value for cell in sheet[2]][:2] == ["7B class (nominal)", 8 * 2**30]


@pytest.mark.parametrize(("command", "least"), [("models", 18), ("devices", 100), ("formats", 60), ("engines", 1)])
def test_lists(command: str, least: int, capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(run(capsys, command, "--json")[1])
    assert len(rows) >= least
    names = [row["name"] for row in rows]
    assert len(set(names)) == len(names)
    lines = run(capsys, command)[1].splitlines()
    assert len([line for line in lines if not line.startswith(" ")]) == len(rows) + 1


def test_presets_are_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "check")
    assert code == 0
    assert "devices" in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--memory", "0"), "memory = 0 is not possible: give the size of one card, such as 8GiB."),
        (("--memory", "8 apples"), "memory '8 apples' is not a size"),
        (("--memory=-8GiB",), "memory '-8GiB' is not a size"),
        ((), "Give either --device or --memory, or the cards by --devices; neither was given."),
        (
            ("--memory", "8GiB", "--device", "l4"),
            "Give either --device or --memory, or the cards by --devices; both were given.",
        ),
        (("--device", "rtx-9999"), "Device 'rtx-9999' is not known; nearest: "),
        (
            ("--memory", "8GiB", "--context", "0"),
            "context = 0 is not possible: it must be between 1 and 8,589,934,592.",
        ),
        (("--memory", "8GiB", "--context", "1000000000000"), "context = 1,000,000,000,000 is not possible"),
        (("--memory", "8GiB", "--context", "1e3"), "'1e3' is not a whole number"),
        (("--memory", "8GiB", "--context", "8k"), "'8k' is not a whole number: write 8192 or 8000"),
        (("--memory", "8GiB", "--context", "9" * 5000), "is not a whole number"),
        (("--memory", "8GiB", "--users", "0"), "users = 0 is not possible"),
        (("--memory", "8GiB", "--users", "-3"), "users = -3 is not possible"),
        (("--memory", "8GiB", "--weights", "int3"), "Format 'int3' is not known; nearest: int8, int4; all of them: "),
        (("--memory", "8GiB", "--kv-cache", "int4-g128"), "Format 'int4-g128' cannot store cache"),
        (("--memory", "8GiB", "--engine", "vlm"), "Engine 'vlm' is not known; choose one of: minimum"),
        (("--memory", "8GiB", "--overhead=-1GiB"), "overhead '-1GiB' is not a size"),
        (("--memory", "8GiB", "--tensor-parallel", "0"), "tensor_parallel = 0 is not possible"),
        (("--memory", "8GiB", "--device-count", "3", "--tensor-parallel", "2"), "device_count = 3 does not match"),
        (("--memory", "8GiB", "--quantize", "some"), "choose from"),
        (("--memory", "8GiB", "--colour", "red"), "Unrecognized arguments: --colour red"),
    ],
)
def test_bad_options_get_one_sentence(
    words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sentence in refused(capsys, "plan", "--model", "7b-class", *words)


@pytest.mark.parametrize("name", [" ", "lama-3.1-8b", "../../etc/passwd", "x" * 10_000, "llama\x00", "[nominal]"])
def test_unknown_models_are_refused_by_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = refused(capsys, "plan", "--model", name, "--memory", "8GiB")
    assert "is not known" in sentence
    assert len(sentence) < 300


def test_an_empty_model_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "plan", "--model", "", "--memory", "8GiB").startswith("Name what is planned: --model NAME")


def test_the_nearest_name_is_offered(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nearest: llama-3.1-8b" in refused(capsys, "plan", "--model", "lama-3.1-8b", "--memory", "8GiB")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "JSON"),
        ("{", "JSON"),
        ("[1, 2]", "object"),
        ('{"model_type": "llama"', "JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        (json.dumps(LLAMA | {"hidden_size": -4096}), "hidden_size"),
        (json.dumps(LLAMA | {"hidden_size": 10**15}), "hidden_size"),
        (json.dumps(LLAMA | {"hidden_size": "4096"}), "hidden_size"),
        (json.dumps(LLAMA | {"hidden_size": 4096.0}), "hidden_size"),
        (json.dumps(LLAMA | {"hidden_size": True}), "hidden_size"),
        (json.dumps(LLAMA | {"num_hidden_layers": float("nan")}), "num_hidden_layers"),
        (json.dumps(LLAMA | {"num_hidden_layers": float("inf")}), "num_hidden_layers"),
        (json.dumps(LLAMA | {"num_hidden_layers": [32]}), "num_hidden_layers"),
        (json.dumps(LLAMA | {"rope_theta": float("inf")}), "inf under key 'rope_theta', which is not a number"),
        (json.dumps(LLAMA | {"rope_scaling": {"factor": [float("nan")]}}), "nan under key 'factor'"),
        (json.dumps(LLAMA | {"model_type": ["llama"]}), "is not the name of a family"),
        (json.dumps(LLAMA | {"model_type": "\U0001f4a5\u202e\x00\n"}), "is not the name of a family"),
        (json.dumps(LLAMA | {"model_type": "x" * 1000}), "is not the name of a family"),
        (
            json.dumps({"model_type": "mistral3", "text_config": LLAMA | {"model_type": "\U0001f4a5\u202e\x00"}}),
            "is not the name of a family",
        ),
        (json.dumps(LLAMA | {"num_hidden_layers": None}), "num_hidden_layers"),
        (json.dumps({k: v for k, v in LLAMA.items() if k != "vocab_size"}), "vocab_size"),
        (json.dumps({k: v for k, v in LLAMA.items() if k != "model_type"}), "model_type"),
        (json.dumps(LLAMA | {"model_type": "t5", "is_encoder_decoder": True}), "'t5'"),
        (json.dumps(LLAMA | {"model_type": "mystery", "mystery_blocks": 7}), "'mystery'"),
    ],
)
def test_bad_config_files_get_one_sentence(
    text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.json"
    file.write_text(text)
    assert sentence in refused(capsys, "plan", "--model", str(file), "--memory", "8GiB")


def test_a_huge_config_is_refused_before_it_is_parsed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.json"
    with file.open("wb") as stream:
        stream.truncate(2**40)
    assert "MiB" in refused(capsys, "plan", "--model", str(file), "--memory", "8GiB")


def test_missing_files_and_folders_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "cannot be read" in refused(capsys, "plan", "--model", str(tmp_path / "none.json"), "--memory", "8GiB")
    assert "cannot be read" in refused(capsys, "plan", "--model", str(tmp_path), "--memory", "8GiB")
    words = ("table", "--models", "7b", "--output", str(tmp_path / "no" / "table.csv"), "--format", "csv")
    assert "cannot be written" in refused(capsys, *words)


def test_a_folder_with_a_config_is_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA))
    code, out, _ = run(capsys, "plan", "--model", str(folder), "--device", "rtx-4090", "--json")
    answer = json.loads(out)
    assert (code, answer["model"], answer["parameters"]) == (0, "my-model", 8_030_261_248)


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m planner formats | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"


def test_a_plan_from_presets_imports_nothing_heavy() -> None:
    script = (
        "import sys; from planner.cli import main; main(['plan','--model','7b','--memory','24GiB','--json']);"
        "heavy = {'pydantic','pandas','numpy','torch','streamlit','openpyxl'} & set(sys.modules);"
        "sys.exit(', '.join(heavy) or None)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_engines_own_command_is_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    shared = ("plan", "--model", "llama-3.1-8b", "--device", "h100-sxm", "--engine", "vllm", "--json")
    options = ("--context", "32768", "--set", "gpu_memory_utilization=0.8")
    command = "vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 32768 --gpu-memory-utilization 0.8"
    assert run(capsys, *shared, "--command", command) == run(capsys, *shared, *options)
    assert "begins with vllm serve" in refused(capsys, *shared, "--command", "python serve.py")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--model=--", "--memory", "8GiB"), "--model has no value"),
        (("--model", "7b-class", "--memory=--"), "--memory has no value"),
        (("--model", "7b-class", "--memory", "8GiB", "--weights="), "--weights has no value"),
        (("--model", "7b-class", "--memory", "8GiB", "--weights", " "), "weights is empty"),
        (("--model", "7b-class", "--memory", "-8GiB"), "memory '-8GiB' is not a size"),
        (
            ("--model", "7b-class", "--memory", "8"),
            "memory '8' has no unit, and is too small for bytes: write 8GiB or 8GB",
        ),
        (("--model", "/dev/null", "--memory", "8GiB"), "Model '/dev/null' is not known"),
        (("--model", "LOOP/config.json", "--memory", "8GiB"), "Too many levels of symbolic links"),
        (("--model", "PIPE/config.json", "--memory", "8GiB"), "is no regular file"),
        (("--model", "PIPE/model.safetensors", "--memory", "8GiB"), "is no regular file"),
        (("--model", "PIPE/notes.txt", "--memory", "8GiB"), "is not known: the file's name must end in .json"),
    ],
)
def test_odd_words_and_files_are_one_sentence(
    words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    loop, pipe = tmp_path / "LOOP", tmp_path / "PIPE"
    loop.mkdir()
    (loop / "config.json").symlink_to("config.json")
    pipe.mkdir()
    os.mkfifo(pipe / "config.json")
    (pipe / "notes.txt").write_text("not a model")
    here = [word if not word.startswith(("LOOP", "PIPE")) else str(tmp_path / word) for word in words]
    code, out, error = run(capsys, "plan", *here)
    assert (code, out) == (2, "")
    assert sentence in error
    assert error.count("\n") == 1


def test_output_that_cannot_be_written_is_one_sentence() -> None:
    command = [sys.executable, "-m", "planner", "plan", "--model", "7b-class", "--memory", "24GiB"]
    with open("/dev/full", "w") as full:
        found = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (found.returncode, found.stderr) == (2, "What was found cannot be written: No space left on device.\n")
    closed = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True, check=False)
    assert (closed.returncode, closed.stderr) == (2, "There is nowhere to write to: standard output is closed.\n")


def test_lists_are_searched_by_name_family_size_and_licence(capsys: pytest.CaptureFixture[str]) -> None:
    def names(*words: str) -> set[str]:
        return {row["name"] for row in json.loads(run(capsys, *words, "--json")[1])}

    assert {"qwen3-8b", "qwen3-30b-a3b"} <= names("models", "QWEN3")
    assert "qwen3-30b-a3b" not in names("models", "qwen3", "8b")
    assert "llama-3.1-8b" in names("models", "llama3.1:8b")
    assert {"qwen3-8b"} <= names("models", "qwen3", "8b") - {"qwen3.5-0.8b"} == names("models", "qwen3", "8b")
    assert {"mistral-7b-v0.1"} <= names("models", "apache", "7b") < names("models", "7b")
    assert "rtx-4090" in names("devices", "4090")
    assert "There is none with all of these words." in run(capsys, "models", "no such model")[1]
