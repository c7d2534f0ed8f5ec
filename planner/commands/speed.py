import argparse
from dataclasses import replace

from planner.answer import answer
from planner.choices import Chosen, choose
from planner.commands import DONE
from planner.commands.options import add_json, add_storage, choices_from, number, whole
from planner.errors import PlannerError
from planner.export import to_json
from planner.performance_presets import eight_bit_formats, find_speed_constants
from planner.speed.answer import speed
from planner.speed.constants import SpeedConstants
from planner.speed.fit import Measured, calibrate
from planner.speed.measured import measured_constants, measured_device
from planner.speed.work import Model, decode_work, has_experts, prepare_speed

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
    chosen, measured = _measured(choose(choices_from(arguments)))
    model = prepare_speed(chosen.architecture, chosen.deployment, eight_bit_formats())
    context_tokens = chosen.workload.context_tokens
    memory = answer(chosen.architecture, chosen.deployment, chosen.workload)
    result = speed(
        model,
        measured or _constants(arguments, model, context_tokens),
        context_tokens=context_tokens,
        users=chosen.workload.users,
        prompt_tokens=context_tokens if arguments.prompt is None else arguments.prompt,
        max_users=memory.max_users,
        max_num_batched_tokens=arguments.max_num_batched_tokens,
    )
    if arguments.json:
        print(to_json(result))
    else:
        from planner.performance_text import speed_text

        print(speed_text(result))
    return DONE


def _measured(chosen: Chosen) -> tuple[Chosen, SpeedConstants | None]:
    """With a profile that has a speed: the device as fast as it was measured, and its constants."""
    deployment, profile = chosen.deployment, chosen.deployment.profile
    if profile is None or profile.speed is None:
        return chosen, None
    profile.check(deployment.subject(chosen.architecture.name))
    device = measured_device(deployment.device, profile.speed)
    source = f"measured on {profile.subject.device}, {len(profile.passes)} passes"
    constants = measured_constants(deployment.engine, device, profile.speed, source)
    return replace(chosen, deployment=replace(deployment, device=device)), constants


def _constants(arguments: argparse.Namespace, model: Model, context_tokens: int) -> SpeedConstants:
    engine = arguments.speed_engine or (DEFAULT_ENGINE if arguments.engine == "minimum" else arguments.engine)
    constants = find_speed_constants(engine, model.deployment.device.name, has_experts(model.architecture))
    if not arguments.measured:
        return constants
    if min(arguments.measured) <= 0:
        raise PlannerError("--measured takes tokens a second, a number above 0.")
    work = decode_work(model, 1, context_tokens)
    return calibrate(constants, [Measured(work=work, seconds=1 / rate) for rate in arguments.measured])
