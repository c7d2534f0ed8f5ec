import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace

from planner.batching.gains import ratios
from planner.batching.queueing import Waiting, waiting_by_formula
from planner.batching.run import Run
from planner.batching.server import Schedule, Server, Tier
from planner.batching.simulate import simulate, simulate_ends
from planner.batching.targets import Load, few_requests, mean_rate, most_taken
from planner.commands import DONE
from planner.commands.given import Unused
from planner.commands.options import add_json, add_storage, number, whole
from planner.commands.pace import add_pace, unused_in_speed
from planner.commands.requests import add_requests, requests_from, short_trace, unused_requests
from planner.commands.shape import add_shape
from planner.commands.steps import Steps, planned_steps, stated_steps
from planner.errors import PlannerError
from planner.export import to_json
from planner.text.batching import range_words
from planner.units import counted, counted_words

_PROGRESS_STEP = 50_000
MOST_SEEDS = 10_000
_ONE_RUN = ("trace", "seed", "schedule", "closed_loop", "bars", "max_num_batched_tokens")
_STATED = ("sequence_ms", "context_token_us", "prompt_token_us")
_PLANNED = (
    *("model", "device", "memory", "weights", "tensor_parallel", "pipeline_parallel", "speed_engine", "measured"),
    *("quantize", "kv_cache", "kv_cache_k", "kv_cache_v", "engine", "engine_version", "set", "context", "online"),
    *("host_memory", "profile", "display", "overhead", "interconnect", "bandwidth"),
)
_PAGED = ("host_us", "host_blocks", "disk_us", "disk_blocks", "reserved_tokens")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_requests(parser)
    parser.add_argument(
        "--rate", type=number, help="requests a second; default: as the trace says, others all present at the start"
    )
    parser.add_argument("--at-once", action="store_true", help="all present at the start, whatever the trace says")
    parser.add_argument("--closed-loop", type=whole, metavar="USERS", help="users who ask again when answered")

    server = parser.add_argument_group("server")
    server.add_argument(
        "--schedule",
        choices=[*Schedule],
        help="default: chunked where a step has a limit of tokens, else continuous",
    )
    add_shape(server)
    server.add_argument(
        "--pool-blocks", type=whole, help="cache blocks; default: all that the card holds, else as many as needed"
    )
    server.add_argument("--wait-to-fill", action="store_true", help="a static batch waits until every slot is taken")
    server.add_argument("--shared-prefix", type=whole, default=0, help="tokens that all prompts begin with")
    server.add_argument("--host-us", type=number, help="evicted caches go to host memory: µs a token each way")
    server.add_argument("--host-blocks", type=whole, help="blocks that host memory has room for; default: any number")
    server.add_argument("--disk-us", type=number, help="what host memory cannot take goes to disk: µs a token each way")
    server.add_argument("--disk-blocks", type=whole, help="blocks that the disk has room for; default: any number")
    server.add_argument("--reserved-tokens", type=whole, help="what a server without paging reserves a request")

    model = parser.add_argument_group("time of one step and cache blocks, from a model on a device; options of 'plan'")
    model.add_argument("--model", help="preset name or alias, file, or folder")
    model.add_argument("--device", help="a name from 'kvbudget devices'")
    model.add_argument(
        "--memory", help="a card's memory instead, with --bandwidth or a --profile that says how fast it is"
    )
    model.add_argument("--weights", help="a name from 'kvbudget formats'; default: as the checkpoint stores them")
    model.add_argument("--tensor-parallel", type=whole)
    model.add_argument("--pipeline-parallel", type=whole)
    add_storage(model)
    add_pace(model)

    step = parser.add_argument_group("time of one step, stated instead")
    step.add_argument("--step-ms", type=number, help="whatever is in it: reading the weights")
    step.add_argument("--sequence-ms", type=number, default=0.0, help="more for each request in it")
    step.add_argument("--context-token-us", type=number, default=0.0, help="more for each cached token read")
    step.add_argument("--prompt-token-us", type=number, default=0.0, help="more for each prompt token computed")
    parser.add_argument(
        "--seeds", type=whole, help="instead of one run: refilled slots beside whole batches, over seeds 0, 1, 2 …"
    )
    parser.add_argument("--bars", type=whole, default=0, help="requests whose stretches of a slot to list in JSON")
    add_json(parser)


def unused(arguments: argparse.Namespace) -> Unused:
    """What has no effect beside what was given."""
    yield from unused_requests(arguments)
    if arguments.step_ms is not None:
        yield _PLANNED, "with --step-ms, which states the time of a step"
    else:
        yield _STATED, "without --step-ms: the model and the device decide"
        yield from unused_in_speed(arguments)
        yield ("context",), "where requests come with lengths of their own"
        yield ("host_memory",), "here: of main memory --host-us and --host-blocks say what evicted caches find there"
    if arguments.closed_loop is not None:
        yield ("rate", "at_once"), "with --closed-loop, whose users ask when they have their answer"
    if arguments.at_once:
        yield ("rate",), "with --at-once"
    if arguments.trace is None and arguments.rate is None and arguments.closed_loop is None:
        yield ("wait_to_fill",), "where all requests are present at the start: give a --rate"
    if arguments.seeds is not None:
        yield _ONE_RUN, "with --seeds, which runs whole batches and refilled slots over many draws"
    if not arguments.json:
        yield ("bars",), "without --json, which lists them"
    if arguments.schedule == Schedule.CONTINUOUS:
        yield ("max_num_batched_tokens",), "with the schedule 'continuous', which computes whole prompts"
    if arguments.schedule == Schedule.STATIC or arguments.seeds is not None:
        yield ("max_num_batched_tokens",), "with the schedule 'static', which computes whole prompts"
        yield _PAGED, "with the schedule 'static': a whole batch reserves what it needs before it starts"
        if arguments.pool_blocks is None and arguments.model is None:
            yield ("block_tokens",), "with the schedule 'static' and no --pool-blocks"
    if arguments.host_us is None and arguments.disk_us is None:
        return
    if arguments.pool_blocks is None and arguments.model is None:
        yield ("host_us", "host_blocks", "disk_us", "disk_blocks"), "without --pool-blocks: nothing is ever evicted"


