"""How long everybody's answers pause while a prompt is read: whole in one step, or in chunks."""

from collections.abc import Iterable
from dataclasses import dataclass

from planner.batching.step_time import TICKS_PER_S, StepTime


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Seconds between two tokens of the others while a prompt of *prompt_tokens* is read: *whole_s*, or *chunked_s*."""

    prompt_tokens: int
    whole_s: float
    chunked_s: float


def pause(step_time: StepTime, others: int, chunk_tokens: int, prompt_tokens: int) -> Pause:
    """One prompt beside *others* that decode, at most as many as the step time knows; caches read are left out.

    A step of *chunk_tokens* has room for chunk − others prompt tokens.
    """
    room = max(1, min(prompt_tokens, chunk_tokens - others))
    step = step_time.by_sequences[min(others + 1, step_time.slots)]
    whole, chunked = (step + step_time.per_prompt_token * tokens for tokens in (prompt_tokens, room))
    return Pause(prompt_tokens=prompt_tokens, whole_s=whole / TICKS_PER_S, chunked_s=chunked / TICKS_PER_S)


def pauses(step_time: StepTime, others: int, chunk_tokens: int, prompts: Iterable[int]) -> tuple[Pause, ...]:
    """The same for each length of *prompts*, in order and once."""
    return tuple(pause(step_time, others, chunk_tokens, tokens) for tokens in sorted(set(prompts)))
