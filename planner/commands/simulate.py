import argparse
import sys
from collections.abc import Callable, Iterator

from planner.batching.server import Schedule, Server, Tier
from planner.batching.simulate import simulate
from planner.batching.step_time import StepTime, affine_step_time
from planner.batching.trace import Trace
from planner.choices import Choices
from planner.commands import DONE
from planner.commands.options import add_json, number, whole
from planner.commands.requests import add_requests, requests_from
from planner.errors import PlannerError
from planner.export import to_json
from planner.served import mean_tokens, served

_PROGRESS_STEP = 50_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_requests(parser)
    parser.add_argument("--rate", type=number, help="Poisson arrivals a second; default: all present at the start")
    parser.add_argument("--closed-loop", type=whole, metavar="USERS", help="users who ask again when answered")

    server = parser.add_argument_group("server")
    server.add_argument("--schedule", choices=[*Schedule], default=Schedule.CONTINUOUS)
    server.add_argument("--slots", type=whole, default=8, help="requests that run at once; default 8")
    server.add_argument("--block-tokens", type=whole, default=16, help="tokens of a cache block; default 16")
    server.add_argument("--pool-blocks", type=whole, help="cache blocks; default: as many as needed")
    server.add_argument("--max-num-batched-tokens", type=whole, help="tokens of a step, for 'chunked'")
    server.add_argument("--wait-to-fill", action="store_true", help="a static batch waits until every slot is taken")
    server.add_argument("--shared-prefix", type=whole, default=0, help="tokens that all prompts begin with")
    server.add_argument("--host-us", type=number, help="evicted caches go to host memory: µs a token each way")
    server.add_argument("--host-blocks", type=whole, help="blocks that host memory has room for; default: any number")
    server.add_argument("--disk-us", type=number, help="what host memory cannot take goes to disk: µs a token each way")
    server.add_argument("--disk-blocks", type=whole, help="blocks that the disk has room for; default: any number")
    server.add_argument("--reserved-tokens", type=whole, help="what a server without paging reserves a request")

    model = parser.add_argument_group("time of one step and cache blocks, from a model on a device")
    model.add_argument("--model", help="preset name or alias, file, or folder")
    model.add_argument("--device", help="a name from 'kvbudget devices'")
    model.add_argument("--weights", help="a name from 'kvbudget formats'; default: as the checkpoint stores them")
    model.add_argument("--kv-cache", help="format of keys and values; default 16-bit")
    model.add_argument("--tensor-parallel", type=whole)
    model.add_argument("--engine", default="minimum", help="whose memory rules leave room for blocks")
    model.add_argument("--speed-engine", default="vllm", help="whose constants to use; default vllm")

    step = parser.add_argument_group("time of one step, stated instead")
    step.add_argument("--step-ms", type=number, help="whatever is in it: reading the weights")
    step.add_argument("--sequence-ms", type=number, default=0.0, help="more for each request in it")
    step.add_argument("--context-token-us", type=number, default=0.0, help="more for each cached token read")
    step.add_argument("--prompt-token-us", type=number, default=0.0, help="more for each prompt token computed")
    parser.add_argument("--bars", type=whole, default=0, help="requests whose stretches of a slot to list in JSON")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    if (arguments.step_ms is None) == (arguments.model is None or arguments.device is None):
        raise PlannerError("Give the time of a step as --step-ms, or --model and --device to have it planned.")
    if arguments.bars < 0:
        raise PlannerError("--bars takes how many requests to list, 0 or more.")
    trace = requests_from(arguments, arguments.rate)
    times, pool_blocks = _planned(arguments, trace) if arguments.step_ms is None else _stated(arguments)
    outcome = simulate(
        trace,
        _server(arguments, pool_blocks),
        times,
        closed_loop_users=arguments.closed_loop,
        bar_requests=arguments.bars,
        progress=_progress(len(trace)) if sys.stderr.isatty() else None,
    )
    if arguments.json:
        print(to_json(outcome))
    else:
        from planner.performance_text import outcome_text

        print(outcome_text(outcome, trace.skipped))
    return DONE


def _server(arguments: argparse.Namespace, pool_blocks: int | None) -> Server:
    return Server(
        schedule=Schedule(arguments.schedule),
        slots=arguments.slots,
        block_tokens=arguments.block_tokens,
        pool_blocks=pool_blocks,
        max_num_batched_tokens=arguments.max_num_batched_tokens,
        wait_to_fill=arguments.wait_to_fill,
        shared_prefix_tokens=arguments.shared_prefix,
        tiers=tuple(_tiers(arguments)),
        reserved_tokens=arguments.reserved_tokens,
    )


def _tiers(arguments: argparse.Namespace) -> Iterator[Tier]:
    given = vars(arguments)
    for key, name in (("host", "host memory"), ("disk", "disk")):
        copy_us, blocks = given[f"{key}_us"], given[f"{key}_blocks"]
        if copy_us is not None:
            yield Tier(name=name, copy_s_per_token=copy_us / 1e6, blocks=blocks)
        elif blocks is not None:
            raise PlannerError(f"--{key}-blocks says how many, --{key}-us how fast: give both.")


def _stated(arguments: argparse.Namespace) -> tuple[StepTime, int | None]:
    times = affine_step_time(
        slots=arguments.slots,
        fixed_s=arguments.step_ms / 1e3,
        per_sequence_s=arguments.sequence_ms / 1e3,
        per_context_token_s=arguments.context_token_us / 1e6,
        per_prompt_token_s=arguments.prompt_token_us / 1e6,
    )
    return times, arguments.pool_blocks


def _planned(arguments: argparse.Namespace, trace: Trace) -> tuple[StepTime, int | None]:
    """Step times by the speed model and the blocks that memory leaves, unless they are stated."""
    choices = Choices(
        model=arguments.model,
        device=arguments.device,
        weights=arguments.weights,
        kv_cache=arguments.kv_cache,
        tensor_parallel=arguments.tensor_parallel,
        engine=arguments.engine,
        context=mean_tokens(trace),
    )
    found = served(choices, arguments.slots, arguments.block_tokens, arguments.speed_engine)
    if found.pool_blocks == 0:
        raise PlannerError(
            f"{found.model.architecture.title} leaves no room for caches on {found.model.deployment.device.title}; "
            "see 'kvbudget plan' for what would fit."
        )
    return found.step_time, found.pool_blocks if arguments.pool_blocks is None else arguments.pool_blocks


def _progress(total: int) -> Callable[[int], None]:
    """Shows how many requests are done, now and then, on a terminal."""
    shown = 0

    def show(done: int) -> None:
        nonlocal shown
        if done - shown >= _PROGRESS_STEP or (done == total and shown):
            shown = done
            print(f"\r{done:,} of {total:,} requests", end="\n" if done == total else "", file=sys.stderr, flush=True)

    return show
