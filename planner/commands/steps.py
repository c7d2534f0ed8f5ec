"""How long the steps of ``simulate`` take: stated, or planned for a model on a device; and the blocks that it has."""

import argparse

from planner.answers.answer import beyond_model
from planner.batching.server import Schedule
from planner.batching.step_time import StepTime, affine_step_time
from planner.batching.trace import Trace, longest_tokens
from planner.catalogue.performance_presets import find_request_set
from planner.commands.options import choices_from
from planner.commands.pace import speed_engine
from planner.commands.shape import server_wish
from planner.errors import PlannerError
from planner.records import dataclass
from planner.serving.served import USUAL_SLOTS, mean_tokens, served
from planner.serving.shape import BLOCK_TOKENS, ServerShape, check_whole_prompts


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """How long steps take, *error* to both sides, and the cache blocks that there are."""

    times: StepTime
    shape: ServerShape
    pool_blocks: int | None
    error: float = 0.0
    warnings: tuple[str, ...] = ()


def stated_steps(arguments: argparse.Namespace) -> Steps:
    """Step times as they are given; a workload is shown with the slots that it names."""
    workload = None if arguments.workload is None else find_request_set(arguments.workload)
    usual_slots = USUAL_SLOTS if workload is None else workload.slots
    shape = ServerShape(
        slots=usual_slots if arguments.slots is None else arguments.slots,
        step_tokens=arguments.max_num_batched_tokens,
        block_tokens=BLOCK_TOKENS if arguments.block_tokens is None else arguments.block_tokens,
    )
    times = affine_step_time(
        slots=shape.slots,
        fixed_s=arguments.step_ms / 1e3,
        per_sequence_s=arguments.sequence_ms / 1e3,
        per_context_token_s=arguments.context_token_us / 1e6,
        per_prompt_token_s=arguments.prompt_token_us / 1e6,
    )
    return Steps(times=times, shape=shape, pool_blocks=arguments.pool_blocks)


def planned_steps(arguments: argparse.Namespace, trace: Trace) -> Steps:
    """Step times by the speed model and the blocks that memory leaves, unless they are stated."""
    choices = choices_from(arguments, context=mean_tokens(trace))
    engine = speed_engine(arguments)
    wish = server_wish(arguments, whole_prompts=arguments.schedule in (Schedule.STATIC, Schedule.CONTINUOUS))
    found = served(choices, wish, engine, measured=arguments.measured)
    if wish.whole_prompts:
        check_whole_prompts(found.model.deployment, arguments.schedule)
    architecture = found.model.architecture
    if found.pool_blocks == 0:
        raise PlannerError(
            f"{architecture.title} leaves no room for caches on {found.model.deployment.device.title}; "
            "see 'kvbudget plan' for what would fit."
        )
    asked, held = arguments.pool_blocks, found.pool_blocks
    if asked is not None and held is not None and asked > held:
        raise PlannerError(
            f"--pool-blocks {asked:,} are more than {found.model.deployment.device.title} holds: beside weights and "
            f"runtime there is room for {held:,} blocks of {found.shape.block_tokens:,} tokens; give at most so many, "
            "or leave it out."
        )
    return Steps(
        times=found.step_time,
        shape=found.shape,
        pool_blocks=held if asked is None else asked,
        error=found.constants.widest_error,
        warnings=(*found.notes, *beyond_model(architecture, longest_tokens(trace))),
    )
