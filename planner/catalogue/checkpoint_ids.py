"""Which preset a checkpoint is, and in which format, by what it is called."""

import re
from collections.abc import Iterator, Mapping

from planner import format_presets, presets
from planner.spelled_names import plain

Named = tuple[str, str | None]
"""A preset's name and a weight format; ``None`` for the checkpoint's own."""

_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
_FILE = re.compile(r"(?:\.gguf|\.llamafile|-gguf)$")
_TYPE_OF_FILE = re.compile(r"-gguf:(?=\w+$)")
_KIND = re.compile(r"[-.](?:ud-?)?((?:i?q\d|tq\d|[bf]?f?p?16|f32|mxfp4)\w*)$")
_FOLLOWING = re.compile(r"(?:-[a-z]+){1,2}")
"""What says behind a format how it was made, as in ``-w8a8-QuaRot`` and ``-FP8-KV``."""
_TUNED = re.compile(r"-(?:instruct|it|chat|base|hf)(?:-v?\d[\d-]*)?(?:-qat)?$")
_BLOB = re.compile(r"(?:sha256-)?[\da-f]{12,64}$")
_OTHER_SHAPE = re.compile(
    r"(?:^|-)(?:\d+(?:-\d+)?[bm]|a\d+(?:-\d+)?b|e\d+b|distill\w*|draft|eagle\d?|embed\w*|flash|large|lite|mini|moe|mtp|nano"
    r"|next|omni|reward|rerank\w*|small|tiny|vision|vl|v\d+)(?:-|$)"
)
"""What says, behind a preset's name, that a model is another one and not a tuned one of the same shape."""
_EDITION = re.compile(r"v\d+")


def identify(name: str, is_tuned: bool = False) -> Named | None:
    """A preset's name and a weight format for a checkpoint's *name* or path, ``None`` where no preset is like it.

    With *is_tuned* a preset counts too whose name *name* begins with, if the rest names no other shape.

    >>> identify("RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic"), identify("/models/Qwen3-8B-Q4_K_M.gguf")
    (('llama-3.1-8b', 'fp8-row'), ('qwen3-8b', 'q4_k_m'))
    >>> identify("models--Qwen--Qwen3-8B/snapshots/b968826d9c46"), identify("qwen3-8b-of-mine", is_tuned=True)
    (('qwen3-8b', None), ('qwen3-8b', None))
    """
    parts = [part for part in re.split(r"[/\\]|--", name.strip()) if part and not _BLOB.match(part)]
    readings = [each for part in (name, *reversed(parts)) for each in _readings(part)]
    for is_exact in (True, False) if is_tuned else (True,):
        for candidate, weights in readings if is_exact else sorted(readings, key=lambda each: each[1] is None):
            if found := _preset(candidate, is_exact):
                return found, weights
    return None


def named_within(name: str) -> str | None:
    """The preset whose name stands whole in the last part of *name*: what a tuned model may be made of.

    >>> named_within("huihui-ai/Huihui-gpt-oss-20b-mxfp4-abliterated-v2"), named_within("/opt/llm/deepseek-r1-14b")
    ('gpt-oss-20b', None)
    """
    words, known = plain(re.split(r"[/\\]", name)[-1]).split("-"), presets.names_of_models()
    spans = [(first, last) for first in range(len(words)) for last in range(first + 2, len(words) + 1)]
    for first, last in sorted(spans, key=lambda span: span[0] - span[1]):
        rest = "-".join(word for word in (*words[:first], *words[last:]) if not _EDITION.fullmatch(word))
        if (found := known.get("-".join(words[first:last]))) and not _OTHER_SHAPE.search(rest):
            return found
    return None


def _readings(part: str) -> Iterator[Named]:
    """A part of a path as it is, and without what says how it is quantised, the longest such end first."""
    lower = _SHARD.sub("", _FILE.sub("", _TYPE_OF_FILE.sub("-", part.lower())))
    yield lower, None
    endings: Mapping[str, str] = presets.checkpoint_names()["endings"]
    for ending in sorted((end for end in endings if lower.endswith(end)), key=len, reverse=True):
        yield lower[: -len(ending)], endings[ending]
    for ending, weights in endings.items():
        before, found, rest = lower.rpartition(f"{ending}-")
        if found and _FOLLOWING.fullmatch(f"-{rest}") and not _OTHER_SHAPE.search(rest):
            yield before, weights
    if kind := _KIND.search(lower):
        yield lower[: kind.start()].removesuffix("-ud").strip("-."), _file_type(kind[1])


def _file_type(text: str) -> str | None:
    """The format that *text* names, with or without its underscores: ``q4km`` is q4_k_m."""
    if format_presets.find_mix(text) or text in format_presets.formats():
        return text
    names = (*format_presets.mix_names(), *format_presets.formats())
    return next((name for name in names if name.replace("_", "") == text.replace("_", "")), None)


def _preset(name: str, is_exact: bool) -> str | None:
    """The preset called *name*, with or without what says that it is tuned; else one that *name* begins with."""
    spelled, known = plain(name), presets.names_of_models()
    for each in (spelled, _TUNED.sub("", spelled)):
        if found := known.get(each):
            return found
    if is_exact:
        return None
    words = spelled.split("-")
    for count in range(len(words) - 1, 1, -1):
        rest = "-".join(words[count:])
        if (found := known.get("-".join(words[:count]))) and not _OTHER_SHAPE.search(rest):
            return found
    return None
