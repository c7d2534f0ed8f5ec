import argparse
from dataclasses import replace

from planner.choices import Choices, choose
from planner.commands import DONE
from planner.commands.options import add_json, number, whole
from planner.errors import PlannerError
from planner.export import to_json
from planner.performance_presets import eight_bit_formats, find_speed_constants, speculation_overhead
from planner.speculation import speculate
from planner.speed.drafting import BatchSpeculation, head_model, speculate_together
from planner.speed.work import Model, has_experts, prepare_speed

HEAD = "head"
"""In place of a draft model's name: a layer of the model itself and its head, as EAGLE and MTP draft."""
DEFAULT_ENGINE = "vllm"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--acceptance", type=number, required=True, help="chance that a drafted token is accepted, such as 0.7"
    )
    parser.add_argument("--draft-tokens", type=whole, required=True, help="tokens drafted a pass, such as 4")
    parser.add_argument("--draft-cost", type=number, help="one drafted token as a share of one pass, such as 0.1")
    together = parser.add_argument_group("many requests at once")
    together.add_argument("--batch", type=whole, help="requests that decode together")
    together.add_argument("--model", help="preset name or alias, file, or folder")
    together.add_argument("--device", help="a name from 'kvbudget devices'")
    together.add_argument("--weights", help="a name from 'kvbudget formats'; default: as the checkpoint stores them")
    together.add_argument("--tensor-parallel", type=whole)
    together.add_argument("--context", type=whole, help="tokens of a request; default 8,192 or the model's limit")
    together.add_argument("--draft-model", help="instead of --draft-cost: a model, or 'head' for EAGLE and MTP")
    together.add_argument("--speed-engine", default=DEFAULT_ENGINE, help="whose constants to use; default vllm")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    alone = ("batch", "model", "device")
    given = [name for name in alone if getattr(arguments, name) is not None]
    if given and len(given) < len(alone):
        raise PlannerError("Many requests at once need --batch, --model and --device; or give none of the three.")
    if not given:
        return _alone(arguments)
    result = _together(arguments)
    if arguments.json:
        print(to_json(result))
    else:
        from planner.performance_text import batch_speculation_text

        print(batch_speculation_text(result))
    return DONE


def _alone(arguments: argparse.Namespace) -> int:
    if arguments.draft_cost is None:
        raise PlannerError("Give --draft-cost, one drafted token as a share of one pass of the model, such as 0.1.")
    result = speculate(arguments.acceptance, arguments.draft_tokens, arguments.draft_cost)
    if arguments.json:
        print(to_json(result))
    else:
        from planner.performance_text import speculation_text

        print(speculation_text(result))
    return DONE


def _together(arguments: argparse.Namespace) -> BatchSpeculation:
    choices = Choices(
        model=arguments.model,
        device=arguments.device,
        weights=arguments.weights,
        tensor_parallel=arguments.tensor_parallel,
        context=arguments.context,
        users=arguments.batch,
    )
    chosen = choose(choices)
    model = prepare_speed(chosen.architecture, chosen.deployment, eight_bit_formats())
    return speculate_together(
        model,
        find_speed_constants(arguments.speed_engine, arguments.device, has_experts(model.architecture)),
        acceptance=arguments.acceptance,
        draft_tokens=arguments.draft_tokens,
        users=arguments.batch,
        context_tokens=chosen.workload.context_tokens,
        overhead=speculation_overhead(),
        draft_cost=arguments.draft_cost,
        draft=_draft(arguments.draft_model, model, choices),
    )


def _draft(name: str | None, model: Model, choices: Choices) -> Model | None:
    if name is None:
        return None
    if name == HEAD:
        return head_model(model, eight_bit_formats())
    chosen = choose(replace(choices, model=name))
    return prepare_speed(chosen.architecture, chosen.deployment, eight_bit_formats())
