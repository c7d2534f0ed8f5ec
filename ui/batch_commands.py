"""What the page Batching shows, as commands for a terminal."""

import shlex
from dataclasses import replace

from planner.batching.server import Schedule
from planner.deployment import Deployment
from planner.engines import find_engine
from planner.inputs.choices import Choices
from planner.serving.question import ServingQuestion
from ui.batch_setting import Setting
from ui.one_server import ServerPlan
from ui.pace import command, pace_words
from ui.requests import AT_ONCE, FILE, TEXTBOOK_SET

WHOLE_PROMPTS: list[object] = ["--schedule", "continuous"]
"""Where the engine would read them in chunks."""


def simulate_command(plan: ServerPlan, found: Setting) -> str:
    """The run of the page's own schedule."""
    assert plan.chosen is not None
    server = found.server
    words: list[object] = ["--slots", server.slots, "--block-tokens", server.block_tokens]
    if server.shared_prefix_tokens:
        words += ["--shared-prefix", server.shared_prefix_tokens]
    if server.reserved_tokens is not None:
        words += ["--reserved-tokens", server.reserved_tokens]
    for tier in server.tiers:
        option = "--disk" if tier.name == "disk" else "--host"
        words += [f"{option}-us", f"{1e6 * tier.copy_s_per_token:.6g}"]
        words += [] if tier.blocks is None else [f"{option}-blocks", tier.blocks]
    if found.closed_loop_users is not None:
        words += ["--closed-loop", found.closed_loop_users]
    if found.rate is not None:
        words += ["--rate", f"{found.rate:.10g}"]
    if found.pace is None:
        words += ["--workload", TEXTBOOK_SET, "--step-ms", 1000, "--seed", found.wish.seed]
        return shlex.join(["kvbudget", "simulate", *map(str, words)])
    words += [*pace_words(found.pace), *_requests(found), *_schedule(plan.chosen.deployment, found)]
    if found.wish.kind == FILE and found.wish.arrival == AT_ONCE:
        words += ["--at-once"]
    return command(_of_requests(plan.choices), "simulate", *map(str, words))


def capacity_command(plan: ServerPlan, found: Setting, question: ServingQuestion) -> str:
    """The search over ways to use the cards of *question*; empty for whole prompts that the engine would cut."""
    assert plan.chosen is not None
    assert found.pace is not None
    if _schedule(plan.chosen.deployment, found) == WHOLE_PROMPTS:
        return ""
    choices, shape, target = plan.choices, found.shape, question.target
    words: list[object] = ["--slots", found.slots, "--block-tokens", found.server.block_tokens]
    words += [] if shape.step_tokens is None else ["--max-num-batched-tokens", shape.step_tokens]
    words += [] if target.first_token_s is None else ["--max-ttft", f"{target.first_token_s:g}"]
    words += [] if target.token_s is None else ["--max-time-per-token", f"{target.token_s:.10g}"]
    words += ["--think", f"{question.think_s:g}"] if question.think_s else []
    if question.device_count > 1:
        words += ["--device-count", question.device_count]
        words += ["--node-devices", question.node_devices] if (question.node_devices or 1) > 1 else []
        words += [] if question.link_bytes_per_s is None else ["--link", f"{question.link_bytes_per_s:.0f}"]
    words += [*pace_words(found.pace), *_requests(found)]
    card = replace(choices.without_cards(), device=choices.device, memory=choices.memory)
    joined = replace(card, interconnect=choices.interconnect, bandwidth=choices.bandwidth)
    return command(_of_requests(joined), "capacity", *map(str, words))


def _of_requests(choices: Choices) -> Choices:
    """Without what the requests say themselves."""
    return replace(choices, context=None, users=1)


def _requests(found: Setting) -> list[object]:
    wish = found.wish
    if wish.kind == FILE:
        return ["--requests", wish.requests, "--trace", wish.file_name]
    return [
        *("--requests", wish.requests, "--prompt", wish.median_prompt, "--output", wish.median_output),
        *("--sigma", f"{wish.sigma:g}", *(["--longest", wish.longest] if wish.sigma else []), "--seed", wish.seed),
    ]


def _schedule(deployment: Deployment, found: Setting) -> list[object]:
    """The schedule of the page's figures, where the engine has another one by itself."""
    limit = find_engine(deployment.engine).limits(deployment).step_tokens
    if found.shape.step_tokens is not None:
        return ["--max-num-batched-tokens", found.shape.step_tokens]
    has_limit = limit is not None and limit.value is not None
    return WHOLE_PROMPTS if has_limit and found.own is Schedule.CONTINUOUS else []
