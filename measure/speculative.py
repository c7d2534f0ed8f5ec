"""Speculative decoding: a draft proposes, the target checks all at once; what comes out is distributed as the target's.

Source of the acceptance rule: Leviathan, Kalman and Matias, arXiv:2211.17192, algorithm 1.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(slots=True, kw_only=True)
class Speculated:
    """*tried* and *accepted* count drafts by their position in a pass, as far as a pass got to it."""

    tokens: list[int] = field(default_factory=list)
    passes: int = 0
    tried: list[int] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)
    target_s: float = 0.0
    draft_s: float = 0.0

    @property
    def acceptance(self) -> float:
        return sum(self.accepted) / max(1, sum(self.tried))

    @property
    def seconds(self) -> float:
        return self.target_s + self.draft_s


def verify(
    drafted: Sequence[int],
    draft: Sequence[torch.Tensor],
    target: torch.Tensor,
    generator: torch.Generator | None,
) -> tuple[int, int]:
    """How many of *drafted* are kept, and the token after them.

    *draft* are the γ distributions that they were drawn from, *target* the target's, γ + 1 × vocabulary.
    Without a *generator* it is greedy: a draft is kept where it is the target's most likely token.
    """
    for position, token in enumerate(drafted):
        p, q = target[position], draft[position]
        if generator is None:
            best = int(p.argmax())
            if token != best:
                return position, best
        elif float(torch.rand((), generator=generator)) * float(q[token]) >= float(p[token]):
            rest = (p - q).clamp(min=0)
            return position, draw(rest / rest.sum(), generator)
    return len(drafted), draw(target[len(drafted)], generator)


def draw(distribution: torch.Tensor, generator: torch.Generator | None) -> int:
    """A token from *distribution*, the most likely one without a generator."""
    if generator is None:
        return int(distribution.argmax())
    return int(torch.multinomial(distribution, 1, generator=generator))


def speculate(
    target: Any, draft: Any, prompt: torch.Tensor, tokens: int, gamma: int, generator: torch.Generator | None
) -> Speculated:
    """Makes at least *tokens* tokens after *prompt* (1 × n) with models that answer ``forward(ids, cache)``.

    Both have one vocabulary. *generator* is on the CPU, as the distributions are.
    """
    found = Speculated(tried=[0] * gamma, accepted=[0] * gamma)
    logits, cache = _logits(target, prompt, None, 1)
    last = draw(logits[0].softmax(-1), generator)
    found.tokens.append(last)
    _, draft_cache = _logits(draft, prompt, None, 1)
    length = prompt.shape[1]
    behind = [last]
    while len(found.tokens) < tokens:
        begin = time.perf_counter()
        drafted, distributions, new = [], [], behind
        for _ in range(gamma):
            logits, draft_cache = _logits(draft, _ids(new, prompt), draft_cache, 1)
            distributions.append(logits[0].softmax(-1))
            drafted.append(draw(distributions[-1], generator))
            new = [drafted[-1]]
        middle = time.perf_counter()
        logits, cache = _logits(target, _ids([last, *drafted], prompt), cache, gamma + 1)
        kept, last = verify(drafted, distributions, logits.softmax(-1), generator)
        found.target_s += time.perf_counter() - middle
        found.draft_s += middle - begin
        found.passes += 1
        for position in range(min(kept + 1, gamma)):
            found.tried[position] += 1
            found.accepted[position] += position < kept
        found.tokens += [*drafted[:kept], last]
        length += 1 + kept
        _shorten(cache, length)
        # The draft has not seen its own last proposal; where all were kept it must catch up with one token more.
        _shorten(draft_cache, length)
        behind = [drafted[-1], last] if drafted and kept == gamma else [last]
    return found


def _shorten(cache: Any, length: int) -> None:
    more = cache.get_seq_length() - length
    if more > 0:
        cache.crop(-more)


def _ids(tokens: list[int], like: torch.Tensor) -> torch.Tensor:
    return torch.tensor([tokens], device=like.device)


def _logits(model: Any, ids: torch.Tensor, cache: Any, kept: int) -> tuple[torch.Tensor, Any]:
    """On the CPU, which waits for a device: what is timed around it is done."""
    with torch.no_grad():
        output = model(input_ids=ids, cache=cache, use_cache=True, logits_to_keep=kept)
    return output.logits[0].float().cpu(), output.get("cache")
