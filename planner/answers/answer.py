"""The whole answer to one plan: what the command line prints as JSON and the pages show."""

from dataclasses import replace

from planner.architecture import Architecture
from planner.at_once import at_once
from planner.budget import MemoryBudget, RankBudget, State, budget_for, pools, prepare
from planner.capacity import max_context_tokens, max_users
from planner.deciding import Deciding, deciding
from planner.deployment import MINIMUM, Deployment, Workload
from planner.draft import Draft
from planner.engines import find_engine
from planner.engines.base import EngineReport
from planner.engines.division import cut_groups
from planner.formats import CHECKPOINT
from planner.kv_cache import bytes_per_token_at, fixed_bytes
from planner.line_item import Kind, LineItem
from planner.longest import longest_context
from planner.machines import machine_words
from planner.readers.stored import SERVED_IN_16_BIT
from planner.records import dataclass
from planner.weights import active_parameters, identity, parameters, parameters_by_role

NO_RUNTIME = (
    "Only weights and cache are counted: a real engine also needs its context, libraries and activations; state them "
    "with --overhead, for example 1.5GiB."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceShare:
    """One device's part of a plan in bytes; *runtime_bytes* with what the engine keeps out of the pool."""

    device: str
    memory_bytes: int
    weights_bytes: int
    runtime_bytes: int
    cache_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The contract of ``plan --json``. All sizes are bytes of one device, the fullest, but for those of the host.

    *devices* are the titles of all cards where these differ; *device* is the fullest one's. *shares* are the parts of
    devices that hold different layers, in their order; empty where all hold the same. *on_cpu*: there is no card, and
    the device is a machine with its main memory.
    *host_items* lie in the machine's own memory, which has *host_memory_bytes*; ``None``: not stated, no limit. Where
    card and processor share one memory, *shared_memory_bytes* bounds both together. *deciding* is the memory with the
    least to spare. With less than *margin_bytes* free the engine moves a part of the model to main memory by itself;
    0 for one that does not. *no_build* says why the engine does not run there at all: then nothing fits.

    ``None`` for *max_context_tokens*, *max_users*, *pool_tokens* or *max_concurrency*: memory sets no limit.
    *pool_tokens* and *max_concurrency* are what the engine prints, from *report* where it prints its own figures.
    """

    model: str
    device: str
    device_count: int
    devices: tuple[str, ...]
    shares: tuple[DeviceShare, ...]
    on_cpu: bool
    weights: str
    stored_as: str
    stored_doubt: str
    quantize: str
    kv_cache_k: str
    kv_cache_v: str
    engine: str
    engine_version: str
    context_tokens: int
    users: int
    parameters: int
    active_parameters: int
    parameters_by_role: dict[str, int]
    items: tuple[LineItem, ...]
    host_items: tuple[LineItem, ...]
    host_bytes: int
    host_memory_bytes: int | None
    shared_memory_bytes: int | None
    deciding: Deciding
    margin_bytes: int
    no_build: str
    weights_bytes: int
    kv_bytes_per_token: int | float
    kv_fixed_bytes: int
    kv_request_bytes: int
    memory_bytes: int
    total_bytes: int
    free_bytes: int
    state: State
    fits: bool
    loads: bool
    model_limit_tokens: int | None
    max_context_tokens: int | None
    max_users: int | None
    pool_tokens: int | None
    max_concurrency: float | None
    report: EngineReport | None
    warnings: tuple[str, ...]


def answer(architecture: Architecture, deployment: Deployment, workload: Workload) -> Answer:
    """Plans, and searches for the largest context and the most users.

    An engine that would refuse to start does not fit, whatever memory says.
    """
    budget = budget_for(prepare(architecture, deployment), workload)
    specs = (*budget.rank.specs, *budget.rank.draft_specs)
    loads = budget.loads
    longest_tokens = longest_context(architecture, deployment, budget.ranks)
    together = longest_tokens
    if workload.users > 1:
        together = longest_context(architecture, deployment, budget.ranks, workload.users)
    report = _report(budget, deployment, longest_tokens)
    if report is not None and report.longest_start_tokens is not None and together is not None:
        together = min(together, report.longest_start_tokens)  # above it the engine starts for nobody
    memory = deciding(budget.ranks, workload, budget.state)
    if not _starts(budget, deployment, report):
        budget = replace(budget, fits=False, state=State.NO)
    return Answer(
        model=architecture.title,
        device=budget.rank.deployment.device.title,
        device_count=deployment.device_count * deployment.replicas,
        devices=tuple(card.title for card in deployment.cards),
        shares=tuple(_share(rank, workload) for rank in budget.ranks) if len(budget.ranks) > 1 else (),
        on_cpu=deployment.on_cpu,
        weights=deployment.weights.name,
        stored_as=architecture.stored_as,
        stored_doubt=architecture.stored_doubt,
        quantize=deployment.weights.quantize,
        kv_cache_k=deployment.kv_cache_k.name,
        kv_cache_v=deployment.kv_cache_v.name,
        engine=deployment.engine,
        engine_version=deployment.settings.version,
        context_tokens=workload.context_tokens,
        users=workload.users,
        parameters=parameters(architecture),
        active_parameters=active_parameters(architecture),
        parameters_by_role=parameters_by_role(architecture),
        items=budget.items,
        host_items=budget.host_items,
        host_bytes=sum(item.bytes for item in budget.host_items),
        host_memory_bytes=deployment.host_memory_bytes,
        shared_memory_bytes=budget.ranks[0].deployment.shared_memory_bytes,
        deciding=memory,
        margin_bytes=find_engine(deployment.engine).margin_bytes(deployment),
        no_build=deployment.no_build,
        weights_bytes=budget.weights_bytes,
        kv_bytes_per_token=bytes_per_token_at(specs, workload.context_tokens),
        kv_fixed_bytes=fixed_bytes(specs),
        kv_request_bytes=budget.kv_request_bytes,
        memory_bytes=budget.rank.memory_bytes,
        total_bytes=budget.total_bytes,
        free_bytes=budget.free_bytes,
        state=budget.state,
        fits=budget.fits,
        loads=loads,
        model_limit_tokens=architecture.max_position_embeddings,
        max_context_tokens=together,
        max_users=max_users(budget.ranks, workload.context_tokens) if loads else 0,
        pool_tokens=longest_tokens if report is None else report.pool_tokens,
        max_concurrency=_concurrency(budget) if report is None else report.max_concurrency,
        report=report,
        warnings=(*warnings_for(architecture, deployment, workload), *_said(report, deployment)),
    )


def fits(architecture: Architecture, deployment: Deployment, workload: Workload) -> bool:
    """What ``answer`` says of that alone, for a part of its time: no search where memory says no."""
    budget = budget_for(prepare(architecture, deployment), workload)
    if not budget.fits:
        return False
    return _starts(budget, deployment, _report(budget, deployment, max_context_tokens(budget.ranks)))


def _report(budget: MemoryBudget, deployment: Deployment, longest_tokens: int | None) -> EngineReport | None:
    one_replica = replace(budget.workload, users=-(-budget.workload.users // deployment.replicas))
    report = find_engine(deployment.engine).report(pools(budget.ranks), deployment, one_replica, longest_tokens)
    if report is not None and report.num_blocks and budget.rank.draft_specs:
        return _beside_draft(report, longest_tokens, budget)
    return report


def _starts(budget: MemoryBudget, deployment: Deployment, report: EngineReport | None) -> bool:
    """Whether memory alone decides: there is a build, and nothing that fits, surely or probably, is refused."""
    is_refused = report is not None and bool(report.refusals) and budget.fits
    return not deployment.no_build and not is_refused


def _share(rank: RankBudget, workload: Workload) -> DeviceShare:
    tokens, requests = workload.context_tokens, rank.requests(workload.users)
    items = (*rank.items, *rank.buffers(tokens, requests))
    by_kind = {kind: sum(item.bytes for item in items if item.kind is kind) for kind in Kind}
    return DeviceShare(
        device=rank.deployment.device.title,
        memory_bytes=rank.memory_bytes,
        weights_bytes=by_kind[Kind.WEIGHTS],
        runtime_bytes=by_kind[Kind.RUNTIME],
        cache_bytes=by_kind[Kind.CACHE] + rank.cache_bytes(tokens, requests),
        free_bytes=rank.pool_bytes - rank.need_bytes(tokens, requests),
    )


def _concurrency(budget: MemoryBudget) -> float | None:
    if budget.kv_request_bytes == 0:
        return None
    return max(0, budget.rank.pool_bytes) / budget.kv_request_bytes


def _beside_draft(report: EngineReport, longest_tokens: int | None, budget: MemoryBudget) -> EngineReport:
    """*report* with the planner's own figures: those of the engine are for a pool of blocks that no draft shares."""
    return replace(
        report,
        pool_tokens=report.pool_tokens if longest_tokens is None else longest_tokens,
        max_concurrency=_concurrency(budget) or report.max_concurrency,
        num_blocks=0,
        block_size=0,
        blocks_per_request=0,
        groups=(),
        notes=(*report.notes, "A draft shares the pool: its tokens and concurrency are planned, not as printed."),
    )


def _said(report: EngineReport | None, deployment: Deployment) -> tuple[str, ...]:
    """What the engine refuses, whose rules were followed, and what else there is to know."""
    refusals, notes = ((), ()) if report is None else (report.refusals, report.notes)
    followed = deployment.settings.followed
    return (*refusals, *((followed,) if followed else ()), *notes)


def beyond_model(architecture: Architecture, tokens: int) -> tuple[str, ...]:
    """That the model was made for fewer *tokens*; nothing where it was not, or where that is not known."""
    limit = architecture.max_position_embeddings
    if limit is None or tokens <= limit:
        return ()
    return (
        f"{tokens:,} tokens are more than {architecture.title} was made for ({limit:,}): the memory is counted, the "
        "answers may be poor or the engine may refuse.",
    )


def draft_warnings(draft: Draft | None, architecture: Architecture, deployment: Deployment) -> tuple[str, ...]:
    """That *draft* has another vocabulary than the model, and what the engine of *deployment* makes of it."""
    if draft is None:
        return ()
    sentence = draft.warning(architecture, deployment.settings.rules.get("other_vocabulary"))
    return () if sentence is None else (sentence,)


def _waiting(deployment: Deployment, users: int) -> tuple[str, ...]:
    """That the engine runs fewer of a replica's *users* at once; nothing where a plan raises that number to them."""
    together = at_once(deployment, -(-users // deployment.replicas))
    if not together.waiting or (together.limit is not None and together.limit.follows_users):
        return ()
    replica = "" if deployment.replicas == 1 else "On each replica "
    return (f"{replica}{together.words}; room is counted for all of them.",)


def warnings_for(architecture: Architecture, deployment: Deployment, workload: Workload) -> tuple[str, ...]:
    """What a plan leaves out or stretches: as the model's reader said it, less what the plan follows, and its own."""
    as_stored = deployment.weights.name == CHECKPOINT
    found = [warning for warning in architecture.warnings if as_stored or warning != SERVED_IN_16_BIT]
    found += [deployment.file_note] if deployment.file_note else []
    found += beyond_model(architecture, workload.context_tokens)
    found += cut_groups(architecture, deployment)
    found += draft_warnings(deployment.draft, architecture, deployment)
    found += machine_words(deployment)
    found += _waiting(deployment, workload.users)
    if deployment.profile is not None:
        conditions = deployment.conditions(identity(architecture))
        found += [stale.sentence() for stale in deployment.profile.stale(conditions)]
    if deployment.engine == MINIMUM and deployment.overhead_bytes is None:
        found.append(NO_RUNTIME)
    return tuple(found)
