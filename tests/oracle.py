"""What transformers itself builds and caches, beside what is planned. ``python -m tests.oracle [NAME ...]``

Parameters and cache bytes at several lengths for one preset of each model_type, and for the class defaults, in few
layers, of every other family that generates text in the library. A name is a preset's or a family's. With ``--presets``
every preset whose class the library has, those of one shape together, at two short lengths.
"""

import argparse
import gc
import math
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from planner import format_presets, presets
from planner.architecture import Architecture, CrossAttention
from planner.budget import prepare
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.kv_cache import mixer_spec
from planner.readers.hf_config import read_config
from planner.weights import parameters, parameters_by_role
from tests.class_totals import configs_of, library_defaults
from tests.library import KEEPS_NOTHING, Reading, families, library_reading
from tests.lookalikes import lookalike

LENGTHS = (1, 128, 4_096, 8_192)
SHORT_LENGTHS = (1, 128)
"""For every preset: how a cache grows. Where it stops is compared for one of each model_type."""
CACHE = "bf16"
UNUSED = {"longcat_flash": (2, ("zero_expert_num", "hidden_size", "expert_ffn_hidden_size"))}
"""By model_type, the matrices and their sides that its class makes too much in a layer: for experts that do nothing."""
NOT_COUNTED = "are not counted"
BESIDE = dict.fromkeys(("qwen4_exp", "qwen4_exp_text"), (3 * 8, "positions on three axes, once for all indexers"))
"""By model_type, bytes a token that its class keeps beside its layers' caches, and what they are."""


class Verdict(StrEnum):
    """How a config compares. *unknown*: the library has no class for it, or shows no cache without more than tokens.

    *explained*: for a named reason the library makes, or keeps, something else than what is planned; or a class of it
    that has the same tensors stands in for one that it lacks.
    """

    EQUAL = "equal"
    EXPLAINED = "explained"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One config's verdict and a line about it."""

    verdict: Verdict
    line: str


def our_reading(architecture: Architecture, lengths: Sequence[int]) -> Reading:
    """What the planner says, under the rules of its ``transformers`` engine."""
    chosen = choose(Choices(model="", memory="1TiB", engine="transformers", kv_cache=CACHE), architecture)
    rank = prepare(architecture, chosen.deployment)[0]
    return Reading(
        parameters=parameters(architecture), cache_bytes={tokens: rank.request_bytes(tokens) for tokens in lengths}
    )


def compare(config: Mapping[str, Any], lengths: Sequence[int] = LENGTHS) -> Comparison:
    """Ours beside the library's; a cache that the library shows only up to some length is compared up to there."""
    try:
        architecture = read_config(config, presets.knowledge())
    except PlannerError as error:
        return Comparison(verdict=Verdict.REFUSED, line=str(error))
    like = lookalike(config)
    if like is not None:
        return _compare_alike(architecture, like, lengths)
    try:
        theirs = library_reading(config, lengths)
    except Exception as error:  # the library refuses in many ways: what it does not have is no finding of ours
        said = f"not in the library: {type(error).__name__}: {str(error)[:80]!r}"
        return Comparison(verdict=Verdict.UNKNOWN, line=said)
    if theirs.lacks:
        architecture = replace(architecture, towers=())
    ours = our_reading(architecture, tuple(theirs.cache_bytes))
    reason = _explanation(config, architecture, ours, theirs)
    if reason is not None:
        reason = "; ".join(filter(None, (reason, *_differences(architecture, theirs))))
    beside = _image_bytes(architecture), BESIDE.get(architecture.model_type, (0, ""))[0]
    gaps = {
        tokens: ours.cache_bytes[tokens] - size - beside[0] + beside[1] * tokens
        for tokens, size in theirs.cache_bytes.items()
    }
    if reason is None or any(gaps.values()):
        verdict = Verdict.WRONG
    elif not gaps and theirs.unread != KEEPS_NOTHING:
        verdict = Verdict.UNKNOWN
    else:
        verdict = Verdict.EXPLAINED if reason else Verdict.EQUAL
    said = f"differ by {theirs.parameters - ours.parameters:+,}" if reason is None else reason or "equal"
    return Comparison(verdict=verdict, line=f"parameters {said:24} cache {_cache_words(gaps, theirs)}")


def _compare_alike(architecture: Architecture, like: Mapping[str, Any], lengths: Sequence[int]) -> Comparison:
    """*architecture*'s text model beside a class of the library that is like it, and only like it: equal or unknown."""
    words = f"text model as the library's {like['model_type']!r}"
    try:
        theirs = library_reading(like, lengths)
    except Exception as error:  # the library refuses in many ways
        return Comparison(verdict=Verdict.UNKNOWN, line=f"{words}: {type(error).__name__}: {str(error)[:80]!r}")
    ours = our_reading(replace(architecture, towers=()), tuple(theirs.cache_bytes))
    if not theirs.cache_bytes or (ours.parameters, ours.cache_bytes) != (theirs.parameters, dict(theirs.cache_bytes)):
        gap = theirs.parameters - ours.parameters
        return Comparison(verdict=Verdict.UNKNOWN, line=f"{words} has {gap:+,} parameters, or another cache")
    return Comparison(verdict=Verdict.EXPLAINED, line=f"parameters and cache equal: {words}")


