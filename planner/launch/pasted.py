"""Commands as people paste them: behind variables, a container or a path, with short options and others beside memory.

Source: vllm/engine/arg_utils.py, sglang/srt/server_args.py, common/arg.cpp; lmdeploy/cli and tensorrt_llm/commands.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

from planner.catalogue.checkpoint_ids import identify
from planner.catalogue.downloads import pulled
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.inputs.model_files import load_model
from planner.launch import several
from planner.launch.base import words_of
from planner.units import shorten

_PYTHON = re.compile(r"(?:\S*/)?python[\d.]{0,5}$")
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")
_BEFORE = {"sudo", "env", "nohup", "exec", "time", "export", ";", "&&"}
_CONTAINERS = {"docker", "podman"}
_SERVERS = ("--host", "--port", "--api-key", "--served-model-name", "--chat-template", "--log-level", "--seed")
_VLLM = (
    "--tool-call-parser",
    "--reasoning-parser",
    "--download-dir",
    "--tokenizer",
    "--tokenizer-mode",
)
_LLAMA = ("--alias", "-a", "--threads", "-t", "--threads-batch", "-tb", "--temp", "--top-p", "--top-k", "--min-p", "-n")
WITHOUT_MEMORY: Mapping[str, tuple[str, ...]] = {
    "vllm": (*_SERVERS, *_VLLM, "--uvicorn-log-level", "--distributed-executor-backend", "--revision"),
    "sglang": (*_SERVERS, "--tool-call-parser", "--reasoning-parser", "--tokenizer-path", "--load-format"),
    "tensorrt_llm": ("--host", "--port", "--log_level", "--tokenizer"),
    "lmdeploy": ("--server-name", "--server-port", "--model-name", "--log-level", "--chat-template", "--api-keys"),
    "llama_cpp": (*_SERVERS, *_LLAMA, "--chat-template-file", "--repeat-penalty", "--reasoning-format"),
}
"""By engine, options with a value that says nothing of memory."""
SWITCHES_WITHOUT_MEMORY: Mapping[str, tuple[str, ...]] = {
    "vllm": ("--trust-remote-code", "--enable-auto-tool-choice", "--disable-log-requests", "--disable-log-stats"),
    "sglang": ("--trust-remote-code", "--enable-metrics", "--log-requests"),
    "tensorrt_llm": ("--trust_remote_code",),
    "lmdeploy": ("--trust-remote-code", "--allow-terminate-by-client"),
    "llama_cpp": ("--jinja", "--metrics", "--slots", "--no-webui", "--verbose", "-v", "--cont-batching", "-cb"),
}
"""By engine, the same of options without a value."""
_IMAGES = {"vllm": re.compile(r"\S*vllm-openai\S*$"), "llama_cpp": re.compile(r"\S*llama\.cpp:(?:full|server)\S*$")}
"""Images that start the server themselves: what stands behind their name are its options."""


def arguments(engine: str, text: str, starts: Sequence[Sequence[str]]) -> list[str] | None:
    """The words of *text* behind the program, spelt in one of *starts*; ``None`` where none of these is run.

    ``python3`` stands for ``python``, and a path for the program at its end.
    """
    words = words_of(text)
    while words and (_VARIABLE.match(words[0]) or words[0] in _BEFORE):
        words = words[1:]
    if words[:1] and words[0] in _CONTAINERS:
        image = _IMAGES.get(engine)
        behind = next((at for at, word in enumerate(words) if image is not None and image.match(word)), None)
        if behind is not None:
            return words[behind + 1 :]
        words = next((words[at:] for at in range(len(words)) if _begins(words[at:], starts)), [])
    found = _begins(words, starts)
    return words[found:] if found else None


def _begins(words: Sequence[str], starts: Sequence[Sequence[str]]) -> int:
    """How many of *words* are the program."""
    if not words:
        return 0
    program = "python" if _PYTHON.match(words[0]) else words[0].rpartition("/")[2].removesuffix(".exe")
    named = [program, *words[1:4]]
    return next((len(start) for start in starts if named[: len(start)] == list(start)), 0)


def skipped(engine: str, text: str) -> tuple[str, ...]:
    """The options in *text* that say nothing of memory, in its order."""
    known = {*ignored(engine)[0], *ignored(engine)[1]} if engine in WITHOUT_MEMORY else set()
    return tuple(dict.fromkeys(name for word in words_of(text) if (name := word.partition("=")[0]) in known))


def ignored(engine: str) -> tuple[dict[str, str], dict[str, str]]:
    """These options as ``options_of`` wants them: with a value, and without."""
    return (
        dict.fromkeys((*WITHOUT_MEMORY[engine], *several.FLAGS.get(engine, ())), "ignored"),
        dict.fromkeys((*SWITCHES_WITHOUT_MEMORY[engine], *several.SWITCHES.get(engine, ())), "ignored=1"),
    )


def by_name(said: Choices) -> Choices:
    """*said* with the preset that its repository is by its name; as it is where that is known or read ``online``."""
    if "/" not in said.model or said.online or (found := identify(said.model)) is None or is_known(said.model):
        return said
    return replace(said, model=found[0], weights=found[1] or said.weights)


def taken_as(text: str, said: Choices) -> str:
    """A sentence on the repository in *text* that *said* has a preset for, by its name alone; empty without one."""
    values = (word.partition("=")[2] if word.startswith("-") else word for word in words_of(text))
    for value in values:
        found = identify(value) if "/" in value else None
        if found and found[0] == said.model and pulled(value)[0] == value and not is_known(value):
            stored = "as published" if said.weights is None else f"in {said.weights}"
            return f"{shorten(value)} is taken as {said.model} {stored}, by its name."
    return ""


def with_own_length(said: Choices) -> tuple[Choices, str]:
    """*said* with the length that its engine takes where a command names none, and a sentence on it.

    vLLM keeps room for one request of the model's whole length, or does not start; others take as much as they hold, of
    which the usual part is planned.
    """
    chosen = choose(said)
    limit, planned = chosen.architecture.max_position_embeddings, chosen.workload.context_tokens
    if said.context is not None or limit is None or limit == planned:
        return said, ""
    names = "The command names no length"
    if said.engine == "vllm":
        return replace(said, context=limit), f"{names}: vLLM takes the model's, {limit:,} tokens, and so does the plan."
    title = chosen.deployment.settings.title
    return said, (
        f"{names}: {title} takes up to the model's {limit:,} tokens as far as memory goes, and {planned:,} are "
        "planned; --context asks for others."
    )


def is_known(model: str) -> bool:
    """Whether *model* is a preset, a file, or a repository that was read before."""
    try:
        load_model(model)
    except PlannerError:
        return False
    return True


def refuse_contradictions(given: Choices, said: Choices) -> Choices:
    """*said*, what a command makes of *given*, with the settings of both.

    Raises PlannerError where both state the same thing and not alike.
    """
    for field in fields(given):
        stated, read = getattr(given, field.name), getattr(said, field.name)
        if field.name == "model" and _named(stated) == _named(read):
            continue
        if field.name not in ("set", "engine") and stated not in (field.default, "") and stated != read:
            _refuse(field.name.replace("_", "-"), stated, read)
    settings = {name.replace("-", "_"): value for name, _, value in (text.partition("=") for text in said.set)}
    for name, _, value in (text.partition("=") for text in given.set):
        if settings.get(name.replace("-", "_"), value) != value:
            _refuse(f"set {name}", value, settings[name.replace("-", "_")])
    kept = [text for text in given.set if text.partition("=")[0].replace("-", "_") not in settings]
    return replace(said, set=(*said.set, *kept))


def _named(model: str) -> str:
    """A model by its preset's name, however it is spelt."""
    found = identify(model, is_tuned=True)
    return model if found is None else found[0]


def _refuse(option: str, stated: object, read: object) -> None:
    raise PlannerError(f"--{option} says {stated} and the command {read}: leave one of the two out, or say the same.")
