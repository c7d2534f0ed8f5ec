import argparse
from dataclasses import asdict

from planner.answers.answer import Answer, answer, draft_warnings
from planner.answers.verdict import as_if
from planner.at_once import at_once
from planner.catalogue.performance_presets import speculation_overhead
from planner.commands import DOES_NOT_FIT, DONE
from planner.commands.given import Unused
from planner.commands.options import add_json, add_storage, choices_from, number, whole
from planner.commands.pace import add_pace, check_host_memory, speed_engine, unused_in_speed
from planner.draft import METHODS
from planner.draft_trade import DraftPoint, DraftWish, draft_model, draft_points, fastest
from planner.errors import PlannerError
from planner.export import to_json
from planner.inputs.choices import Choices, choose, choose_draft
from planner.paced import paced
from planner.speculation import acceptance_for, speculate
from planner.speed.cautions import stated
from planner.speed.drafting import BatchSpeculation, head_model, speculate_together

HEAD = "head"
"""In place of a draft model's name: the model's own prediction layers, else a head like its last layer."""
_SERVER = ("batch", "model", "device")
_NEEDED = ("model", "device")
_NEEDED_WORDS = "--model and --device"
_TOGETHER = (
    *(
        "weights",
        "tensor_parallel",
        "pipeline_parallel",
        "draft_model",
        "draft_weights",
        "verified_tokens",
        "speed_engine",
        "measured",
        "quantize",
    ),
    *("kv_cache", "kv_cache_k", "kv_cache_v", "engine", "engine_version", "set", "context", "online"),
    *("host_memory", "profile", "display", "overhead", "interconnect", "bandwidth"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--acceptance", type=number, help="chance that a drafted token is accepted, such as 0.7")
    parser.add_argument(
        "--tokens-per-pass", type=number, help="measured instead of it: tokens that a pass yields, such as 2.4"
    )
    parser.add_argument("--draft-tokens", type=whole, help="tokens drafted a pass, such as 4")
    parser.add_argument("--draft-cost", type=number, help="one drafted token as a share of one pass, such as 0.1")
    together = parser.add_argument_group("many requests at once")
    together.add_argument("--batch", type=whole, help="requests that decode together; default 1")
    together.add_argument("--model", help="preset name or alias, file, or folder")
    together.add_argument("--device", help="a name from 'kvbudget devices'")
    together.add_argument("--weights", help="a name from 'kvbudget formats'; default: as the checkpoint stores them")
    together.add_argument("--tensor-parallel", type=whole)
    together.add_argument("--pipeline-parallel", type=whole)
    together.add_argument("--draft-model", help="instead of --draft-cost: a model, mtp, eagle, ngram, or head")
    together.add_argument(
        "--verified-tokens",
        type=whole,
        help="tokens that a pass checks for each request, its own included, where drafts are a tree of --draft-tokens "
        "levels, such as 64; default: --draft-tokens and one",
    )
    together.add_argument("--draft-weights", help="format of the draft model; default: as its checkpoint stores them")
    together.add_argument(
        "--draft",
        type=_wish,
        action="append",
        default=[],
        metavar="DRAFT=ACCEPTANCE",
        help="instead of all these: the context that a draft costs and the speed that it gains; repeat it for more",
    )
    add_storage(parser)
    add_pace(parser)
    add_json(parser)


def unused(arguments: argparse.Namespace) -> Unused:
    """What has no effect beside what was given."""
    if not arguments.draft and all(getattr(arguments, name) is None for name in _SERVER):
        yield _TOGETHER, f"for one request alone; with {_NEEDED_WORDS} it is planned for many at once"
        return
    yield from unused_in_speed(arguments)
    if arguments.draft:
        alone = ("acceptance", "tokens_per_pass", "draft_cost", "draft_model", "draft_weights", "verified_tokens")
        yield alone, "with --draft, which names each draft with its acceptance"
    elif arguments.draft_cost is not None:
        yield ("draft_model", "draft_weights"), "with --draft-cost, which says what drafting takes"
    elif arguments.draft_model is not None and arguments.draft_model.strip().lower() in (HEAD, *METHODS):
        yield ("draft_weights",), f"with --draft-model {arguments.draft_model}, which is no model of its own"


def run(arguments: argparse.Namespace) -> int:
    given = [name for name in _SERVER if getattr(arguments, name) is not None]
    is_whole = all(name in given for name in _NEEDED)
    if arguments.draft and not is_whole:
        raise PlannerError(f"--draft is weighed on a server: give {_NEEDED_WORDS}.")
    if given and not is_whole:
        raise PlannerError(f"A server's requests need {_NEEDED_WORDS}; or leave {_listed(given)} out.")
    if is_whole and arguments.batch is None:
        arguments.batch = 1
    if arguments.draft_tokens is not None and arguments.draft_tokens < 1:
        raise PlannerError(f"--draft-tokens {arguments.draft_tokens:,} drafts nothing: give 1 token a pass or more.")
    if arguments.draft:
        return _trade(arguments)
    if arguments.tokens_per_pass is not None and arguments.draft_tokens is not None:
        if arguments.acceptance is not None:
            raise PlannerError("Give --acceptance or --tokens-per-pass, from which it follows; not both.")
        arguments.acceptance = acceptance_for(arguments.tokens_per_pass, arguments.draft_tokens)
    if arguments.acceptance is None or arguments.draft_tokens is None:
        raise PlannerError("Give --acceptance and --draft-tokens, such as 0.7 and 4; or drafts as --draft NAME=0.7.")
    return _together(arguments) if given else _alone(arguments)


def _listed(names: list[str]) -> str:
    return " and ".join(f"--{name}" for name in names)


def _wish(text: str) -> DraftWish:
    name, equals, acceptance = text.rpartition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no draft with its acceptance, such as eagle=0.7")
    return DraftWish(name=name.strip(), acceptance=number(acceptance))


def _choices(arguments: argparse.Namespace) -> Choices:
    return choices_from(arguments, users=arguments.batch, draft_model=None, draft_tokens=None, draft_weights=None)


def _trade(arguments: argparse.Namespace) -> int:
    wishes = [
        DraftWish(name=wish.name, acceptance=wish.acceptance, draft_tokens=arguments.draft_tokens)
        for wish in arguments.draft
    ]
    choices = _choices(arguments)
    plain = choose(choices)
    check_host_memory(arguments, answer(plain.architecture, plain.deployment, plain.workload))
    points: list[DraftPoint] = draft_points(choices, wishes, speed_engine(arguments), measured=arguments.measured)
    if arguments.json:
        print(to_json([asdict(point) for point in points]))
    else:
        from planner.text.drafting import draft_points_text

        print(draft_points_text(points, arguments.batch))
        if (together := at_once(plain.deployment, arguments.batch)).waiting:
            print(f"Note: {together.words}.")
    return DONE if fastest(points).fits else DOES_NOT_FIT


def _alone(arguments: argparse.Namespace) -> int:
    if arguments.draft_cost is None:
        raise PlannerError("Give --draft-cost, one drafted token as a share of one pass of the model, such as 0.1.")
    error = speculation_overhead().formula_p90_error
    result = speculate(arguments.acceptance, arguments.draft_tokens, arguments.draft_cost, error)
    if arguments.json:
        print(to_json(result))
    else:
        from planner.text.drafting import speculation_text

        print(speculation_text(result))
    return DONE


def _together(arguments: argparse.Namespace) -> int:
    result, memory, warnings, notes = _speculate_together(arguments)
    same_words = not warnings
    warnings = (*(() if memory.fits else (as_if(memory),)), *warnings, *notes)
    if arguments.json:
        print(to_json(asdict(result) | {"warnings": warnings}))
    else:
        from planner.text.drafting import batch_speculation_text

        print(batch_speculation_text(result, warnings, memory.fits, same_words))
    return DONE if memory.fits else DOES_NOT_FIT


def _speculate_together(
    arguments: argparse.Namespace,
) -> tuple[BatchSpeculation, Answer, tuple[str, ...], tuple[str, ...]]:
    """What the draft is worth, the plan whose memory it shares, what is wrong with that draft, and what was stated."""
    asked = _choices(arguments)
    chosen = choose(asked)
    ready = paced(chosen, speed_engine(arguments), arguments.measured)
    model = ready.model
    name, cost, drafter = arguments.draft_model, arguments.draft_cost, None
    warnings: tuple[str, ...] = ()
    if name == HEAD:
        drafter = head_model(model)
    elif name is not None:
        asked = choices_from(arguments, users=arguments.batch, draft_tokens=max(1, arguments.draft_tokens))
        draft = choose_draft(asked, chosen.architecture, chosen.deployment.weights)
        drafter = None if draft is None else draft_model(draft, model)
        warnings = draft_warnings(draft, chosen.architecture, chosen.deployment)
        if drafter is None and cost is None:
            cost = 0.0  # the text so far costs nothing to look up
    planned = choose(asked, chosen.architecture)
    memory = answer(planned.architecture, planned.deployment, planned.workload)
    check_host_memory(arguments, memory)
    found = speculate_together(
        model,
        ready.constants,
        acceptance=arguments.acceptance,
        draft_tokens=arguments.draft_tokens,
        users=ready.at_once.users,
        context_tokens=chosen.workload.context_tokens,
        overhead=speculation_overhead(),
        draft_cost=cost,
        draft=drafter,
        verified_tokens=arguments.verified_tokens,
    )
    waits = (f"{ready.at_once.words}.",) if ready.at_once.waiting else ()
    return found, memory, warnings, (*waits, *stated(model, ready.constants))
