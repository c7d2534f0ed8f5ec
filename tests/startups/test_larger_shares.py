"""SGLang's share of the card after a start that left nothing for its caches: with a cache of any size it starts."""

import pytest

from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.startups.report import LogReport, report_log
from planner.units import GIB

STATIC = (
    "server_args=ServerArgs(model_path='meta-llama/Llama-3.1-8B-Instruct', mem_fraction_static=0.62, tp_size=1, "
    "context_length={context}, chunked_prefill_size=2048)\n"
    "Load weight begin. avail mem=23.21 GB\nLoad weight end. avail mem=8.16 GB, mem usage=15.05 GB.\n"
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
)


def report(context: int | None) -> LogReport:
    return report_log(read_log(STATIC.format(context=context)), Choices(model="", engine=""))


def test_sglang_starts_with_any_cache_whatever_the_model_could_hold() -> None:
    """8.16 GiB − 0.33 × 23.21 are 0.50: what is sure without the model is so with it, and then how much that holds."""
    tries = report(None).would_start
    assert (tries[0].option, tries[0].starts) == ("--mem-fraction-static 0.67", True)
    usual, least = tries[1:3]
    assert usual.change.startswith("Without mem_fraction_static")
    assert usual.option.startswith("--context-length ")
    assert least.max_context_tokens is not None
    # 131,072 B a token of 0.50 GiB, by a card whose size is known to two digits.
    assert least.max_context_tokens * 131_072 == pytest.approx(0.50 * GIB, rel=0.02)
    assert least.option == f"--context-length {least.max_context_tokens} --mem-fraction-static 0.67"


def test_sglang_gets_the_smallest_share_that_holds_the_length_that_was_asked_for() -> None:
    """8,192 tokens are 1.00 GiB: 1 − 7.16 ÷ 23.21 = 0.6915."""
    tries = {one.option: one for one in report(8192).would_start}
    assert tries["--mem-fraction-static 0.7"].starts
