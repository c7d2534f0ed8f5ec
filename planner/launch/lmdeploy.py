"""``lmdeploy serve api_server`` from a plan, and back. Source of the options: lmdeploy/cli/utils.py."""

from collections.abc import Iterator
from dataclasses import replace

from planner.errors import NotItsCommand
from planner.inputs.choices import Choices, Chosen
from planner.launch.base import Launch, option_of, options_of, shell, whole_number
from planner.launch.drafting import left_out
from planner.launch.pasted import arguments, ignored
from planner.launch.spelling import DTYPE, Spelling, checkpoint_notes, loaded, of_checkpoint, setting_options

COMMAND = ["lmdeploy", "serve", "api_server"]
SPELLING = Spelling(caches={}, dtypes={"fp16": "float16", "bf16": "bfloat16"}, weights={}, read={})
VALUES = ("cache_max_entry_count", "cache_block_seq_len", "quant_policy", "max_batch_size")


def launch(choices: Choices, chosen: Chosen) -> Launch:
    """The command with every option that the plan sets, on TurboMind, whose rules the plan follows."""
    words = [*COMMAND, loaded(choices, chosen, SPELLING.made), "--backend", "turbomind", *_options(choices, chosen)]
    notes = (
        *checkpoint_notes(choices, chosen, "LMDeploy", SPELLING.made),
        *SPELLING.notes(choices, chosen.deployment, "LMDeploy"),
        *left_out(chosen.deployment, "TurboMind"),
    )
    return Launch(text=shell(words), language="sh", notes=notes)


def _options(choices: Choices, chosen: Chosen) -> Iterator[str]:
    deployment = chosen.deployment
    yield from ("--session-len", str(chosen.workload.context_tokens))
    if deployment.tensor_parallel > 1:
        yield from ("--tp", str(deployment.tensor_parallel))
    yield from SPELLING.options(choices, chosen)
    yield from setting_options(deployment, VALUES)


def parse(text: str, like: Choices) -> Choices:
    """*like* with what the command says; card, users and all else that no such command has stay as they are."""
    words = arguments("lmdeploy", text, (COMMAND,))
    if words is None:
        raise NotItsCommand("This is not a command that begins with lmdeploy serve api_server.")
    flags = {"--session-len": "context", "--tp": "tensor_parallel", DTYPE: DTYPE}
    flags |= {option_of(name): f"set.{name}" for name in VALUES}
    flags |= dict.fromkeys(("--backend", "--model-format"), "ignored")
    beside, beside_switches = ignored("lmdeploy")
    flags, switches = flags | beside, {"--enable-prefix-caching": "ignored=1"} | beside_switches
    loads, found = "", replace(like, engine="lmdeploy", set=())
    for name, value in options_of(words, flags, switches):
        match name:
            case "":
                loads, found = value, replace(found, **of_checkpoint(value))  # type: ignore[arg-type]
            case "ignored":
                pass
            case "--dtype":
                found = replace(found, **SPELLING.said({name: value}, loads))  # type: ignore[arg-type]
            case _ if name.startswith("set."):
                found = replace(found, set=(*found.set, f"{name.removeprefix('set.')}={value}"))
            case _:
                found = replace(found, **{name: whole_number(value, name)})  # type: ignore[arg-type]
    return found
