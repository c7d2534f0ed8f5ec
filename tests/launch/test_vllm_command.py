"""What ``make test-vllm`` puts to vLLM's own parser is every option that a command may have."""

import pytest

from planner.inputs.choices import choose
from planner.launch import launch, parse_launch
from planner.launch.vllm import SPELLING, SWITCHES, VALUES
from tests.vllm_command import Case, cases


def test_every_option_of_a_command_is_put_to_vllms_parser() -> None:
    tried = [case.attribute for case in cases()]
    assert set(tried) >= {*VALUES, *SWITCHES, "kv_cache_dtype", "quantization", "speculative_config"}
    assert tried.count("kv_cache_dtype") == len(SPELLING.caches)


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: f"{case.attribute}={case.meant}")
def test_our_own_parser_reads_them_too(case: Case) -> None:
    command = launch(case.choices, choose(case.choices))
    assert command is not None
    again = parse_launch("vllm", command.text, case.choices)
    written = launch(again, choose(again))
    assert written is not None
    assert written.text == command.text
