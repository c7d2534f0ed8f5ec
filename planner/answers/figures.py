"""What an answer's items come to together: the sums and limits that its words and tables speak of."""

from planner.answers.answer import Answer
from planner.budget import OUTSIDE
from planner.deciding import Where
from planner.line_item import Kind


def cache_bytes(answer: Answer) -> int:
    """What the requests keep together."""
    return sum(item.bytes for item in answer.items if item.kind is Kind.CACHE)


def room_bytes(answer: Answer) -> int:
    """What the card has for caches once weights and runtime are in."""
    return answer.free_bytes + cache_bytes(answer)


def runtime_bytes(answer: Answer) -> int:
    return sum(item.bytes for item in answer.items if item.kind is Kind.RUNTIME)


def shared_need_bytes(answer: Answer) -> int:
    """What card side and host side need of the one memory that they share; what the engine leaves free is no need."""
    return answer.host_bytes + sum(item.bytes for item in answer.items if item.name != OUTSIDE)


def refusals(answer: Answer) -> tuple[str, ...]:
    """Why the engine would not start, in its own terms."""
    return () if answer.report is None else answer.report.refusals


def one_user_tokens(answer: Answer) -> int | None:
    """The longest context for one user; engines print the pool's tokens in another sense."""
    return answer.pool_tokens if answer.report is None else answer.report.longest_start_tokens


def beyond_limit(answer: Answer) -> bool:
    """Whether memory allows a longer context than the model was made for."""
    limit, longest = answer.model_limit_tokens, answer.max_context_tokens
    return limit is not None and (longest is None or longest > limit)


def spills(answer: Answer) -> bool:
    """Whether the engine by itself would put a part into main memory, since not all of it stays on the card."""
    memory = answer.deciding
    return bool(answer.margin_bytes) and memory.where is Where.CARD and memory.spare_bytes < 0 and not answer.no_build
