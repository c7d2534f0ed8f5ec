"""The planner names the options of its command; on a page a sentence names the fields that stand for them."""

import re

from ui.fields.advanced import SPLITS

FIELDS = {
    "model": "Model",
    "device": "Card",
    "memory": "Memory of the card",
    "device-count": "Number of cards",
    "devices": "Cards that differ, in order",
    "weights": "Weights stored in",
    "quantize": "Which weights take the format",
    "kv-cache": "Cache stored in",
    "kv-cache-k": "Keys stored in",
    "kv-cache-v": "Values stored in",
    "engine": "Engine",
    "engine-version": "Version",
    "set": "Every setting, name=value a line",
    "context": "Tokens per user",
    "users": "Users at once",
    **{name.replace("_", "-"): label for name, (label, _) in SPLITS.items()},
    "interconnect": "What joins the cards",
    "bandwidth": "How fast memory is read",
    "overhead": "Runtime and all else",
    "host-memory": "Main memory to give",
    "display": "The first card shows the screen",
    "profile": "Measured by",
    "draft-model": "A draft",
    "draft-tokens": "Drafted tokens a pass",
    "draft-weights": "Draft weights stored in",
    "online": "From Hugging Face, or as a form",
    "speed-engine": "Engine",
    "currency": "Its currency",
}
"""By option of ``kvbudget``, the field on the pages."""
_OPTION = re.compile(rf"(?<![\w-])--({'|'.join(sorted(FIELDS, key=len, reverse=True))})(?![\w-])(=)?")


def in_fields(sentence: object) -> str:
    """*sentence*, or what an error says, with each option as the field that has its place.

    >>> in_fields("A draft needs the number of tokens: give --draft-tokens, such as 4.")
    'A draft needs the number of tokens: give “Drafted tokens a pass”, such as 4.'
    """
    return _OPTION.sub(lambda found: f"“{FIELDS[found[1]]}”{found[2] or ''}", str(sentence))
