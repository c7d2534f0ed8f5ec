"""The flag that makes a refused start of vLLM succeed: what vLLM 0.32.0 itself started with, and not with a token more.

``make test-vllm`` makes these refusals and starts; here the same lines and lengths are kept.
"""

from pathlib import Path

import pytest

from tests.vllm_itself import Case, planned, write
from tests.vllm_refusals import CASES, offered, too_small

VERSION = "0.32.0"
STARTED = (1_408, 1_600, 1_536, 512, 1_024, 1_616, 256)
"""The longest context with which each of the cases started, in their order."""


def refusal(case: Case, folder: Path, longest: int) -> str:
    """What vLLM prints; these caches are a few MiB."""
    arguments = {"max_model_len": case.context, "enforce_eager": True, "model": str(folder), **case.settings}
    return (
        f"(MainProcess pid=14824) INFO 11-30 15:19:04 [api_utils.py:286] non-default args: {arguments}\n"
        f"(MainProcess pid=14824) INFO 11-30 15:19:06 [core.py:133] Initializing a V1 LLM engine (v{VERSION}) with "
        f"config: model='{folder}', speculative_config=None, dtype=torch.bfloat16, max_seq_len={case.context}\n"
        f"ValueError: To serve at least one request with the model's max seq len ({case.context}), (0.0 GiB KV cache "
        "is needed, which is larger than the available KV cache memory (0.0 GiB). Based on the available memory, the "
        f"estimated maximum model length is {longest}. Try increasing `gpu_memory_utilization` (which also controls "
        "CPU memory on the CPU backend) or decreasing `max_model_len` when initializing the engine.\n"
    )


@pytest.mark.parametrize(("case", "started"), list(zip(CASES, STARTED, strict=True)), ids=lambda each: str(each)[:40])
def test_the_engine_and_the_plan_name_the_longest_context_that_starts(case: Case, started: int, tmp_path: Path) -> None:
    folder = write(tmp_path / case.model, case.model)
    small = too_small(case, folder, VERSION)
    report = planned(small, folder, VERSION).report
    assert report is not None
    assert report.longest_start_tokens == started
    assert dict(offered(small, folder, refusal(small, folder, started))) == {"engine": started, "planner": started}
