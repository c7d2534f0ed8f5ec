"""``lmdeploy serve api_server`` from a plan, and back. Source of the options: lmdeploy/cli/utils.py."""

from collections.abc import Iterator
from dataclasses import replace

from planner.choices import Choices, Chosen
from planner.errors import PlannerError
from planner.launch.base import Launch, hub_id, option_of, options_of, shell, whole_number, words_of

COMMAND = ["lmdeploy", "serve", "api_server"]
DTYPES = {"fp16": "float16", "bf16": "bfloat16"}
VALUES = ("cache_max_entry_count", "cache_block_seq_len", "quant_policy", "max_batch_size")


def launch(choices: Choices, chosen: Chosen) -> Launch:
    """The command with every option that the plan sets, on TurboMind, whose rules the plan follows."""
    words = [*COMMAND, hub_id(choices.model), "--backend", "turbomind", *_options(choices, chosen)]
    weights = chosen.deployment.weights
    note = f"Name a checkpoint of {choices.model} in {weights.name}: LMDeploy does not make one while it loads."
    return Launch(text=shell(words), language="sh", notes=() if weights.format is None else (note,))


def _options(choices: Choices, chosen: Chosen) -> Iterator[str]:
    deployment, settings = chosen.deployment, chosen.deployment.settings
    yield from ("--session-len", str(chosen.workload.context_tokens))
    if deployment.tensor_parallel > 1:
        yield from ("--tp", str(deployment.tensor_parallel))
    if choices.kv_cache or choices.kv_cache_k:
        yield from ("--dtype", DTYPES[deployment.kv_cache_k.name])
    for name in VALUES:
        if name in settings.given:
            yield from (option_of(name), str(settings.values[name]))


def parse(text: str, like: Choices) -> Choices:
    """*like* with what the command says; card, users and all else that no such command has stay as they are."""
    words = words_of(text)
    if words[:3] != COMMAND:
        raise PlannerError("This is not a command that begins with lmdeploy serve api_server.")
    flags = {"--session-len": "context", "--tp": "tensor_parallel", "--dtype": "dtype"}
    flags |= {option_of(name): f"set.{name}" for name in VALUES}
    flags |= dict.fromkeys(("--backend", "--server-name", "--server-port", "--model-name", "--model-format"), "ignored")
    switches = {"--enable-prefix-caching": "ignored=1", "--trust-remote-code": "ignored=1"}
    found = replace(like, engine="lmdeploy", set=())
    for name, value in options_of(words[3:], flags, switches):
        match name:
            case "":
                found = replace(found, model=value)
            case "ignored":
                pass
            case "dtype":
                ours = {theirs: ours for ours, theirs in DTYPES.items()}
                found = replace(found, kv_cache=ours.get(value, found.kv_cache))
            case _ if name.startswith("set."):
                found = replace(found, set=(*found.set, f"{name.removeprefix('set.')}={value}"))
            case _:
                found = replace(found, **{name: whole_number(value, name)})  # type: ignore[arg-type]
    return found
