import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from planner.answers.answer import Answer, answer
from planner.commands import DOES_NOT_FIT, DONE
from planner.commands.given import Unused, refuse_repeated
from planner.commands.options import (
    add_draft,
    add_json,
    add_storage,
    choices_from,
    unused_quantize,
    unused_storage,
    whole,
)
from planner.deployment import MINIMUM
from planner.errors import PlannerError
from planner.export import to_json
from planner.inputs.choices import Choices, Chosen, choose

if TYPE_CHECKING:
    from planner.advice import Fix  # only plans that do not fit need it


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        default="",
        help="preset name or alias, file, folder, or Hugging Face id (with --online); not needed beside --command",
    )
    parser.add_argument("--device", help="a name from 'kvbudget devices'")
    parser.add_argument("--memory", help="one card's memory instead of a device, such as 8GiB")
    parser.add_argument("--device-count", type=whole, help="default: tensor × pipeline × data parallel × replicas")
    parser.add_argument("--devices", help="unequal cards in order, such as rtx-4090,rtx-3060 or 24GiB,12GiB")
    parser.add_argument("--weights", help="a name from 'kvbudget formats'; default: as the checkpoint stores them")
    add_storage(parser)
    parser.add_argument("--users", type=whole, default=1, help="requests resident at once; default 1")
    parser.add_argument("--tensor-parallel", type=whole)
    parser.add_argument("--pipeline-parallel", type=whole)
    parser.add_argument(
        "--data-parallel",
        type=whole,
        help="ranks with users of their own: copies of the attention that share experts, or without such of the whole",
    )
    parser.add_argument("--replicas", type=whole, default=1, help="copies of the whole, each with users of its own")
    parser.add_argument("--expert-parallel", type=whole, help="devices that share the experts, whole ones on each")
    parser.add_argument(
        "--command",
        dest="launch",
        help="a start-up command, such as 'vllm serve ...': it says the engine, and comes before the options here",
    )
    add_draft(parser)
    add_json(parser)


def unused(arguments: argparse.Namespace) -> Unused:
    """What has no effect beside what was given."""
    yield from unused_storage(arguments)
    yield from unused_quantize(arguments)


def run(arguments: argparse.Namespace) -> int:
    if not (arguments.model or arguments.launch):
        raise PlannerError("Name what is planned: --model NAME, or --command with one that names it.")
    choices = choices_from(arguments)
    beside: tuple[str, ...] = ()
    taken = own = ""
    if arguments.launch:
        from planner.launch import engine_of, parse_launch
        from planner.launch.pasted import by_name, refuse_contradictions, skipped, taken_as, with_own_length

        if choices.engine == MINIMUM:
            choices = replace(choices, engine=engine_of(arguments.launch, choices))
        said = by_name(parse_launch(choices.engine, arguments.launch, choices))
        taken = taken_as(arguments.launch, said)
        refuse_repeated(said.set, "The command")
        choices = refuse_contradictions(choices, said)
        beside = skipped(choices.engine, arguments.launch)
        if not choices.model:
            raise PlannerError("The command names no model: add --model NAME.")
        choices, own = with_own_length(choices)
    chosen = choose(choices)
    _check_experts(chosen)
    result = answer(chosen.architecture, chosen.deployment, chosen.workload)
    if arguments.json:
        print(to_json(_whole(choices, chosen, result)))
    else:
        from planner.text.plan import plan_text

        print(plan_text(choices, chosen.architecture, result))
        for note in filter(None, (taken, own)):
            print(f"Note: {note}")
        if beside:
            print(f"Of the command {', '.join(beside)} {'says' if len(beside) == 1 else 'say'} nothing of memory.")
    return DONE if result.fits else DOES_NOT_FIT


def _whole(choices: Choices, chosen: Chosen, result: Answer) -> dict[str, Any]:
    """The answer with what the text says beside it: what would make it fit, and the command that starts it."""
    helping: Sequence[Fix] | None = None
    if not result.fits:
        from planner.advice import fixes

        helping = fixes(choices, chosen.architecture, result)
    start = None
    if choices.engine != MINIMUM:
        from planner.starting import start_said

        start = start_said(choices, chosen.architecture, result, helping)
    changes = [
        {"change": fix.change, "result": fix.result, "enough": fix.enough, "command": fix.choices.command()}
        for fix in helping or ()
    ]
    return {**asdict(result), "changes": changes, "start": start}


def _check_experts(chosen: Chosen) -> None:
    """Raises PlannerError for experts that are to be shared where there are none."""
    if chosen.deployment.expert_parallel == 1:
        return
    if not any(tensor.active > 0 for layer in chosen.architecture.layers for tensor in layer.tensors):
        raise PlannerError(
            f"--expert-parallel has no effect: {chosen.architecture.title} has no experts; leave it out."
        )
