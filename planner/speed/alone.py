"""One user's answers on a device whose arithmetic rate is not known: they wait for memory, whatever it computes."""

from planner.records import dataclass
from planner.speed.answer import Rate, rate_of
from planner.speed.cautions import cautions
from planner.speed.constants import Parts, Seconds, SpeedConstants, parts, step_seconds
from planner.speed.work import Model, decode_work, kv_bytes_read, no_arithmetic, weight_bytes_read


@dataclass(frozen=True, slots=True, kw_only=True)
class AloneAnswer:
    """What ``speed --json`` says there; prompts and several users are missing, and *warnings* say why."""

    model: str
    device: str
    device_count: int
    engine: str
    family: str
    source: str
    context_tokens: int
    users: int
    weights_read_bytes: int
    kv_read_bytes: int
    step: Seconds
    step_parts: Parts
    bound: str
    tokens_per_s_user: Rate
    max_users: int | None
    warnings: tuple[str, ...]


def speed_alone(model: Model, constants: SpeedConstants, *, context_tokens: int, max_users: int | None) -> AloneAnswer:
    """One request of *context_tokens* decoding."""
    work = decode_work(model, 1, context_tokens)
    step, step_parts = step_seconds(work, constants), parts(work, constants)
    return AloneAnswer(
        model=model.architecture.title,
        device=model.deployment.device.title,
        device_count=model.deployment.device_count,
        engine=constants.engine,
        family=constants.family,
        source=constants.source,
        context_tokens=context_tokens,
        users=1,
        weights_read_bytes=round(weight_bytes_read(model, 1)),
        kv_read_bytes=kv_bytes_read(model, context_tokens),
        step=step,
        step_parts=step_parts,
        bound=step_parts.bound,
        tokens_per_s_user=rate_of(1, step),
        max_users=max_users,
        warnings=(no_arithmetic(model), *cautions(model, constants)),
    )
