"""From a model's name to the model itself on a device, and to the architecture that the planner sees in its config."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from measure import trained
from measure.out_of_memory import is_out_of_memory
from measure.scaled import scale_down
from measure.setup import Setup
from planner import presets
from planner.architecture import Architecture
from planner.errors import PlannerError
from planner.inputs.model_files import read_config_text
from planner.readers.hf_config import read_config
from planner.readers.json_text import parse_json
from planner.units import shorten

TORCH_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_NARROW = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "intermediate_size": 128,
    "vocab_size": 512,
    "max_position_embeddings": 2_048,
    "tie_word_embeddings": True,
    "torch_dtype": "float32",
}
_ID = re.compile(r"[\w-][\w.-]*/[\w.-]+")
"""A Hugging Face id; what starts with a dot, a slash or a tilde is a path."""
CONFIG, WHOLE = ("config.json",), ("*.json", "*.safetensors", "*.model", "*.txt")
"""What of a repository a small copy needs, and what a model does."""
MAX_WORDS = 160
"""Of a library's own message: some list all that they would have taken."""
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a model comes from. *folder* None, or one without weights: they are random.

    *config* is Hugging Face's; *changes* say in words how a small copy differs from what was published.
    """

    title: str
    config: Mapping[str, Any]
    architecture: Architecture
    folder: str | None = None
    is_trained: bool = False
    changes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A model on its device; *tokenizer* only where one came with trained weights."""

    source: Source
    model: Any
    tokenizer: Any = None

    @property
    def attention(self) -> str:
        """The back end that the library really uses."""
        return str(self.model.config._attn_implementation)


def default_model() -> str:
    """The trained model where its package is installed, else one of its size with random weights."""
    return trained.NAME if trained.is_installed() else "smollm-135m"


def find_source(setup: Setup) -> Source:
    """What ``setup.model`` names. Raises PlannerError with what to change."""
    name, is_small = setup.model or default_model(), setup.scale == "small"
    if name == trained.NAME:
        found = _from_folder(trained.folder(), trained.TITLE)
        return _small(found) if is_small else found
    if Path(name).is_dir():
        found = _from_folder(Path(name), Path(name).resolve().name)
        return _small(found) if is_small else found
    if _ID.fullmatch(name):
        found = _from_hub(name, setup.online, CONFIG if is_small else WHOLE)
        return _small(found) if is_small else found
    if "/" in name or Path(name).exists():
        raise PlannerError(
            f"{shorten(name)!r} is no folder here with a config.json, and no id such as Qwen/Qwen2.5-0.5B; a GGUF file "
            "is for the experiment engine alone."
        )
    preset = presets.find_model(name)
    if "model_type" not in preset.config:
        raise PlannerError(f"{preset.title} is nominal: it has no layers that could run. Name a real model.")
    config = preset.published_config
    architecture = read_config(config, presets.knowledge(), name=preset.name, title=preset.title)
    found = Source(title=preset.title, config=config, architecture=architecture)
    return _small(found) if is_small else found


def _small(source: Source) -> Source:
    """A small copy of *source*: its weights are random, whatever it has."""
    scaled, architecture = scale_down(source.config), source.architecture
    return Source(
        title=source.title,
        config=scaled.config,
        architecture=read_config(scaled.config, presets.knowledge(), name=architecture.name, title=architecture.title),
        changes=scaled.said() or "none was needed",
    )


def narrow_source(layers: int) -> Source:
    """A Llama of *layers* that have next to nothing to read or to compute: what a pass takes is their fixed time."""
    config = _NARROW | {"num_hidden_layers": layers}
    return Source(
        title="narrow",
        config=config,
        architecture=read_config(config, presets.knowledge(), name="narrow", title="narrow"),
    )


def load(setup: Setup, source: Source | None = None, device: torch.device | None = None) -> Loaded:
    """The model with trained weights where *source* has them, random ones by ``setup.seed`` otherwise.

    Raises PlannerError where the library has no class of its type, or cannot read its files.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    found = source or find_source(setup)
    _check_type(found)
    options = {
        "dtype": TORCH_DTYPES[setup.dtype],
        "attn_implementation": None if setup.attention == "auto" else setup.attention,
    }
    tokenizer = None
    try:
        if found.is_trained:
            model = AutoModelForCausalLM.from_pretrained(found.folder, **options)
            tokenizer = AutoTokenizer.from_pretrained(found.folder)
        else:
            torch.manual_seed(setup.seed)
            model = AutoModelForCausalLM.from_config(library_config(found), **options)
    except Exception as error:  # every library below has errors of its own for a file that it cannot read
        if is_out_of_memory(error):
            raise
        said = next(iter(str(error).strip().splitlines()), "")
        words = shorten(f"{type(error).__name__}: {said}", MAX_WORDS)
        raise PlannerError(f"transformers cannot load {found.title}: {words}") from error
    return Loaded(source=found, model=model.to(device or torch.device(setup.device)).eval(), tokenizer=tokenizer)


def _check_type(source: Source) -> None:
    from transformers import CONFIG_MAPPING, __version__

    if (model_type := source.config.get("model_type")) not in CONFIG_MAPPING:
        raise PlannerError(
            f"transformers {__version__} has no model of type {shorten(str(model_type))!r}, which {source.title} is: "
            "what is measured has to run, so name another model, or install a version that has it."
        )


def library_config(source: Source) -> Any:
    """transformers' own config object; quantisation left out, since weights are loaded in one float format."""
    from transformers import AutoConfig

    return AutoConfig.for_model(**{key: value for key, value in source.config.items() if key != "quantization_config"})


def _from_folder(folder: Path, title: str) -> Source:
    try:
        text = (folder / "config.json").read_bytes()
    except OSError as error:
        raise PlannerError(f"{shorten(str(folder))} has no config.json that can be read: {error.strerror}.") from error
    return Source(
        title=title,
        config=parse_json(text, "config.json"),
        architecture=read_config_text(text, title),
        folder=str(folder),
        is_trained=any(next(folder.glob(pattern), None) for pattern in _WEIGHTS),
    )


def _from_hub(name: str, online: bool, wanted: Sequence[str]) -> Source:
    """The *wanted* of a repository, from this machine's cache or, only if *online*, from Hugging Face."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        folder = snapshot_download(name, allow_patterns=list(wanted), local_files_only=not online)
    except (LocalEntryNotFoundError, HfHubHTTPError, ValueError) as error:
        advice = "check the name and the connection" if online else "add --online to fetch it"
        raise PlannerError(
            f"The weights of {shorten(name)!r} are not on this machine: {advice}, or name a preset for random ones."
        ) from error
    return _from_folder(Path(folder), name)