def run(arguments: argparse.Namespace) -> int:
    card = arguments.device is not None or arguments.memory is not None
    if (arguments.step_ms is None) == (arguments.model is None or not card):
        raise PlannerError("Give the time of a step as --step-ms, or --model and --device to have it planned.")
    if arguments.bars < 0:
        raise PlannerError("--bars takes how many requests to list, 0 or more.")
    if arguments.seeds is not None:
        return _over_seeds(arguments)
    trace = requests_from(arguments, arguments.rate)
    if arguments.at_once:
        trace = replace(trace, arrivals_s=(0.0,) * len(trace))
    steps = planned_steps(arguments, trace) if arguments.step_ms is None else stated_steps(arguments)
    server = _server(arguments, steps)
    asked = Run(
        trace=trace,
        server=server,
        step_time=steps.times,
        closed_loop_users=arguments.closed_loop,
        bar_requests=arguments.bars,
        progress=_progress(len(trace)) if sys.stderr.isatty() else None,
    )
    outcome, ends = simulate(asked), simulate_ends(asked, steps.error)
    formula = None
    if arguments.rate is not None:
        formula = waiting_by_formula(outcome, server, steps.times, arguments.rate, at_random=arguments.trace is None)
    coming = None if arguments.closed_loop is not None else arguments.rate or mean_rate(trace)
    load = None if coming is None else Load(coming_per_s=coming, most_per_s=most_taken(trace, server, steps.times))
    warnings = (*steps.warnings, *short_trace(arguments, trace), *few_requests(len(trace)))
    if arguments.json:
        fast, slow = ends or (None, None)
        holds = isinstance(formula, Waiting)
        shown = asdict(outcome) | {"waiting_by_formula": formula if holds else None, "step_error": steps.error}
        shown |= {"no_formula": None if holds else formula, "slots": server.slots, "load": load}
        print(to_json(shown | {"fast": fast, "slow": slow, "warnings": warnings}))
    else:
        from planner.text.outcome import outcome_text

        print(outcome_text(outcome, server.slots, load, formula, ends, steps.error, trace.skipped, warnings))
    return DONE


def _over_seeds(arguments: argparse.Namespace) -> int:
    """What refilling slots at once gains over whole batches, as a range over draws of the same requests."""
    if not 1 <= arguments.seeds <= MOST_SEEDS:
        raise PlannerError(f"seeds = {arguments.seeds:,} is not possible: give 1 to {MOST_SEEDS:,}.")
    traces = []
    for seed in range(arguments.seeds):
        arguments.seed = seed
        traces.append(requests_from(arguments, arguments.rate))
    arguments.schedule = Schedule.STATIC
    steps = planned_steps(arguments, traces[0]) if arguments.step_ms is None else stated_steps(arguments)
    throughput, latency = ratios(traces, _server(arguments, steps), steps.times)
    if arguments.json:
        print(to_json({"seeds": arguments.seeds, "throughput": throughput, "latency": latency}))
    else:
        print(
            f"Refilled at once beside whole batches, {_arriving(arguments)}: {range_words(throughput)} times the "
            f"throughput, mean latency {range_words(latency)} times lower.\n"
            f"Means over {counted(arguments.seeds, 'seed')}; in brackets the least and the most of a single one."
        )
    return DONE


def _arriving(arguments: argparse.Namespace) -> str:
    """The assumption on which the ratios depend most: how requests come, and whether a batch waits for them."""
    if arguments.rate is None or arguments.at_once:
        return "with all requests present at the start"
    batch = "waits until it is full" if arguments.wait_to_fill else "takes what is there"
    return f"with {counted_words(f'{arguments.rate:g}', 'request')}/s coming, where a whole batch {batch}"


def _server(arguments: argparse.Namespace, steps: Steps) -> Server:
    plain = steps.shape.server(steps.pool_blocks)
    return replace(
        plain,
        schedule=plain.schedule if arguments.schedule is None else Schedule(arguments.schedule),
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


def _progress(total: int) -> Callable[[int], None]:
    """Shows how many requests are done, now and then, on a terminal."""
    shown = 0

    def show(done: int) -> None:
        nonlocal shown
        if done - shown >= _PROGRESS_STEP or (done == total and shown):
            shown = done
            print(f"\r{done:,} of {total:,} requests", end="\n" if done == total else "", file=sys.stderr, flush=True)

    return show
