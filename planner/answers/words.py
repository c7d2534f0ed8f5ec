"""Parts of sentences about an answer: the request, the cards, whose memory is spoken of."""

from planner.answers.answer import Answer
from planner.answers.figures import one_user_tokens, runtime_bytes
from planner.deciding import Where
from planner.formats import CHECKPOINT
from planner.units import format_bytes, format_size


def asked(answer: Answer) -> str:
    """The request in words: ``4 users × 8,192 tokens``."""
    users = "1 user" if answer.users == 1 else f"{answer.users:,} users"
    return f"{users} × {answer.context_tokens:,} tokens"


def room_words(answer: Answer) -> str:
    """The room in tokens, or that nothing in the cache grows."""
    tokens = one_user_tokens(answer)
    return "room for any length" if tokens is None else f"room for {tokens:,} tokens"


def if_it_did(sentence: str, fits: bool) -> str:
    """*sentence*, which begins with a speed, a price or a gain; of what does not fit, that first.

    >>> if_it_did("One user gets 60 tokens/s.", fits=False)
    'It does not fit. If it did: one user gets 60 tokens/s.'
    """
    return sentence if fits else f"It does not fit. If it did: {sentence[:1].lower()}{sentence[1:]}"


def the_card(answer: Answer) -> str:
    """What holds it."""
    return "the machine" if answer.on_cpu else "the card"


def its_cards(answer: Answer) -> str:
    """``one GeForce RTX 4090``, ``each of 2 × L4``, or the fullest of cards that differ."""
    if answer.devices:
        return f"{answer.device} (the fullest of {' and '.join(answer.devices)})"
    return f"one {answer.device}" if answer.device_count == 1 else f"each of {answer.device_count} × {answer.device}"


def offer(answer: Answer) -> str:
    """``the 8 GiB card``, or ``the 23.64 GiB that one GeForce RTX 4090 offers``."""
    size = format_size(answer.memory_bytes)
    if answer.device == f"{size} card" and answer.device_count == 1:
        return f"the {answer.device}"
    return f"the {size} that {its_cards(answer)} offers"


def a_device(answer: Answer) -> str:
    return "" if answer.device_count == 1 else " a card"


def stored(answer: Answer) -> str:
    """``in int4-g128``, or how the publisher's own files have it, with what makes that doubtful."""
    if answer.weights != CHECKPOINT:
        return f"in {answer.weights}"
    return f"as published ({', '.join(filter(None, (answer.stored_as, answer.stored_doubt)))})"


def it_needs(answer: Answer) -> str:
    verb = "needs" if answer.users == 1 else "need"
    return f"{asked(answer)} {verb}"


def request(answer: Answer) -> str:
    tokens = f"{answer.context_tokens:,}"
    return tokens if answer.users == 1 else f"{answer.users:,} × {tokens}"


def and_runtime(answer: Answer) -> str:
    runtime = runtime_bytes(answer)
    return f" and the runtime **{format_bytes(runtime)}**" if runtime else ""


def plus_runtime(answer: Answer) -> str:
    runtime = runtime_bytes(answer)
    return f" and the runtime takes **{format_bytes(runtime)}**" if runtime else ""


def or_spills(answer: Answer) -> str:
    is_moved = answer.margin_bytes and answer.deciding.where is Where.CARD
    return " If it is short, --fit moves a part to main memory." if is_moved else ""


def whose_memory(answer: Answer) -> str:
    """Of which memory is spoken, where it is not a card's."""
    words = {Where.CARD: "", Where.HOST: " in main memory", Where.SHARED: " in the machine's one memory"}
    return words[answer.deciding.where]


def beside(answer: Answer) -> str:
    """What lies beside the card, where that decides."""
    if answer.deciding.where is Where.CARD:
        return ""
    offered = answer.host_memory_bytes if answer.deciding.where is Where.HOST else answer.shared_memory_bytes
    return (
        f", and beside the card **{format_bytes(answer.host_bytes)}** lie in main memory; it has "
        f"**{format_bytes(offered or 0)}**{' for both' if answer.deciding.where is Where.SHARED else ''}"
    )


def token_count(tokens: int) -> str:
    return "1 token" if tokens == 1 else f"{tokens:,} tokens"


def are_left(tokens: int) -> str:
    return "1 token is" if tokens == 1 else f"{tokens:,} tokens are"
