"""vLLM's own refusals, made on this machine's CPU: the flag that the report of the log offers, and whether it is right.

Each case starts three times: with a cache too small for one request; with the length that the report offers, which must
start; with one token more, which must not. ``make test-vllm``.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.startups.report import report_log
from tests.vllm_itself import ENVIRONMENT, Case, Printed, log_of, planned, start, write

OFFERS = "--max-model-len "
CASES = (
    Case(model="llama"),
    Case(model="llama", kv_cache="fp8", settings={"block_size": 32}),
    Case(model="qwen3_moe", settings={"block_size": 64}),
    Case(model="gemma3_text", settings={"max_num_batched_tokens": 512}),
    Case(model="gpt_oss", settings={"max_num_batched_tokens": 512}),
    Case(model="deepseek_v3", settings={"block_size": 16}),
    Case(model="qwen3_next", settings={"mamba_ssm_cache_dtype": "float32"}),
)


def offered(case: Case, folder: Path, log: str) -> Iterator[tuple[str, int]]:
    """The lengths that the report on the *log* of a refused start offers, each with who says it.

    What a CPU does without a word is stated beside it: blocks of 128 tokens, and no step planned ahead.
    """
    given = {"block_size": 128, "async_scheduling": False, **case.settings}
    choices = Choices(
        model=str(folder),
        memory="8GiB",
        kv_cache=case.kv_cache,
        engine="",
        set=tuple(f"{name}={value}" for name, value in given.items()),
    )
    for one in report_log(read_log(log), choices).would_start:
        if one.starts and one.option.startswith(OFFERS):
            yield one.says, int(one.option.removeprefix(OFFERS).split()[0])


def too_small(case: Case, folder: Path, version: str) -> Case:
    """*case* with a cache of two fifths of what one request takes."""
    need_bytes = planned(case, folder, version).kv_request_bytes or 0
    return replace(case, settings={**case.settings, "kv_cache_memory_bytes": need_bytes * 2 // 5})


def row(case: Case, folder: Path, version: str) -> tuple[str, str, str, str, str]:
    """Model, what is offered and by whom, and what became of a start with that and with one token more."""
    small = too_small(case, folder, version)
    lengths = dict(offered(small, folder, log_of(small, folder)))
    if not lengths:
        return case.model, case.title, "nothing is offered", "", "wrong"
    longest = lengths.get("engine", max(lengths.values()))
    outcomes = [isinstance(start(replace(small, context=longest + more), folder), Printed) for more in (0, 1)]
    said = ", ".join(f"{length:,} ({who})" for who, length in lengths.items())
    became = ", ".join("starts" if started else "is refused" for started in outcomes)
    is_right = outcomes == [True, False] and len(set(lengths.values())) == 1
    return case.model, case.title, said, became, "right" if is_right else "wrong"


def main() -> int:
    os.environ.update(ENVIRONMENT)
    import vllm

    print(
        "| model | settings | offered for a context of 4,096 | with it, with one token more | |\n|---|---|---|---|---|"
    )
    right = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(CASES):
            found = row(case, write(Path(folder) / str(number), case.model), vllm.__version__)
            right += found[-1] == "right"
            print(f"| {' | '.join(found)} |", flush=True)
    print(
        f"\n{right} of {len(CASES)} refusals of vLLM {vllm.__version__} are answered with the flag that makes it start."
    )
    return 0 if right == len(CASES) else 1


if __name__ == "__main__":
    sys.exit(main())
