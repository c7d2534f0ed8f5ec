"""What an engine reads from its environment and not from its command: how many layers each pipeline stage has.

Source: vllm/envs.py; python/sglang/srt/distributed/utils.py.
"""

import re
from collections.abc import Mapping

from planner.deployment import Deployment
from planner.engines.split import PARTITION

PARTITIONS: Mapping[str, str] = {"vllm": "VLLM_PP_LAYER_PARTITION", "sglang": "SGLANG_PP_LAYER_PARTITION"}
"""By engine, the variable of the setting PARTITION."""


def variables(deployment: Deployment) -> list[str]:
    """The words that stand before the command."""
    stages: tuple[int, ...] | None = deployment.settings.values.get(PARTITION)
    return [] if stages is None else [f"{PARTITIONS[deployment.engine]}={','.join(map(str, stages))}"]


def stated(engine: str, text: str) -> tuple[str, ...]:
    """The settings that stand before the command in *text*, or are handed to its container."""
    found = re.search(rf"(?<!\w){PARTITIONS[engine]}=[\"']?([\d,]{{1,200}})", text, re.ASCII)
    return () if found is None else (f"{PARTITION}={found[1].strip(',')}",)
