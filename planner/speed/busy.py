"""A busy server: between the tokens of one request it computes the prompts of others."""

from planner.errors import PlannerError
from planner.records import dataclass
from planner.search import largest
from planner.speed.answer import MAX_BATCH, Rate, rate_of
from planner.speed.constants import Seconds, SpeedConstants, step_seconds
from planner.speed.work import Model, decode_work


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """*users* requests of *prompt_tokens* and *output_tokens* at all times, a new one wherever one ends.

    *token*: between two tokens of a request. *tokens_per_s_user* follows from it, *tokens_per_s* is of all answers
    together, whose own prompts take time as well. *prompt_tokens_per_s*: of all prompts meanwhile.
    """

    users: int
    prompt_tokens: int
    output_tokens: int
    token: Seconds
    step: Seconds
    tokens_per_s_user: Rate
    tokens_per_s: Rate
    prompt_tokens_per_s: Rate


def busy(model: Model, constants: SpeedConstants, users: int, prompt_tokens: int, output_tokens: int) -> Busy:
    """A step brings each request a token and prompt ÷ answer prompt tokens; between its own tokens it waits for the
    prompts of the others alone, (users − 1) / users of that."""
    if prompt_tokens < 1 or output_tokens < 1:
        raise PlannerError("A request needs at least one prompt token and one token of an answer.")
    context_tokens = mean_context_tokens(prompt_tokens, output_tokens)
    share = prompt_tokens / output_tokens
    token, step = (
        _mean_step(model, constants, users, context_tokens, each) for each in ((users - 1) / users * share, share)
    )
    return Busy(
        users=users,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        token=token,
        step=step,
        tokens_per_s_user=rate_of(1, token),
        tokens_per_s=rate_of(users, step),
        prompt_tokens_per_s=rate_of(users * share, step),
    )


def _mean_step(
    model: Model, constants: SpeedConstants, users: int, context_tokens: int, prompt_share: float
) -> Seconds:
    """Prompts come in few steps, many tokens at once: what the others wait for their host is on top of it."""
    found = step_seconds(decode_work(model, users, context_tokens, prompt_share), constants.without_host())
    if not constants.host_layer_s:
        return found
    work = decode_work(model, users, context_tokens)
    card, whole = step_seconds(work, constants.without_host()), step_seconds(work, constants)
    return Seconds(
        value_s=found.value_s + whole.value_s - card.value_s,
        low_s=found.low_s + whole.low_s - card.low_s,
        high_s=found.high_s + whole.high_s - card.high_s,
        ceiling_s=found.ceiling_s,
    )


def busy_users(
    model: Model, constants: SpeedConstants, prompt_tokens: int, output_tokens: int, tokens_per_s_user: float
) -> int:
    """The most users of a busy server who all still get *tokens_per_s_user*, whatever memory says; 0 for none."""

    def enough(users: int) -> bool:
        served = busy(model, constants, users, prompt_tokens, output_tokens)
        return served.token.value_s * tokens_per_s_user <= 1

    return largest(enough, MAX_BATCH)


def mean_context_tokens(prompt_tokens: int, output_tokens: int) -> int:
    """A request's length on average while its answer is written."""
    return prompt_tokens + output_tokens // 2
