"""Which tensors a step multiplies its tokens with, and how many operations that takes."""

from planner.architecture import Architecture, Attention, LatentAttention, Tensor
from planner.formats import Role
from planner.weights import counted_tensors, is_table_beside

_MULTIPLIED = frozenset({Role.LINEAR, Role.EXPERT, Role.ROUTER})
_HEADS = frozenset({Role.HEAD, Role.EMBEDDING})


def has_experts(architecture: Architecture) -> bool:
    """Whether a token meets only some of a layer's tensors."""
    return any(0 < tensor.active < tensor.count for tensor, _ in read_tensors(architecture))


def experts_touched(count: int, active: int, tokens: float) -> float:
    """Different experts that *tokens* tokens meet in one layer, each choosing *active* of *count* at random.

        E = N · (1 − (1 − k/N)^B)

    >>> experts_touched(8, 2, 1), round(experts_touched(128, 4, 64), 1)
    (2.0, 111.2)
    """
    missed: float = (1.0 - active / count) ** tokens
    return count * (1.0 - missed)


def read_tensors(architecture: Architecture) -> list[tuple[Tensor, int]]:
    """The tensors that a step reads, with how often each occurs.

    Embeddings are looked up, a row a token. Without a head the words' own is multiplied with: the largest that is no
    table beside it.
    """
    tensors = list(counted_tensors(architecture.layers, architecture.tensors))
    embeddings = [tensor for tensor in architecture.tensors if tensor.role is Role.EMBEDDING]
    head = None
    if all(tensor.role is not Role.HEAD for tensor in architecture.tensors):
        words = [tensor for tensor in embeddings if not is_table_beside(tensor, architecture)]
        head = max(words, key=lambda tensor: tensor.elements, default=None)
    return [(tensor, count) for tensor, count in tensors if tensor.role is not Role.EMBEDDING or tensor is head]


def is_big(tensor: Tensor) -> bool:
    """Whether it is one of the matrices whose format decides how fast a step computes."""
    return tensor.role in (Role.LINEAR, Role.EXPERT)


def operations_per_token(architecture: Architecture, roles: frozenset[Role] = _MULTIPLIED | _HEADS) -> float:
    """Two a parameter that the token is multiplied with, a product and a sum."""
    return 2.0 * sum(
        count * tensor.active_elements for tensor, count in read_tensors(architecture) if tensor.role in roles
    )


def operations_per_prompt_token(architecture: Architecture) -> float:
    """The same but for the head: of a prompt only the last token is asked what comes next."""
    return operations_per_token(architecture, _MULTIPLIED)


def expert_operations(architecture: Architecture, rows: float, copies: int) -> tuple[float, float]:
    """Of *rows* tokens in the experts that they choose; and of one row in every expert that they meet.

    *copies* of the rest of the model, each with as many tokens, share the experts.
    """
    own = each = 0.0
    for tensor, count in read_tensors(architecture):
        if 0 < tensor.active < tensor.count:
            operations = 2.0 * count * tensor.active_elements
            own += rows * operations
            met = experts_touched(tensor.count, tensor.active, max(1.0, rows * copies))
            each += operations / tensor.active * met
    return own, each


def attention_operations(architecture: Architecture, tokens: int, cached: int) -> float:
    """Of *tokens* that look back at themselves and at *cached* others, windows bounding the look."""
    total = 0.0
    for layer in architecture.layers:
        for mixer in layer.mixers:
            match mixer:
                case Attention():
                    width = mixer.num_attention_heads * (mixer.head_dim + mixer.v_head_dim)
                case LatentAttention():
                    width = mixer.num_attention_heads * (2 * mixer.kv_lora_rank + mixer.qk_rope_head_dim)
                case _:
                    continue
            total += 2.0 * width * _positions(tokens, cached, mixer.window_tokens)
    return total


def _positions(tokens: int, cached: int, window: int | None) -> float:
    """Tokens looked back at, itself included, added up over *tokens* after *cached* others."""
    if window is None:
        return tokens * cached + tokens * (tokens + 1) / 2
    growing = max(0, min(tokens, window - cached))
    return growing * cached + growing * (growing + 1) / 2 + (tokens - growing) * window
