"""Options that say how many requests, tokens a step and tokens a block a server has."""

import argparse

from planner.commands.options import whole
from planner.serving.served import USUAL_SLOTS
from planner.serving.shape import BLOCK_TOKENS, ShapeWish


def add_shape(group: argparse._ActionsContainer) -> None:
    """What the engine's own settings decide where it is not asked for."""
    group.add_argument(
        "--slots",
        type=whole,
        help=f"requests that run at once; default: as the engine has it, such as max_num_seqs, else {USUAL_SLOTS}",
    )
    group.add_argument(
        "--block-tokens",
        type=whole,
        help=f"tokens of a cache block; default: as the engine has it, else {BLOCK_TOKENS}",
    )
    group.add_argument(
        "--max-num-batched-tokens",
        type=whole,
        help="prompts come in chunks: tokens of one step; default: as the engine has it, else whole prompts",
    )


def server_wish(arguments: argparse.Namespace, whole_prompts: bool = False) -> ShapeWish:
    """What of it was asked for."""
    return ShapeWish(
        slots=arguments.slots,
        step_tokens=arguments.max_num_batched_tokens,
        block_tokens=arguments.block_tokens,
        whole_prompts=whole_prompts,
    )