def _differences(architecture: Architecture, theirs: Reading) -> Iterator[str]:
    """In what else than parameters the library differs by a known amount."""
    if theirs.lacks:
        yield f"text model alone, since its towers need {theirs.lacks}"
    if theirs.unread == KEEPS_NOTHING:
        yield "its class reads the whole text again for each token, where other engines keep what is planned"
    if _image_bytes(architecture):
        yield "cache without the image that a plan counts"
    a_token, what = BESIDE.get(architecture.model_type, (0, ""))
    if what and theirs.cache_bytes:
        yield f"cache without {a_token} bytes a token: {what}"


def _image_bytes(architecture: Architecture) -> int:
    """What layers keep of an image, which a plan counts and a prompt of tokens alone does not have."""
    cache_format = format_presets.formats()[CACHE]
    return sum(
        mixer_spec(mixer, cache_format, cache_format).fixed_bytes
        for layer in architecture.layers
        for mixer in layer.mixers
        if isinstance(mixer, CrossAttention)
    )


def _cache_words(gaps: Mapping[int, int], theirs: Reading) -> str:
    if not gaps:
        return f"not read: {theirs.unread}"
    read = ", ".join(f"{tokens}: {gap:+,}" for tokens, gap in gaps.items()) if any(gaps.values()) else "equal"
    return read if not theirs.unread else f"{read} to {max(gaps):,} tokens; then {theirs.unread}"


def _explanation(config: Mapping[str, Any], architecture: Architecture, ours: Reading, theirs: Reading) -> str | None:
    """Why parameters differ: nothing to say where they are equal, ``None`` where no reason is known."""
    gap = theirs.parameters - ours.parameters
    if gap == 0:
        return ""
    matrices, sides = UNUSED.get(architecture.model_type, (0, ()))
    unused = matrices * math.prod(int(config.get(key) or 0) for key in sides)
    if gap == len(architecture.layers) * unused:
        return f"less by {gap:,}, which the class makes and no file holds"
    for role, count in parameters_by_role(architecture).items():
        if abs(gap) == count:
            return f"{'more' if gap > 0 else 'less'} by the {role} parameters"
    if gap > 0 and (warning := next((said for said in architecture.warnings if NOT_COUNTED in said), None)):
        return f"less by {gap:,}: {warning}"
    return None


def one_of_each() -> Iterator[presets.ModelPreset]:
    """The smallest preset of each model_type."""
    smallest: dict[str, tuple[int, presets.ModelPreset]] = {}
    for preset in presets.models():
        model_type = preset.config.get("model_type")
        if isinstance(model_type, str):
            size = preset.published_parameters or 2**60
            if model_type not in smallest or size < smallest[model_type][0]:
                smallest[model_type] = size, preset
    yield from (preset for _, preset in sorted(smallest.values(), key=lambda entry: entry[1].family))


def _cases(names: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What to compare: presets by name, families, or everything."""
    known = families()
    if not names:
        chosen = list(one_of_each())
        yield from ((preset.name, preset.published_config) for preset in chosen)
        others = sorted(known - {str(preset.config["model_type"]) for preset in chosen})
        yield from ((name, library_defaults(name)) for name in others)
    for name in names:
        if name in known:
            yield from ((name, config) for config in (library_defaults(name), *configs_of(name)))
        else:
            yield name, presets.find_model(name).published_config


def presets_by_shape() -> list[tuple[str, ...]]:
    """The names of all presets whose model_type the library has, those alike in every tensor and cache together.

    Models of few layers come first.
    """
    known = families()
    alike: dict[object, list[str]] = defaultdict(list)
    for preset in presets.models():
        if (model_type := preset.config.get("model_type")) in known:
            model = presets.load_preset(preset.name)
            alike[model_type, model.layers, model.tensors, model.towers].append(preset.name)
    return sorted(map(tuple, alike.values()), key=lambda names: len(presets.load_preset(names[0]).layers))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("models", nargs="*", help="presets or families; default: everything")
    parser.add_argument("--presets", action="store_true", help="every preset, at short lengths")
    arguments = parser.parse_args()
    found: dict[Verdict, list[str]] = defaultdict(list)
    if arguments.presets:
        cases = ((names, presets.find_model(names[0]).published_config) for names in presets_by_shape())
    else:
        cases = (((name,), config) for name, config in _cases(arguments.models))
    for names, config in cases:
        start = time.perf_counter()
        comparison = compare(config, SHORT_LENGTHS if arguments.presets else LENGTHS)
        found[comparison.verdict] += names
        shown = f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]
        print(f"{shown:32} {comparison.verdict:9} {comparison.line}  ({time.perf_counter() - start:.0f} s)", flush=True)
        gc.collect()
    for verdict in Verdict:
        print(f"{len(found[verdict]):4} {verdict}{':' if found[verdict] else ''} {', '.join(found[verdict])}".rstrip())
    return 1 if found[Verdict.WRONG] else 0


if __name__ == "__main__":
    sys.exit(main())
