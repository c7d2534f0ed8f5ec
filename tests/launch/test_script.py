"""The script for transformers is run as it is written, on a model of a few thousand parameters."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from planner.inputs.choices import Choices, choose
from planner.launch import launch
from tests.measure import tiny

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("torch", "transformers", "accelerate", "tokenizers")),
    reason="needs transformers with torch and accelerate: pip install -e '.[measure]'",
)


def write_checkpoint(folder: Path) -> str:
    """Random weights and a tokenizer of three words, as a folder that ``from_pretrained`` takes."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

    tiny.write(folder)
    AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder)).save_pretrained(folder)
    words = Tokenizer(models.WordLevel({"Hello": 0, "you": 1, "[UNK]": 2}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()  # type: ignore[assignment]
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]").save_pretrained(folder)
    return str(folder)


@pytest.mark.parametrize("draft", [None, "model", "ngram"])
def test_the_script_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str], draft: str | None) -> None:
    folder = write_checkpoint(tmp_path)
    drafting = {} if draft is None else {"draft_model": folder if draft == "model" else draft, "draft_tokens": 2}
    # Drafts are for one prompt at a time.
    users = 2 if draft is None else 1
    choices = Choices(model=folder, memory="8GiB", engine="transformers", context=12, users=users, **drafting)  # type: ignore[arg-type]
    written = launch(choices, choose(choices))
    assert written is not None
    exec(compile(written.text, "script.py", "exec"), {})
    printed = capsys.readouterr().out.strip().splitlines()[-1]
    assert printed.count("Hello") >= users
    assert printed.startswith("[")
