"""Files as the library itself would write them, of every class: each is the model that its config describes."""

import json
import warnings
from copy import deepcopy
from typing import Any

import pytest

from planner.readers.checkpoint.tensors import with_file_tensors
from planner.readers.hf_config import read_config
from planner.readers.stored_tensors import StoredTensors, TensorTable
from tests.class_totals import CLASS_TOTALS
from tests.library import auto_class
from tests.readers.knowledge import KNOWLEDGE

CASES: list[dict[str, Any]] = [
    case["config"] for case in json.loads(CLASS_TOTALS.read_text(encoding="utf-8"))["totals"]
]

TWO_IN_ONE = frozenset({"dory"})
"""Have a word for each half of a layer, which their files number together."""


def saved(config: dict[str, Any]) -> StoredTensors:
    """The names and shapes of the parameters that the class of *config* has, tied ones once."""
    import torch
    from transformers import AutoConfig

    model_config = AutoConfig.for_model(**deepcopy(config))
    table = TensorTable()
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = auto_class(model_config).from_config(model_config, dtype=torch.bfloat16)
        for name, tensor in model.named_parameters():
            table.add(name, "BF16", tuple(tensor.shape))
    return StoredTensors(source="its file", groups=table.groups())


@pytest.mark.slow
@pytest.mark.parametrize("config", CASES, ids=lambda config: str(config["model_type"]))
def test_a_class_and_its_config_are_of_one_model(config: dict[str, Any]) -> None:
    pytest.importorskip("transformers")
    try:
        stored = saved(config)
    except Exception:  # classes refuse configs in as many ways as there are classes
        pytest.skip("the library cannot build it")
    if config["model_type"] in TWO_IN_ONE:
        pytest.skip("its files number layers otherwise than its config")
    with_file_tensors(read_config(config, KNOWLEDGE, name="the model"), stored)
