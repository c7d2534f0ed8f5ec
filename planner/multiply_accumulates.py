"""What a cache saves: multiply-accumulates of one attention head over T steps, and the bytes of its score matrix.

With a cache, step t computes one query's scores against t keys and their weighted sum: 2·t·d. Without one, it computes
all t queries again: 2·t²·d, as a library that is told not to cache does, masking included.
"""

from planner.architecture import Architecture, Attention
from planner.deployment import MAX_TOKENS
from planner.errors import PlannerError
from planner.records import dataclass

SCORE_BYTES = 4
"""Scores are kept in fp32."""
USUAL_HEAD_DIM = 64
_MAX_HEAD_DIM = 2**16


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheArithmetic:
    """One head of width *head_dim* over *tokens* steps. The score bytes are those of the last step."""

    tokens: int
    head_dim: int
    cached: int
    recomputed: int
    ratio: float
    cached_score_bytes: int
    recomputed_score_bytes: int


def head_width(architecture: Architecture) -> int:
    """The width of one head of *architecture*, its first with keys of its own; the usual one where it has none."""
    mixers = (mixer for layer in architecture.layers for mixer in layer.mixers)
    return next((mixer.head_dim for mixer in mixers if isinstance(mixer, Attention)), USUAL_HEAD_DIM)


def cache_arithmetic(tokens: int, head_dim: int = USUAL_HEAD_DIM) -> CacheArithmetic:
    """Every figure at once; raises PlannerError for a number of tokens or a width that no model has."""
    for name, value, limit in (("tokens", tokens, MAX_TOKENS), ("head_dim", head_dim, _MAX_HEAD_DIM)):
        if not 1 <= value <= limit:
            raise PlannerError(f"{name} = {value:,} is not possible: it must be between 1 and {limit:,}.")
    return CacheArithmetic(
        tokens=tokens,
        head_dim=head_dim,
        cached=cached(tokens, head_dim),
        recomputed=recomputed(tokens, head_dim),
        ratio=(2 * tokens + 1) / 3,
        cached_score_bytes=score_bytes(1, tokens),
        recomputed_score_bytes=score_bytes(tokens, tokens),
    )


def cached(tokens: int, head_dim: int) -> int:
    """Σ 2·t·d for t = 1 … T = d · T · (T + 1).

    >>> cached(3, 64), 2 * 64 * (1 + 2 + 3)
    (768, 768)
    """
    return head_dim * tokens * (tokens + 1)


def recomputed(tokens: int, head_dim: int) -> int:
    """Σ 2·t²·d for t = 1 … T = d · T · (T + 1) · (2T + 1) / 3: (2T + 1) / 3 times as much as with a cache.

    >>> recomputed(3, 64), 2 * 64 * (1 + 4 + 9)
    (1792, 1792)
    """
    return head_dim * tokens * (tokens + 1) * (2 * tokens + 1) // 3


def score_bytes(queries: int, keys: int) -> int:
    """Bytes of a score matrix in fp32.

    >>> score_bytes(4096, 4096), score_bytes(1, 4096)
    (67108864, 16384)
    """
    return SCORE_BYTES * queries * keys
