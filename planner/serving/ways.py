"""How many requests a second, and users, really: within a latency target, over ways to use the cards, one node lost."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from statistics import mean

from planner.architecture import Architecture
from planner.batching.disaggregated import Stage, best_split, decode_stage, prefill_stage
from planner.batching.targets import Sustained, few_requests, saturated, sustained
from planner.batching.trace import longest_tokens
from planner.capacity import all_that_go
from planner.inputs.choices import Choices, choose
from planner.inputs.model_files import load_model
from planner.kv_cache import bytes_for, model_specs
from planner.paced import MeasuredRate, paced
from planner.paging import blocks_for
from planner.serving.question import ServingOption, ServingQuestion, lost_replicas
from planner.serving.served import Served, mean_tokens, served
from planner.speed.answer import prompt_seconds
from planner.speed.constants import SpeedConstants


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


def full_replica_rate(replica: Served, question: ServingQuestion) -> float:
    """The most that *replica* takes whatever the target, all requests there at once."""
    return saturated(question.trace, replica.shape.server(replica.pool_blocks), replica.step_time)


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
        notes=(*replica.notes, *few_requests(len(question.trace), replica.shape.slots)),
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
    error = replica.constants.widest_error
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
    error = replica.constants.widest_error
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
