"""How fast a deployment answers: one step, one prompt, and the curve of latency against throughput."""

from planner.at_once import AtOnce
from planner.batching.step_time import TICKS_PER_S, StepTime
from planner.deployment import MAX_TOKENS
from planner.engines.base import Limit
from planner.errors import PlannerError
from planner.records import dataclass
from planner.search import largest
from planner.speed.cautions import cautions
from planner.speed.constants import Parts, Seconds, SpeedConstants, for_prefill, parts, step_seconds, sum_seconds
from planner.speed.operations import operations_per_prompt_token
from planner.speed.work import (
    Model,
    decode_work,
    kv_bytes_read,
    link_s_per_token,
    mixed_work,
    peak_per_s,
    weight_bytes_read,
)

MAX_BATCH = 2**14
MAX_CHUNKS = 100_000
"""A prompt in more chunks is refused, not computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Tokens a second with the range of its time."""

    value: float
    low: float
    high: float
    ceiling: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPoint:
    """One point of the curve: each request's tokens a second against all of them together."""

    users: int
    step_s: float
    tokens_per_s_user: float
    tokens_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedAnswer:
    """The contract of ``speed --json``. Ranges hold nine of ten measurements that the constants had not seen.

    *step*, *tokens_per_s…*, *curve*: of decoding alone, no prompt being computed meanwhile; ``busy`` counts those.

    *users* decode together: of those who ask, *at_once*, as many as the engine runs in a step.
    *bound* names the largest part of a step: layers, links, read or arithmetic. *link*: what joins devices that share
    each layer, empty where none do. *knee_users*: from here on twice the users bring less than a third more throughput.
    *time_to_first_token*: of a request that does not wait.
    """

    model: str
    device: str
    device_count: int
    link: str
    engine: str
    family: str
    source: str
    context_tokens: int
    users: int
    at_once: AtOnce
    prompt_tokens: int
    weights_read_bytes: int
    kv_read_bytes: int
    step: Seconds
    step_parts: Parts
    bound: str
    tokens_per_s_user: Rate
    tokens_per_s: Rate
    time_to_first_token: Seconds
    prompt_tokens_per_s: Rate
    prompt_bound: str
    knee_users: int
    curve: tuple[BatchPoint, ...]
    max_users: int | None
    warnings: tuple[str, ...]

    @property
    def most_users(self) -> int | None:
        """Where memory or the engine's own limit ends the curve."""
        return self.at_once.most(self.max_users)

    @property
    def ends(self) -> str:
        """Which of the two that is: ``memory``, or a setting."""
        return self.at_once.ends(self.max_users)


def speed(
    model: Model,
    constants: SpeedConstants,
    *,
    context_tokens: int,
    users: int,
    prompt_tokens: int,
    max_users: int | None,
    max_num_batched_tokens: int | None = None,
    limit: Limit | None = None,
) -> SpeedAnswer:
    """*users* requests of *context_tokens* decoding together; a prompt of *prompt_tokens*, in chunks where limited.

    *max_users* is where memory ends the curve, ``None`` where it does not. No more than *limit* are in a step.
    """
    asked = AtOnce(asked=users, limit=limit)
    users = asked.users
    work = decode_work(model, users, context_tokens)
    step_parts = parts(work, constants)
    step = step_seconds(work, constants)
    prompt_parts, first = prompt_seconds(
        model, constants, prompt_tokens, users - 1, context_tokens, max_num_batched_tokens
    )
    deployment = model.deployment
    return SpeedAnswer(
        model=model.architecture.title,
        device=deployment.device.title,
        device_count=deployment.device_count,
        link=model.link.title if model.link else "",
        engine=constants.engine,
        family=constants.family,
        source=constants.source,
        context_tokens=context_tokens,
        users=users,
        at_once=asked,
        prompt_tokens=prompt_tokens,
        weights_read_bytes=round(weight_bytes_read(model, users)),
        kv_read_bytes=users * kv_bytes_read(model, context_tokens),
        step=step,
        step_parts=step_parts,
        bound=step_parts.bound,
        tokens_per_s_user=rate_of(1, step),
        tokens_per_s=rate_of(users, step),
        time_to_first_token=first,
        prompt_tokens_per_s=rate_of(prompt_tokens, first),
        prompt_bound=prompt_parts.bound,
        knee_users=knee_users(model, constants, context_tokens),
        curve=curve(model, constants, context_tokens, asked.most(max_users)),
        max_users=max_users,
        warnings=cautions(model, constants),
    )


