import argparse
from dataclasses import asdict, replace

from planner.answers.answer import answer, beyond_model
from planner.answers.verdict import as_if
from planner.commands import DOES_NOT_FIT, DONE
from planner.commands.given import Unused
from planner.commands.options import (
    add_json,
    add_storage,
    choices_from,
    whole,
)
from planner.commands.pace import add_pace, check_host_memory, speed_engine, unused_in_speed
from planner.errors import PlannerError
from planner.export import to_json
from planner.inputs.choices import choose
from planner.paced import paced
from planner.speed.alone import AloneAnswer, speed_alone
from planner.speed.answer import SpeedAnswer, speed
from planner.speed.busy import Busy, busy


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", required=True, help="preset name or alias, file, or folder")
    parser.add_argument("--device", help="a name from 'kvbudget devices'")
    parser.add_argument(
        "--memory", help="a card's memory instead, with --bandwidth or a --profile that says how fast it is"
    )
    parser.add_argument("--weights", help="a name from 'kvbudget formats'; default: as the checkpoint stores them")
    add_storage(parser)
    parser.add_argument("--users", type=whole, default=1, help="requests that decode together; default 1")
    parser.add_argument("--prompt", type=whole, help="prompt tokens; default: the context")
    parser.add_argument(
        "--output", type=whole, help="answer tokens: what a server gives whose steps compute new prompts as well"
    )
    parser.add_argument("--tensor-parallel", type=whole)
    parser.add_argument("--pipeline-parallel", type=whole)
    parser.add_argument("--max-num-batched-tokens", type=whole, help="prompts come in chunks: tokens of one step")
    add_pace(parser)
    add_json(parser)


def unused(arguments: argparse.Namespace) -> Unused:
    """What has no effect beside what was given."""
    yield from unused_in_speed(arguments)
    if arguments.output is not None:
        yield ("context",), "where --prompt and --output say how long a request is"


def run(arguments: argparse.Namespace) -> int:
    chosen = choose(choices_from(arguments, context=_context(arguments)))
    context_tokens = chosen.workload.context_tokens
    if arguments.prompt is not None and arguments.prompt > context_tokens:
        raise PlannerError(
            f"A prompt of {arguments.prompt:,} tokens is longer than the {context_tokens:,} tokens of a request: raise "
            "--context, which is prompt and answer together."
        )
    found = paced(chosen, speed_engine(arguments), arguments.measured, alone=True)
    memory = answer(chosen.architecture, chosen.deployment, chosen.workload)
    check_host_memory(arguments, memory)
    as_if_it_fitted = () if memory.fits else (as_if(memory),)
    warnings = (*as_if_it_fitted, *beyond_model(chosen.architecture, context_tokens))
    if found.model.arithmetic is None and chosen.workload.users == 1:
        alone = speed_alone(found.model, found.constants, context_tokens=context_tokens, max_users=memory.max_users)
        return _print(replace(alone, warnings=(*warnings, *alone.warnings)), arguments.json, memory.fits)
    result = speed(
        found.model,
        found.constants,
        context_tokens=context_tokens,
        users=chosen.workload.users,
        limit=found.at_once.limit,
        prompt_tokens=context_tokens if arguments.prompt is None else arguments.prompt,
        max_users=memory.max_users,
        max_num_batched_tokens=arguments.max_num_batched_tokens,
    )
    served = None
    if arguments.output is not None:
        served = busy(found.model, found.constants, result.users, result.prompt_tokens, arguments.output)
    return _print(replace(result, warnings=(*warnings, *result.warnings)), arguments.json, memory.fits, served)


def _context(arguments: argparse.Namespace) -> int | None:
    """Prompt and answer together where both are given."""
    if arguments.output is None:
        given: int | None = arguments.context
        return given
    if arguments.prompt is None:
        raise PlannerError("--output needs --prompt: a busy server computes so many prompt tokens for each answer's.")
    together: int = arguments.prompt + arguments.output
    return together


def _print(result: SpeedAnswer | AloneAnswer, as_json: bool, fits: bool, served: Busy | None = None) -> int:
    if as_json:
        print(to_json(asdict(result) | {"busy": served}))
    elif isinstance(result, SpeedAnswer):
        from planner.text.performance import speed_text

        print(speed_text(result, fits, served))
    else:
        from planner.text.performance import alone_text

        print(alone_text(result, fits))
    return DONE if fits else DOES_NOT_FIT
