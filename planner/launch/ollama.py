"""A Modelfile and the server's environment from a plan, and back.

Source: Ollama docs/modelfile.md and docs/faq.md; envconfig/config.go.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from planner.catalogue.downloads import OF_THE_HUB, of_the_hub, pull_name
from planner.engines.llama_cpp.options import options
from planner.errors import NotItsCommand
from planner.inputs.choices import Choices, Chosen
from planner.launch.base import MAX_COMMAND_CHARACTERS, Launch
from planner.launch.drafting import left_out
from planner.launch.gguf import file_name, is_file, made_from_checkpoint, named_file, named_repository
from planner.launch.llama_cpp_words import CACHE_TYPES, cache_type

PARAMETERS = {"n_batch": "num_batch", "n_gpu_layers": "num_gpu"}
"""Settings by the names of a Modelfile's parameters; two more are the environment's."""
_FROM = re.compile(r"^FROM (\S{1,300})$", re.MULTILINE)
_RUN = re.compile(r"\bollama (?:run|pull|show) (?:-\S{1,40} )*([^\s-]\S{0,300})")
_PARAMETER = re.compile(r"^PARAMETER (\w{1,40}) (\d{1,15})$", re.MULTILINE)
_SETS_CONTEXT = re.compile(r"^PARAMETER num_ctx ", re.MULTILINE)
_VARIABLE = re.compile(r"\b(OLLAMA_\w{1,40})=(\S{1,40})")


def launch(choices: Choices, chosen: Chosen) -> Launch:
    """The environment goes to the server, which reads it once; the Modelfile makes a model that is run by its name."""
    name = f"{chosen.architecture.name}-{chosen.workload.context_tokens}"
    modelfile, environment = "\n".join(_modelfile(choices, chosen)), " ".join(_environment(choices, chosen))
    text = (
        f"cat > Modelfile <<'END'\n{modelfile}\nEND\n{environment} ollama serve &\n"
        f"ollama create {name} -f Modelfile\nollama run {name}"
    )
    rest = sorted(chosen.deployment.settings.given & chosen.deployment.settings.fixed)
    file = file_name(choices.model, chosen.architecture.name, chosen.deployment.weights.name)
    files, notes = "", tuple[str, ...]()
    if (source := _pull_name(choices, chosen)) is None:
        files, notes = made_from_checkpoint(choices, chosen.deployment, file)
    elif of_the_hub(source):
        notes = (OF_THE_HUB,)
    if rest:
        notes = (*notes, f"Ollama has no setting for {', '.join(rest)}: the plan counts it, Ollama decides by itself.")
    return Launch(text=text, language="sh", notes=(*notes, *left_out(chosen.deployment, "Ollama")), files=files)


def _modelfile(choices: Choices, chosen: Chosen) -> Iterator[str]:
    settings = chosen.deployment.settings
    file = file_name(choices.model, chosen.architecture.name, chosen.deployment.weights.name)
    yield f"FROM {_pull_name(choices, chosen) or './' + file}"
    yield f"PARAMETER num_ctx {chosen.workload.context_tokens}"
    if chosen.deployment.on_cpu and "n_gpu_layers" not in settings.given:
        yield "PARAMETER num_gpu 0"
    for name, parameter in PARAMETERS.items():
        if name in settings.given:
            yield f"PARAMETER {parameter} {settings.values[name]}"


def _pull_name(choices: Choices, chosen: Chosen) -> str | None:
    """What Ollama pulls by itself; nothing for a file of the user's own."""
    return pull_name(choices.model, chosen.deployment.weights.name)


def _environment(choices: Choices, chosen: Chosen) -> Iterator[str]:
    deployment, slots = chosen.deployment, options(chosen.deployment)
    yield f"OLLAMA_NUM_PARALLEL={slots.slots(chosen.workload.users)}"
    # A quantised cache is kept only with flash attention: docs/faq.md.
    if "flash_attn" in deployment.settings.given or not deployment.kv_cache_k.is_unquantized:
        yield f"OLLAMA_FLASH_ATTENTION={int(slots.flash_attn)}"
    if choices.kv_cache or choices.kv_cache_k:
        yield f"OLLAMA_KV_CACHE_TYPE={cache_type(deployment.kv_cache_k.name)}"


def parse(text: str, like: Choices) -> Choices:
    """*like* with what Modelfile and environment say; card and users stay as they are."""
    model = (_FROM.search(text) or _RUN.search(text)) if len(text) <= MAX_COMMAND_CHARACTERS else None
    if model is None:
        raise NotItsCommand("This is no Modelfile, which has a line FROM with a model, and no ollama run.")
    source = model[1]
    if is_file(source):
        named = named_file(source.removeprefix("./"))
    else:
        named = dict(zip(("model", "weights"), named_repository(source), strict=True))
    found = replace(like, **named, engine="ollama", set=())  # type: ignore[arg-type]
    theirs = {parameter: name for name, parameter in PARAMETERS.items()}
    for name, value in _PARAMETER.findall(text):
        if name == "num_ctx":
            found = replace(found, context=int(value))
        elif name in theirs:
            found = replace(found, set=(*found.set, f"{theirs[name]}={value}"))
    for name, value in _VARIABLE.findall(text):
        if name == "OLLAMA_NUM_PARALLEL":
            found = replace(found, set=(*found.set, f"n_parallel={value}"))
        elif name == "OLLAMA_CONTEXT_LENGTH" and value.isdigit() and not _SETS_CONTEXT.search(text):
            found = replace(found, context=int(value[:15]))
        elif name == "OLLAMA_FLASH_ATTENTION":
            found = replace(found, set=(*found.set, f"flash_attn={'on' if value == '1' else 'off'}"))
        elif name == "OLLAMA_KV_CACHE_TYPE":
            ours = {theirs: ours for ours, theirs in CACHE_TYPES.items()}
            found = replace(found, kv_cache=ours.get(value, value))
    return found