def prompt_seconds(
    model: Model,
    constants: SpeedConstants,
    prompt_tokens: int,
    beside: int = 0,
    context_tokens: int = 0,
    max_num_batched_tokens: int | None = None,
) -> tuple[Parts, Seconds]:
    """The time to compute a prompt and its first token; alone, or in chunks *beside* others that decode.

    With a limit T each step has room for T − *beside* prompt tokens: ceil(prompt ÷ (T − beside)) steps.
    """
    own = for_prefill(constants, model.arithmetic)
    if not 1 <= prompt_tokens <= MAX_TOKENS:
        raise PlannerError(
            f"prompt = {prompt_tokens:,} is not possible: give at least one prompt token and at most {MAX_TOKENS:,}."
        )
    room = prompt_tokens
    if max_num_batched_tokens is None:
        beside = 0
    else:
        room = max_num_batched_tokens - beside
        if room < 1:
            raise PlannerError(
                f"max_num_batched_tokens = {max_num_batched_tokens:,} leaves no room for a prompt beside "
                f"{beside:,} requests; raise it above {beside:,}."
            )
    if prompt_tokens > MAX_CHUNKS * room:
        raise PlannerError(
            f"A prompt of {prompt_tokens:,} tokens in chunks of {room:,} takes more than {MAX_CHUNKS:,} steps; raise "
            "max_num_batched_tokens."
        )
    works = [
        mixed_work(model, beside, context_tokens, min(room, prompt_tokens - done), done)
        for done in range(0, prompt_tokens, room)
    ]
    steps = [parts(work, own) for work in works]
    whole = Parts(
        layers_s=sum(step.layers_s for step in steps),
        links_s=sum(step.links_s for step in steps),
        read_s=sum(step.read_s for step in steps),
        arithmetic_s=sum(step.arithmetic_s for step in steps),
    )
    return whole, sum_seconds([step_seconds(work, own) for work in works])


def curve(
    model: Model, constants: SpeedConstants, context_tokens: int, max_users: int | None
) -> tuple[BatchPoint, ...]:
    """Batches of 1, 2, 4 … up to the last that memory holds and the engine runs, that one included."""
    limit = min(MAX_BATCH, MAX_BATCH if max_users is None else max_users)
    sizes = [2**power for power in range(limit.bit_length()) if 2**power <= limit]
    if sizes and sizes[-1] != limit:
        sizes.append(limit)
    return tuple(_point(model, constants, context_tokens, users) for users in sizes)


def knee_users(model: Model, constants: SpeedConstants, context_tokens: int) -> int:
    """The first batch whose double brings less than a third more throughput.

    For a step of a + b·users that is users = a / b: what all share costs as much as what each brings.
    """

    def pays(users: int) -> bool:
        once, twice = (_point(model, constants, context_tokens, count).tokens_per_s for count in (users, 2 * users))
        return 3 * twice >= 4 * once

    return largest(pays, MAX_BATCH) + 1


def step_time(model: Model, constants: SpeedConstants, slots: int, context_tokens: int) -> StepTime:
    """The same model for the simulator: a table by sequences, and slopes for cached and prompt tokens.

    Caches are taken to grow evenly up to *context_tokens*; windows do not, but their part is small. What steps wait for
    a host is that of the middle of it.
    """
    own = for_prefill(constants, model.arithmetic)
    bandwidth = model.bandwidth_bytes_per_s * constants.read_efficiency
    rate = peak_per_s(model) * own.arithmetic_efficiency
    prompt_s = operations_per_prompt_token(model.architecture) / rate
    prompt_s += link_s_per_token(model) / constants.link_efficiency
    kv_s = kv_bytes_read(model, context_tokens) / context_tokens / bandwidth
    card = constants.without_host()
    table = [
        _point(model, card, 0, users).step_s + _waiting_s(model, constants, users, context_tokens // 2)
        for users in (1, *range(1, slots + 1))
    ]
    return StepTime(
        by_sequences=tuple(round(seconds * TICKS_PER_S) for seconds in table),
        per_context_token=round(kv_s * TICKS_PER_S),
        per_prompt_token=round(prompt_s * TICKS_PER_S),
    )


def _waiting_s(model: Model, constants: SpeedConstants, users: int, context_tokens: int) -> float:
    """How much longer a step takes for the host."""
    if not constants.host_layer_s:
        return 0.0
    alone = _point(model, constants.without_host(), context_tokens, users).step_s
    return _point(model, constants, context_tokens, users).step_s - alone


def _point(model: Model, constants: SpeedConstants, context_tokens: int, users: int) -> BatchPoint:
    step_s = step_seconds(decode_work(model, users, context_tokens), constants).value_s
    return BatchPoint(users=users, step_s=step_s, tokens_per_s_user=1 / step_s, tokens_per_s=users / step_s)


def rate_of(tokens: float, seconds: Seconds) -> Rate:
    """*tokens* in that time; the range turns round, since the shortest time is the highest rate."""
    return Rate(
        value=tokens / seconds.value_s,
        low=tokens / seconds.high_s,
        high=tokens / seconds.low_s,
        ceiling=tokens / seconds.ceiling_s,
    )
