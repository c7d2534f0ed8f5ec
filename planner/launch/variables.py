"""What an engine reads from its environment and not from its command.

Source: vllm/envs.py; python/sglang/srt/distributed/utils.py.
"""

import re
from collections.abc import Mapping

from planner.deployment import Deployment

VARIABLES: Mapping[str, Mapping[str, str]] = {
    "vllm": {
        "pp_layer_partition": "VLLM_PP_LAYER_PARTITION",
        "estimate_cudagraphs": "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS",
    },
    "sglang": {"pp_layer_partition": "SGLANG_PP_LAYER_PARTITION"},
}
"""By engine and setting."""


def variables(deployment: Deployment) -> list[str]:
    """The words that stand before the command."""
    settings = deployment.settings
    return [
        f"{variable}={_written(settings.values[name])}"
        for name, variable in VARIABLES[deployment.engine].items()
        if name in settings.given
    ]


def stated(engine: str, text: str) -> tuple[str, ...]:
    """The settings that stand before the command in *text*, or are handed to its container."""
    found = (
        (name, re.search(rf"(?<!\w){variable}=[\"']?(\w[\w,]{{0,200}})", text, re.ASCII))
        for name, variable in VARIABLES[engine].items()
    )
    return tuple(f"{name}={match[1].strip(',')}" for name, match in found if match)


def _written(value: object) -> str:
    match value:
        case bool():
            return str(int(value))
        case tuple():
            return ",".join(map(str, value))
    return str(value)
