"""What a file or a name holds never acts on a terminal: neither in an answer nor in a refusal."""

import json
from pathlib import Path

import pytest

from planner.cli import main
from planner.errors import BadFile, PlannerError, UnsupportedModel
from planner.printable import printable
from tests.readers.gguf_files import BLOCK, LLAMA, model, write
from tests.readers.quantized import TINY

ODD = "a\x1b[31mb\nc\x9bd\x07"


def test_marks_take_the_place_of_what_a_terminal_acts_on() -> None:
    assert printable(ODD) == "a�[31mb c�d�"
    assert printable("a plain text – with any letter: é, 模") == "a plain text – with any letter: é, 模"


@pytest.mark.parametrize("kind", [PlannerError, BadFile, UnsupportedModel])
def test_every_refusal_is_one_line(kind: type[PlannerError]) -> None:
    assert str(kind(f"{ODD} is wrong.")) == "a�[31mb c�d� is wrong."


def is_clean(text: str) -> bool:
    return all(letter.isprintable() for letter in text.replace("\n", ""))


@pytest.mark.parametrize("command", [["inspect"], ["plan", "--memory", "24GiB", "--model"]])
def test_names_of_files_and_what_they_hold(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "odd\x1b[31m\nfolder"
    folder.mkdir()
    config = folder / "config.json"
    config.write_text(json.dumps({**TINY, "quantization_config": {"quant_method": ODD}}))
    gguf = folder / "odd\x1b.gguf"
    keys, tensors = model("llama", 2, BLOCK, **LLAMA)
    write(gguf, {**keys, "general.name": ODD}, tensors)
    wrong = folder / "wrong\x1b.gguf"
    write(wrong, {"general.architecture": ODD}, tensors)
    for path in (config, folder, gguf, wrong, folder / "none\x1b.json"):
        main([*command, str(path)])
        said = capsys.readouterr()
        assert said.out + said.err
        assert is_clean(said.out + said.err), path
