import argparse
from dataclasses import replace

from planner.answer import answer
from planner.choices import choose
from planner.commands import DOES_NOT_FIT, DONE
from planner.commands.options import add_json, add_storage, choices_from, number, whole
from planner.errors import PlannerError
from planner.export import to_json
from planner.paced import Paced, paced
from planner.speed.answer import speed
from planner.speed.constants import SpeedConstants
from planner.speed.fit import Measured, calibrate
from planner.speed.work import decode_work
from planner.verdict import as_if

DEFAULT_ENGINE = "vllm"
"""Whose constants are used for the engine ``minimum``, which has no speed of its own."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", required=True, help="preset name or alias, file, or folder")
    parser.add_argument("--device", help="a name from 'kvbudget devices'")
    parser.add_argument("--memory", help="a card's memory instead, with a --profile that says how fast it is")
    parser.add_argument("--weights", help="a name from 'kvbudget formats'; default: as the checkpoint stores them")
    add_storage(parser)
    parser.add_argument("--users", type=whole, default=1, help="requests that decode together; default 1")
    parser.add_argument("--prompt", type=whole, help="prompt tokens; default: the context")
    parser.add_argument("--tensor-parallel", type=whole)
    parser.add_argument("--pipeline-parallel", type=whole)
    parser.add_argument("--speed-engine", help="whose constants to use; default: --engine, vllm for minimum")
    parser.add_argument("--max-num-batched-tokens", type=whole, help="prompts come in chunks: tokens of one step")
    parser.add_argument(
        "--measured",
        type=number,
        action="append",
        default=[],
        metavar="TOKENS_PER_S",
        help="tokens a second that this model gives one user here, at --context: narrows the range",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    chosen = choose(choices_from(arguments))
    found = paced(chosen, _engine(arguments))
    context_tokens = chosen.workload.context_tokens
    memory = answer(chosen.architecture, chosen.deployment, chosen.workload)
    result = speed(
        found.model,
        _constants(arguments, found, context_tokens),
        context_tokens=context_tokens,
        users=chosen.workload.users,
        prompt_tokens=context_tokens if arguments.prompt is None else arguments.prompt,
        max_users=memory.max_users,
        max_num_batched_tokens=arguments.max_num_batched_tokens,
    )
    if not memory.fits:
        result = replace(result, warnings=(as_if(memory), *result.warnings))
    if arguments.json:
        print(to_json(result))
    else:
        from planner.performance_text import speed_text

        print(speed_text(result))
    return DONE if memory.fits else DOES_NOT_FIT


def _engine(arguments: argparse.Namespace) -> str:
    own: str = DEFAULT_ENGINE if arguments.engine == "minimum" else arguments.engine
    return arguments.speed_engine or own


def _constants(arguments: argparse.Namespace, found: Paced, context_tokens: int) -> SpeedConstants:
    if not arguments.measured:
        return found.constants
    if found.is_measured:
        raise PlannerError("The profile says how fast this machine is: leave --measured out.")
    if min(arguments.measured) <= 0:
        raise PlannerError("--measured takes tokens a second, a number above 0.")
    work = decode_work(found.model, 1, context_tokens)
    return calibrate(found.constants, [Measured(work=work, seconds=1 / rate) for rate in arguments.measured])
