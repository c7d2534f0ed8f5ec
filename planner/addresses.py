"""Addresses of models as they stand in a browser, and the names that they mean."""

import re

_HUB = re.compile(
    r"(?:hf://|(?:https?://)?(?:www\.)?(?:(?:huggingface\.co|hf\.co|hf-mirror\.com)/|modelscope\.(?:cn|ai)/models/))(.+)",
    re.IGNORECASE,
)
_OLLAMA = re.compile(
    r"(?:https?://)?(?:www\.)?(?:ollama\.com/library|registry\.ollama\.ai/library)/(.+)", re.IGNORECASE
)
_ID = re.compile(r"[\w.-]+/[\w.-]+(?::[\w.-]+|@[\w./-]+)?", re.ASCII)
_NEWEST = re.compile(r"@(?:main|[\da-f]{40})$")
_BRANCH = re.compile(r"(?:tree|blob|resolve)/(?!(?:main|[\da-f]{40})(?:/|$))([^/]+)")
_OTHER_PAGES = frozenset({"blog", "collections", "datasets", "docs", "models", "papers", "posts", "spaces"})
_FILE_TYPE = re.compile(r"[-.]((?:i?q\d|tq\d|bf16|f16|fp16|f32|mxfp4)\w*?)(?:-\d{5}-of-\d{5})?\.gguf$", re.IGNORECASE)


def bare_name(pasted: str) -> str:
    """The id, or the name of Ollama's library, that an address *pasted* leads to; anything else without its blanks.

    A page of a GGUF file means that file of its repository, one of another branch than the main one that branch.

    >>> bare_name("https://huggingface.co/Qwen/Qwen3-8B/tree/main"), bare_name("hf.co/Qwen/Qwen3-8B-GGUF:Q4_K_M")
    ('Qwen/Qwen3-8B', 'Qwen/Qwen3-8B-GGUF:Q4_K_M')
    >>> bare_name("https://ollama.com/library/llama3.1:8b"), bare_name(" Qwen3-8B ")
    ('llama3.1:8b', 'Qwen3-8B')
    >>> bare_name("hf://Qwen/Qwen3-8B"), bare_name("Qwen/Qwen3-8B@main"), bare_name("hf.co/a/b-exl2/tree/4.0bpw")
    ('Qwen/Qwen3-8B', 'Qwen/Qwen3-8B', 'a/b-exl2@4.0bpw')
    """
    name = _NEWEST.sub("", pasted.strip())
    if found := _OLLAMA.fullmatch(name):
        return _path(found[1])
    if not (found := _HUB.fullmatch(name)):
        return name
    organisation, _, rest = _path(found[1]).partition("/")
    model, _, page = rest.partition("/")
    repository = f"{organisation}/{model}"
    if organisation.lower() in _OTHER_PAGES or not _ID.fullmatch(repository):
        return name
    if branch := _BRANCH.match(page):
        return f"{repository}@{branch[1]}"
    file = _FILE_TYPE.search(page)
    return f"{repository}:{file[1].upper()}" if file else repository


def revision_in(name: str) -> str:
    """The revision that an id such as ``organisation/model@4.0bpw`` asks for, empty where it asks for none."""
    return name.partition("@")[2] if _ID.fullmatch(name) else ""


def is_address(name: str) -> bool:
    """Whether *name* can only be an address: of another site, or of a page that is no model's."""
    return re.match(r"\w+://", name.strip()) is not None


def _path(rest: str) -> str:
    """Without what a browser adds behind a page's path."""
    return re.split(r"[?#]", rest, maxsplit=1)[0].rstrip("/")
