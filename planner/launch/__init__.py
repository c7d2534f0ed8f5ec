"""The command that starts what was planned, for the engine that was chosen, and the way back."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from importlib import import_module

from planner import presets
from planner.deployment import Deployment
from planner.errors import NotItsCommand, PlannerError, UnknownName
from planner.formats import CHECKPOINT
from planner.inputs.choices import Choices, Chosen, choose
from planner.launch.base import Launch
from planner.launch.several import several_notes
from planner.launch.spelling import STANDS_FOR
from planner.settings.data import EngineSettings
from planner.units import shorten

LAUNCHERS = {
    "vllm": "planner.launch.vllm",
    "sglang": "planner.launch.sglang",
    "tensorrt_llm": "planner.launch.tensorrt_llm",
    "lmdeploy": "planner.launch.lmdeploy",
    "transformers": "planner.launch.transformers",
    "llama_cpp": "planner.launch.llama_cpp",
    "ik_llama_cpp": "planner.launch.llama_cpp",
    "ollama": "planner.launch.ollama",
}
"""By engine, the module that knows its command; ``minimum`` has none, since nothing runs it."""


def launch(choices: Choices, chosen: Chosen) -> Launch | None:
    """The command for *choices*, ``None`` for an engine that has none."""
    path = LAUNCHERS.get(choices.engine)
    if path is None:
        return None
    module = import_module(path)
    write: Callable[[Choices, Chosen], Launch] = module.launch
    said_otherwise: Collection[str] = getattr(module, "SAID_OTHERWISE", ())
    deployment, workload = chosen.deployment, chosen.workload
    each = replace(workload, users=-(-workload.users // deployment.replicas))
    settings = replace(deployment.settings, given=deployment.settings.given - deployment.settings.lacking.keys())
    one = replace(deployment, replicas=1, settings=settings)
    found = write(choices, replace(chosen, deployment=one, workload=each))
    notes = (*found.notes, *_unsaid(settings, said_otherwise), *_beside(deployment))
    return replace(found, notes=notes)


def settable(engine: str, setting: str) -> bool:
    """Whether a command of *engine* can give *setting*; most can give all of theirs."""
    return presets.engine_data(engine).can_set(setting)


def expresses(choices: Choices, chosen: Chosen, command: Launch) -> bool:
    """Whether *command* says in what *choices* store weights and cache, and all the settings that they give."""
    bare = replace(choices, weights=None, kv_cache=None, kv_cache_k=None, kv_cache_v=None, set=())
    read = choose(parse_launch(choices.engine, command.text, bare), chosen.architecture).deployment
    said, asked = read.settings, chosen.deployment.settings
    same_weights = read.weights.name == chosen.deployment.weights.name or chosen.deployment.weights.name == CHECKPOINT
    same_cache = _cache_bits(read) == _cache_bits(chosen.deployment)
    is_known = STANDS_FOR not in command.text
    return (
        is_known
        and same_weights
        and same_cache
        and all(said.values[name] == asked.values[name] for name in asked.given)
    )


def _cache_bits(deployment: Deployment) -> tuple[float, float]:
    return deployment.kv_cache_k.bits_per_element, deployment.kv_cache_v.bits_per_element


def _unsaid(settings: EngineSettings, said_otherwise: Collection[str]) -> Iterator[str]:
    """What the command does not say, because this version has no option for it."""
    for name, introduced in settings.lacking.items():
        if name not in said_otherwise:
            yield (
                f"{settings.title} {settings.version} has no option for {name}, which came with {introduced}: the plan "
                "counts it, and the command does not say it."
            )


def _beside(deployment: Deployment) -> Iterator[str]:
    """What the command alone does not do."""
    if deployment.replicas > 1:
        cards = deployment.device_count
        yield f"Start it {deployment.replicas} times, each on {cards} card{'s' * (cards > 1)} of its own."
    yield from several_notes(deployment)


def parse_launch(engine: str, text: str, like: Choices) -> Choices:
    """The choices that a command of *engine* makes.

    What no command has (card, users, profile) and what it leaves out is as in *like*. Raises PlannerError for an
    option that is not known.
    """
    if engine not in LAUNCHERS:
        raise UnknownName(
            f"Engine {engine!r} has no command that is read: say with --engine whose it is, one of: "
            f"{', '.join(LAUNCHERS)}."
        )
    read: Callable[[str, Choices], Choices] = import_module(LAUNCHERS[engine]).parse
    return read(text, like)


def engine_of(text: str, like: Choices) -> str:
    """The engine that the command *text* starts. Raises PlannerError where it is none that is known."""
    for engine in LAUNCHERS:
        try:
            parse_launch(engine, text, like)
        except NotItsCommand:
            continue
        except PlannerError:
            pass  # its command, with something in it that is not read
        return engine
    raise UnknownName(
        f"The command {shorten(text)!r} starts none of the engines that are known: it begins with vllm serve, "
        "python -m sglang.launch_server, trtllm-serve, lmdeploy serve api_server, llama-server or ollama run, or it is "
        "a Modelfile."
    )
