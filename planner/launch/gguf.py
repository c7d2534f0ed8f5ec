"""The GGUF file that llama.cpp and Ollama load: its name, where it is had, and how it is made where nobody has it."""

from planner import format_presets
from planner.catalogue.checkpoint_ids import identify
from planner.catalogue.downloads import hub_id, pulled
from planner.deployment import Deployment
from planner.formats import CHECKPOINT
from planner.inputs.choices import Choices

ENDING = ".gguf"


def is_file(model: str) -> bool:
    """Whether *model* is the path of a GGUF file."""
    return model.lower().endswith(ENDING)


def file_name(model: str, name: str, weights: str) -> str:
    """The file that was named, else the usual name of one of *name* in *weights*."""
    return model if is_file(model) else f"{name}{'' if weights == CHECKPOINT else f'-{weights.upper()}'}{ENDING}"


def download(repository: str) -> str:
    """The command that gets a file of the Hub by ``gguf_repository``'s name of it.

    >>> download("bartowski/Qwen_Qwen3-8B-GGUF:Q6_K")
    "hf download bartowski/Qwen_Qwen3-8B-GGUF --include '*Q6_K*.gguf' --local-dir ."
    """
    name, _, weights = repository.partition(":")
    return f"hf download {name} --include '*{weights}{'*' if weights else ''}{ENDING}' --local-dir ."


def named_file(file: str) -> dict[str, str]:
    """Model and weights in a name such as ``qwen3-8b-Q4_K_M.gguf``."""
    name = file.removesuffix(ENDING)
    stem, _, kind = name.rpartition("-")
    known = format_presets.find_mix(kind.lower()) is not None or kind.lower() in format_presets.formats()
    return {"model": stem, "weights": kind.lower()} if stem and known else {"model": name}


def named_repository(name: str) -> tuple[str, str]:
    """Model and weights of what ``llama-server --hf-repo`` or ``ollama pull`` is given, whoever uploaded it.

    A type that is not known here is not taken for the usual one.

    >>> named_repository("unsloth/Qwen3-8B-GGUF:Q6_K"), named_repository("unsloth/Qwen3-8B-GGUF")
    (('qwen3-8b', 'q6_k'), ('qwen3-8b', 'q4_k_m'))
    >>> named_repository("unsloth/Qwen3-8B-GGUF:Q6_ALL")
    ('unsloth/Qwen3-8B-GGUF:Q6_ALL', 'q4_k_m')
    """
    model, weights = pulled(name)
    has_tag = ":" in name.rpartition("/")[2]
    if model != name or (found := identify(name)) is None or (has_tag and found[1] is None):
        return model, weights
    return found[0], found[1] or weights


def made_from_checkpoint(choices: Choices, deployment: Deployment, file: str) -> tuple[str, tuple[str, ...]]:
    """The commands that make *file* from the publisher's checkpoint, and what to note where there are none.

    Source: llama.cpp, convert_hf_to_gguf.py and tools/quantize/README.md.
    """
    model, weights = hub_id(choices.model), deployment.weights
    if is_file(choices.model):
        return "", ()
    if "/" not in model:
        return "", (f"{file} stands for the file: a GGUF of {choices.model}.",)
    if weights.format is not None:
        return "", (f"{file} stands for the file: llama-quantize makes none in {weights.name}.",)
    folder = file.removesuffix(ENDING).removesuffix(f"-{weights.name.upper()}")
    whole = file if weights.mix is None else f"{folder}-{weights.rest.name.upper()}{ENDING}"
    lines = [f"hf download {model} --local-dir {folder}", f"python convert_hf_to_gguf.py {folder} --outfile {whole}"]
    if weights.mix is not None:
        lines.append(f"llama-quantize {whole} {file} {weights.name.upper()}")
    return "\n".join(lines), ()
