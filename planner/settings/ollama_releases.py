"""Ollama's releases: which one a log is of that names none, and what its own engine, which is no more, computed."""

from collections.abc import Collection, Mapping
from typing import Any

from planner.records import dataclass
from planner.settings.source_lines import out_by, printing, releases_file
from planner.settings.versions import Version, is_day, parse_version


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnEngine:
    """How Ollama's own engine computes a model: whether with flash attention by itself, how many tokens a window's
    cache remembers at least, and how often a recurrent state is kept.
    """

    flash_attn: bool
    window_tokens: int
    states: int


def release_of(day: str, lines: Collection[str]) -> str:
    """The newest release that was out on *day* and prints *lines*, each as ``server.go:499 loading model``.

    Empty where none is known. What is built from source may print other lines: those that no release of that day
    prints count for nothing.

    >>> release_of("2026-05-05", ("server.go:499 loading model",)), release_of("2026-05-05", ())
    ('0.20.3', '0.23.1')
    >>> release_of("2024-01-01", ())
    ''
    """
    known = out_by("ollama", day)
    for line in lines:
        known = printing("ollama", known, line) or known
    return known[-1] if known and (day or lines) else ""


def own_engine(version: str, model_type: str, stated: bool | None = None) -> OwnEngine | None:
    """What Ollama of *version*, a release or a day, does with a model; ``None`` where it hands it to llama.cpp.

    *stated*: whether it is known to compute it itself.

    >>> own_engine("0.12.3", "gemma3"), own_engine("0.20.3", "gptoss")
    (OwnEngine(flash_attn=False, window_tokens=0, states=1), OwnEngine(flash_attn=True, window_tokens=4096, states=25))
    >>> own_engine("0.12.6", "llama"), own_engine("2026-08-21", "gemma3")
    (None, None)
    """
    data, release = releases_file("ollama")["own_engine"], _release(version)
    if stated is False or release is None or release >= parse_version(data["llama_server"]):
        return None
    models = data["models"].values()
    known = (m for m in models if model_type in m["types"] and release >= parse_version(m["since"]))
    model: Mapping[str, Any] = next(known, {})
    if not model and not stated:
        return None
    since = model.get("flash_attn")
    kept = [number for first, number in data["checkpoints"].items() if release >= parse_version(first)]
    return OwnEngine(
        flash_attn=since is not None and release >= parse_version(since),
        window_tokens=model.get("window_tokens", 0),
        states=1 + (kept[-1] if kept else 0),
    )


def had_own_engine(version: str) -> bool:
    """Whether Ollama of *version* had an engine of its own.

    >>> had_own_engine("0.5.13"), had_own_engine("0.19.0"), had_own_engine("0.30.1")
    (False, True, False)
    """
    data, release = releases_file("ollama")["own_engine"], _release(version)
    first = min(parse_version(model["since"]) for model in data["models"].values())
    return release is not None and first <= release < parse_version(data["llama_server"])


def _release(version: str) -> Version | None:
    number = parse_version(version)
    if not is_day(number):
        return number
    name = release_of(version, ())
    return parse_version(name) if name else None
