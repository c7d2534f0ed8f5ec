"""Names that are the same but for how they are spelled: letters' case, and what stands between words."""

import re
from collections.abc import Iterable, Mapping
from typing import Protocol

_TUNED = re.compile(r"-(?:instruct|it|chat|base|hf)$")


class _Named(Protocol):
    """What a preset is called."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def aliases(self) -> tuple[str, ...]: ...


def plain(name: str) -> str:
    """Words in small letters with a hyphen between them: makers write ``3.1``, ``3-1`` and ``3_1`` for one.

    A colon stays, since Ollama's tags mean other files: ``qwen2.5:7b`` is the tuned model.
    """
    return re.sub(r"[^a-z0-9+:]+", "-", name.lower()).strip("-")


def names_by_spelling(presets: Iterable[_Named]) -> Mapping[str, str]:
    """Names by plain name, then by alias, title, and alias without its publisher, each where it is only one's."""
    levels: list[dict[str, set[str]]] = [{}, {}, {}, {}]
    for preset in presets:
        unpublished = tuple(alias.rpartition("/")[2] for alias in preset.aliases)
        for level, names in zip(levels, ((preset.name,), preset.aliases, (preset.title,), unpublished), strict=True):
            for name in names:
                level.setdefault(plain(name), set()).add(preset.name)
    found: dict[str, str] = {}
    for level in levels:
        found = {name: min(of) for name, of in level.items() if len(of) == 1} | found
    return found


def spelled_like(name: str, known: Mapping[str, str]) -> str | None:
    """Which of *known*, names by their plain spelling, *name* is: as it is, or but for saying that it is tuned.

    An id with its publisher is one repository, so of it no word may be left out.

    >>> spelled_like("Llama3.1 8B Instruct", {"llama-3-1-8b": "llama-3.1-8b"})
    'llama-3.1-8b'
    """
    spelled = plain(name)
    tried = (spelled,) if "/" in name else (spelled, _TUNED.sub("", spelled))
    joined = {_joined(key): value for key, value in known.items()}
    return next((found for each in tried if (found := joined.get(_joined(each)))), None)


def _joined(spelled: str) -> str:
    """With hyphens between two figures alone: ``opt-1.3b`` and ``opt-13b`` are two, ``llama-3`` and ``llama3`` one."""
    return re.sub(r"(?<!\d)-|-(?!\d)", "", spelled)
