"""The conditions of a reading: without them it says nothing about another machine, or another day on this one."""

import platform
from importlib.metadata import version
from typing import Any

import torch

from measure.instruments.base import Instrument
from measure.models import find_source
from measure.setup import Setup


def conditions(setup: Setup, instrument: Instrument) -> dict[str, Any]:
    """Everything that must be equal for two readings to be of the same thing, as JSON."""
    return {
        "device": instrument.title,
        "device_kind": instrument.kind,
        "device_bytes": instrument.total_bytes,
        "driver": instrument.driver(),
        "threads": torch.get_num_threads(),
        "platform": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": version("transformers"),
        "model": setup.model,
        "model_changes": find_source(setup).changes if setup.scale == "small" else "",
        "dtype": setup.dtype,
        "attention": setup.attention,
        "seed": setup.seed,
    }
