"""SGLang's own options, release by release, against every launch command that the planner writes for it.

``sglang_options.json`` has the options that such a command may have, as the ``server_args.py`` of each release declares
them: a switch, a value, or one of several.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planner.answers.answer import answer
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.launch import launch, parse_launch
from planner.launch.base import words_of
from planner.launch.sglang import COMMAND, SPELLING, SPLITS, SWITCHES, VALUES
from planner.presets import engine_data

RELEASES = json.loads((Path(__file__).parents[1] / "data" / "sglang_options.json").read_text(encoding="utf-8"))
NUMBERS: dict[str, Any] = {
    "mem_fraction_static": 0.77,
    "max_total_tokens": 90_000,
    "max_running_requests": 33,
    "chunked_prefill_size": 3_072,
    "max_prefill_tokens": 9_000,
    "cuda_graph_max_bs": 24,
    "page_size": 32,
    "swa_full_tokens_ratio": 0.5,
    "mamba_full_memory_ratio": 0.7,
    "max_mamba_cache_size": 120,
    "speculative_num_draft_tokens": 5,
}


def choices(version: str, **given: Any) -> Choices:
    base = {"model": "llama-3.1-8b", "device": "h100-sxm", "engine": "sglang", "context": 4_096}
    return Choices(**base | given, engine_version=version)


def cases(version: str) -> Iterator[Choices]:
    """Every option that a command may have, with each value that it may have."""
    settings = engine_data("sglang").settings
    for name in VALUES:
        for value in settings[name].choices or (NUMBERS[name],):
            yield choices(version, set=(f"{name}={value}",))
    yield from (choices(version, set=(f"{name}=true",)) for name in SWITCHES)
    yield from (choices(version, **{name: 2}) for name in ("tensor_parallel", "pipeline_parallel", "data_parallel"))
    yield choices(version, model="deepseek-v3", data_parallel=8, expert_parallel=8)
    yield choices(version, model="deepseek-v3", tensor_parallel=16)
    yield from (choices(version, kv_cache=name) for name in (*SPELLING.caches, *SPELLING.dtypes))
    yield from (choices(version, weights=name) for name in SPELLING.weights)
    for name in settings["speculative_algorithm"].choices:
        drafting = (f"speculative_algorithm={name}", "speculative_num_draft_tokens=4")
        yield choices(version, model="deepseek-v3", set=drafting)
    yield choices(version, draft_model="llama-3.2-1b", draft_tokens=4)
    yield choices(version, draft_model="eagle", draft_tokens=4)


def options(command: str) -> Iterator[tuple[str, str | None]]:
    """Each option with its value, ``None`` of a switch."""
    words = words_of(command)[len(COMMAND) :]
    for word, following in zip(words, [*words[1:], "--"], strict=True):
        if word.startswith("--"):
            yield word, None if following.startswith("--") else following


def is_later(option: str, version: str) -> bool:
    """Whether no release up to *version* has the option: what it sets is not in that release."""
    known = list(RELEASES)
    return not any(option in RELEASES[each] for each in known[: known.index(version) + 1])


def is_taken(option: str, value: str | None, version: str) -> bool:
    declared = RELEASES[version].get(option)
    if isinstance(declared, list):
        return value in declared
    return declared == ("switch" if value is None else "value")


@pytest.mark.parametrize("version", RELEASES)
def test_every_command_is_in_the_words_of_its_release(version: str) -> None:
    tried: set[str] = set()
    for each in cases(version):
        command = launch(each, choose(each))
        assert command is not None
        found = [pair for pair in options(command.text) if not is_later(pair[0], version)]
        assert [pair for pair in found if not is_taken(*pair, version) and not refused(each)] == []
        tried |= {option for option, _ in found}
    assert tried >= {"--model-path", "--context-length", "--kv-cache-dtype", "--quantization", *SPLITS}


def refused(each: Choices) -> bool:
    """Whether the planner itself says that this release cannot do it."""
    try:
        chosen = choose(each)
        answer(chosen.architecture, chosen.deployment, chosen.workload)
    except PlannerError:
        return True
    return False


@pytest.mark.parametrize("version", RELEASES)
def test_each_command_is_read_back(version: str) -> None:
    for each in cases(version):
        command = launch(each, choose(each))
        assert command is not None
        again = parse_launch("sglang", command.text, each)
        written = launch(again, choose(again))
        assert written is not None
        assert written.text == command.text
