"""Whether vLLM's own parser takes every launch command that the planner writes, and reads what was meant.

Runs where vLLM is installed, with nothing loaded: ``make test-vllm``.
"""

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planner.inputs.choices import Choices, choose
from planner.launch import launch
from planner.launch.base import words_of
from planner.launch.vllm import SPELLING, SPLITS, SWITCHES, VALUES
from planner.presets import engine_data

MODEL = Choices(model="llama-3.1-8b", device="h100-sxm", engine="vllm", context=4_096)
NUMBERS: Mapping[str, Any] = {
    "gpu_memory_utilization": 0.85,
    "kv_cache_memory_bytes": 12_345_678_901,
    "num_gpu_blocks_override": 1_234,
    "max_num_seqs": 77,
    "max_num_batched_tokens": 4_100,
    "block_size": 32,
    "cpu_offload_gb": 1.5,
    "max_loras": 3,
    "max_lora_rank": 16,
}
"""A value of each setting that is a number, none of them vLLM's default."""
GONE = ("mamba_cache_mode", "all")
"""What the newest release has no more: a plan of states with it is refused."""
Parse = Callable[[list[str]], Namespace]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Choices whose command must give *attribute* the value *meant*."""

    choices: Choices
    attribute: str
    meant: Any


def cases() -> Iterator[Case]:
    """Every option that a command may have, with each value that it may have."""
    settings = engine_data("vllm").settings
    for name in VALUES:
        for value in settings[name].choices or (NUMBERS[name],):
            if (name, value) != GONE:
                yield _setting(name, value)
    for name in SWITCHES:
        yield from (_setting(name, value) for value in (True, False))
    for name, option in SPLITS.items():
        yield Case(choices=_with(**{name: 2}), attribute=option.removeprefix("--").replace("-", "_"), meant=2)
    experts = _with(model="qwen3-30b-a3b", data_parallel=2, expert_parallel=2)
    yield Case(choices=experts, attribute="enable_expert_parallel", meant=True)
    several = _with(model="kimi-k2", device="h200-sxm", tensor_parallel=16)
    yield Case(choices=several, attribute="nnodes", meant=2)
    apart = _with(model="kimi-k2", device="h200-sxm", data_parallel=16)
    yield Case(choices=apart, attribute="data_parallel_size_local", meant=8)
    for cache in ("fp8", "nvfp4-kv", "bf16", "fp16", "fp32"):
        is_cache = cache in SPELLING.caches
        meant = (SPELLING.caches if is_cache else SPELLING.dtypes)[cache]
        # Numbers in full are those of weights and cache alike.
        given = {"weights": cache} if cache == "fp32" else {}
        choices = _with(kv_cache=cache, **given)
        yield Case(choices=choices, attribute="kv_cache_dtype" if is_cache else "dtype", meant=meant)
    for weights, meant in SPELLING.weights.items():
        yield Case(choices=_with(weights=weights), attribute="quantization", meant=meant)
    yield from _drafts()


def _drafts() -> Iterator[Case]:
    by_setting = _with(model="deepseek-v3", set=("num_speculative_tokens=2", "speculative_method=mtp"))
    yield _draft(by_setting, {"method": "mtp", "num_speculative_tokens": 2})
    ngram = _with(set=("num_speculative_tokens=3", "speculative_method=ngram"))
    yield _draft(ngram, {"method": "ngram", "num_speculative_tokens": 3})
    smaller = _with(draft_model="llama-3.2-1b", draft_tokens=4)
    model = "meta-llama/Llama-3.2-1B"
    yield _draft(smaller, {"method": "draft_model", "model": model, "num_speculative_tokens": 4})
    yield _draft(_with(draft_model="eagle", draft_tokens=5), {"method": "eagle", "num_speculative_tokens": 5})


def _draft(choices: Choices, meant: Mapping[str, Any]) -> Case:
    return Case(choices=choices, attribute="speculative_config", meant=meant)


def _setting(name: str, value: Any) -> Case:
    lora = ("enable_lora=true",) if "lora" in name and name != "enable_lora" else ()
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return Case(choices=_with(set=(*lora, f"{name}={text}")), attribute=name, meant=value)


def _with(**given: Any) -> Choices:
    return Choices(**{name: getattr(MODEL, name) for name in ("model", "device", "engine", "context")} | given)


def difference(case: Case, parse: Parse) -> str:
    """Nothing, or what the parser refuses or reads in place of what was meant."""
    command = launch(case.choices, choose(case.choices))
    assert command is not None
    try:
        found = parse(words_of(command.text)[1:])
    except SystemExit:
        return "refused"
    theirs = getattr(found, case.attribute, None)
    if isinstance(case.meant, Mapping):
        same = isinstance(theirs, Mapping) and case.meant.items() <= theirs.items()
    else:
        same = theirs == case.meant
    if not same:
        return f"read as {theirs!r}"
    return "" if found.max_model_len == MODEL.context else f"a context of {found.max_model_len}"


def parser() -> Parse:
    """The parser behind ``vllm serve``."""
    from vllm.entrypoints.cli.serve import ServeSubcommand
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    found = FlexibleArgumentParser()
    ServeSubcommand().subparser_init(found.add_subparsers())
    return found.parse_args  # type: ignore[no-any-return]


def main() -> int:
    os.environ["VLLM_NO_USAGE_STATS"] = "1"
    parse, every = parser(), list(cases())
    wrong = [(case, problem) for case in every if (problem := difference(case, parse))]
    for case, problem in wrong:
        print(f"{case.attribute} = {case.meant!r}: {problem}")
    print(f"{len(every) - len(wrong)} of {len(every)} launch commands are read by vLLM's own parser as they are meant.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
