"""How many requests a second, and users, really: within a latency target, over ways to use the cards, one node lost."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from statistics import mean

from planner.architecture import Architecture
from planner.batching.disaggregated import Stage, best_split, decode_stage, prefill_stage
from planner.batching.targets import Sustained, Target, few_requests, sustained
from planner.batching.trace import Trace, longest_tokens
from planner.capacity import all_that_go
from planner.choices import Choices, choose
from planner.errors import PlannerError
from planner.kv_cache import bytes_for, model_specs
from planner.model_files import load_model
from planner.paced import MeasuredRate, paced
from planner.paging import blocks_for
from planner.records import dataclass
from planner.served import Served, mean_tokens, served
from planner.server_shape import ShapeWish
from planner.speed.answer import prompt_seconds
from planner.speed.constants import SpeedConstants

MAX_DEVICES = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingQuestion:
    """What is asked of *device_count* cards, beside the model and its storage.

    A replica is as *replica* asks, and else as its engine's settings say.
    *node_devices* share a fate; ``None``: a node is one replica. *think_s* is how long a user reads before asking
    again. *link_bytes_per_s* between replicas: prefill and decode apart are tried as well.
    """

    trace: Trace
    target: Target
    device_count: int = 1
    node_devices: int | None = None
    replica: ShapeWish = ShapeWish()
    think_s: float = 0.0
    link_bytes_per_s: float | None = None

    def __post_init__(self) -> None:
        for name, count in (("device_count", self.device_count), ("node_devices", self.node_devices)):
            if count is not None and not 1 <= count <= MAX_DEVICES:
                raise PlannerError(f"{name} = {count:,} is not possible: give 1 to {MAX_DEVICES:,} cards.")
        if self.node_devices is not None and self.node_devices > self.device_count:
            raise PlannerError(
                f"node_devices = {self.node_devices:,} is not possible: of {self.device_count:,} cards in all so many "
                "cannot fail together."
            )
        if not 0 <= self.think_s <= 1e6:
            raise PlannerError(f"think_s = {self.think_s:g} is not possible: give 0 to 1,000,000 seconds.")
        if self.link_bytes_per_s is not None and not 0 < self.link_bytes_per_s < math.inf:
            raise PlannerError(f"A link of {self.link_bytes_per_s:g} bytes a second is not possible.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingOption:
    """One way to use the cards: *replicas* of *tensor_parallel* each, *prefill_replicas* of them for prompts alone.

    *rate_per_s*: the largest that meets the target, over all replicas; *low* and *high* by the speed model's range.
    *rate_lost_per_s*: the same with one node lost. *users*: at that rate, waiting, answered or reading. *fits*: a
    replica holds the model and the longest request. *first_token_s*, *token_s*: the 95th percentiles there. *limit*:
    what ends it. *is_chance*: at the slow end of that range not even a request alone meets the target, and in the
    middle hardly more than one does, so that no number of such replicas is an answer to a rate. *notes*: which of the
    engine's settings decide, and what the figures do not rest on.
    """

    tensor_parallel: int
    replicas: int
    prefill_replicas: int
    fits: bool
    rate_per_s: float
    rate_low_per_s: float
    rate_high_per_s: float
    rate_lost_per_s: float
    users: int
    users_lost: int
    output_tokens_per_s: float
    first_token_s: float
    token_s: float
    pool_blocks: int | None
    limit: str
    is_chance: bool = False
    notes: tuple[str, ...] = ()

    def replicas_for(self, rate_per_s: float, lost: int = 0) -> int | None:
        """How many replicas take *rate_per_s* within the target when *lost* of them are gone; ``None``: no number does.

        For replicas that do both; apart, whole replicas of each kind are needed.
        """
        if self.rate_per_s == 0 or self.is_chance:
            return None
        return replicas_for(rate_per_s, self.rate_per_s / self.replicas) + lost


def serving_options(
    choices: Choices,
    question: ServingQuestion,
    speed_engine: str,
    architecture: Architecture | None = None,
    measured: Sequence[MeasuredRate] = (),
) -> list[ServingOption]:
    """Every split of the cards into equal replicas that the engine can make, the largest rate first.

    Cards that no whole replica is made of stay idle, so that one more card never does less. Requests come to each
    replica at random, a share of the whole. *choices* give model, device and storage; how they split the model is left
    out, but *measured* rates are of the cards as *choices* split them. *architecture* stands in for the model's name
    where a file was uploaded.
    """
    architecture = architecture or load_model(choices.model, choices.online)
    constants = paced(choose(choices, architecture), speed_engine, measured).constants if measured else None
    tried = all_that_go(
        partial(_options, choices, question, speed_engine, parallel, architecture, constants)
        for parallel in range(1, question.device_count + 1)
    )
    return sorted(
        (option for options in tried for option in options),
        key=lambda option: (-option.rate_per_s, not option.fits, option.tensor_parallel, option.prefill_replicas),
    )


def replicas_for(rate_per_s: float, replica_rate_per_s: float) -> int:
    """How many replicas of *replica_rate_per_s* each take *rate_per_s*."""
    return math.ceil(rate_per_s / replica_rate_per_s - 1e-9)


def lost_replicas(question: ServingQuestion, tensor_parallel: int) -> int:
    """How many replicas of *tensor_parallel* cards go with a node."""
    return math.ceil((question.node_devices or tensor_parallel) / tensor_parallel)


def fitting_replica(
    choices: Choices, question: ServingQuestion, speed_engine: str, architecture: Architecture
) -> Served | None:
    """One replica on the cards of *choices*; ``None`` where it cannot hold the requests."""
    asked = replace(choices, context=mean_tokens(question.trace), users=1)
    replica = served(asked, question.replica, speed_engine, architecture)
    return replica if _fits(replica, question) else None


def replica_rate(replica: Served, question: ServingQuestion, slower: float = 1.0) -> Sustained:
    """The most that *replica* takes within the target, its steps *slower* times as long."""
    server = replica.shape.server(replica.pool_blocks)
    return sustained(question.trace, server, replica.step_time.scaled(slower), question.target)


def _options(
    choices: Choices,
    question: ServingQuestion,
    speed_engine: str,
    tensor_parallel: int,
    architecture: Architecture,
    constants: SpeedConstants | None,
) -> list[ServingOption]:
    asked = replace(
        choices,
        context=mean_tokens(question.trace),
        users=1,
        device_count=None,
        tensor_parallel=tensor_parallel,
        pipeline_parallel=None,
        data_parallel=None,
        replicas=1,
    )
    replica = served(asked, question.replica, speed_engine, architecture, constants=constants)
    replicas = question.device_count // tensor_parallel
    lost = min(replicas, lost_replicas(question, tensor_parallel))
    bare = ServingOption(
        tensor_parallel=tensor_parallel,
        replicas=replicas,
        prefill_replicas=0,
        fits=_fits(replica, question),
        rate_per_s=0.0,
        rate_low_per_s=0.0,
        rate_high_per_s=0.0,
        rate_lost_per_s=0.0,
        users=0,
        users_lost=0,
        output_tokens_per_s=0.0,
        first_token_s=0.0,
        token_s=0.0,
        pool_blocks=replica.pool_blocks,
        limit="memory",
        notes=(*replica.shape.notes, *few_requests(len(question.trace), replica.shape.slots)),
    )
    if not bare.fits:
        return [bare]
    found = [_together(bare, replica, question, lost)]
    if question.link_bytes_per_s is not None and replicas > 1:
        found.append(_apart(bare, replica, question, lost))
    return found


def _fits(replica: Served, question: ServingQuestion) -> bool:
    trace, pool = question.trace, replica.pool_blocks
    return pool is None or blocks_for(longest_tokens(trace), replica.shape.block_tokens) <= pool


def _together(bare: ServingOption, replica: Served, question: ServingQuestion, lost: int) -> ServingOption:
    """Each replica computes prompts and decodes."""
    error = replica.constants.p90_error
    found, slow, fast = (replica_rate(replica, question, slower) for slower in (1.0, 1 + error, 1 / (1 + error)))
    rate, outcome, left = found.rate_per_s, found.outcome, bare.replicas - lost
    inside_s = question.think_s if outcome is None else outcome.latency.mean_s + question.think_s
    pace = None if outcome is None else outcome.time_per_output_token
    return replace(
        bare,
        rate_per_s=bare.replicas * rate,
        rate_low_per_s=bare.replicas * slow.rate_per_s,
        rate_high_per_s=bare.replicas * fast.rate_per_s,
        rate_lost_per_s=left * rate,
        users=int(bare.replicas * rate * inside_s),
        users_lost=int(left * rate * inside_s),
        output_tokens_per_s=bare.replicas * rate * mean(question.trace.output_tokens),
        first_token_s=0.0 if outcome is None else outcome.time_to_first_token.p95_s,
        token_s=0.0 if pace is None else pace.p95_s,
        limit=found.limit,
        is_chance=found.is_hardly_any and slow.rate_per_s == 0,
    )


def _apart(bare: ServingOption, replica: Served, question: ServingQuestion, lost: int) -> ServingOption:
    """The best split into replicas for prompts and replicas for the rest."""
    error = replica.constants.p90_error
    stages = [_stages(replica, question, slower) for slower in (1.0, 1 + error, 1 / (1 + error))]
    split, slow, fast = (best_split(bare.replicas, *pair) for pair in stages)
    prefill, decode = stages[0]
    inside_s = prefill.mean_s + decode.mean_s + question.think_s
    left = split.without(lost, prefill, decode)
    return replace(
        bare,
        prefill_replicas=split.prefill_replicas,
        rate_per_s=split.rate_per_s,
        rate_low_per_s=slow.rate_per_s,
        rate_high_per_s=fast.rate_per_s,
        rate_lost_per_s=left,
        users=int(split.rate_per_s * inside_s),
        users_lost=int(left * inside_s),
        output_tokens_per_s=split.rate_per_s * mean(question.trace.output_tokens),
        first_token_s=prefill.p95_s,
        token_s=decode.p95_s,
        limit=split.limit,
    )


def _stages(replica: Served, question: ServingQuestion, slower: float) -> tuple[Stage, Stage]:
    model, trace = replica.model, question.trace
    deployment = model.deployment
    specs = model_specs(model.architecture.layers, deployment.kv_cache_k, deployment.kv_cache_v)
    prompts = {
        tokens: slower * prompt_seconds(model, replica.constants, tokens)[1].value_s
        for tokens in set(trace.prompt_tokens)
    }
    transfers = [bytes_for(specs, tokens) / (question.link_bytes_per_s or math.inf) for tokens in trace.prompt_tokens]
    prefill = prefill_stage(trace, [prompts[tokens] for tokens in trace.prompt_tokens], transfers, question.target)
    server = replica.shape.server(replica.pool_blocks)
    decode = decode_stage(trace, server, replica.step_time.scaled(slower), transfers, question.target)
    return prefill, decode
