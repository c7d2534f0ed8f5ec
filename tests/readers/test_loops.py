"""Models that run layers more than once: weights once, a cache for every pass."""

import pytest

from planner.architecture import Architecture
from planner.errors import BadFile, UnsupportedModel
from planner.kv_cache import bytes_for, model_specs
from planner.readers.checkpoint.tensors import with_file_tensors
from planner.readers.hf_config import read_config
from planner.readers.stored_tensors import StoredTensors, TensorTable
from planner.weights import parameters
from tests.readers.knowledge import FORMATS, KNOWLEDGE

BF16 = FORMATS["bf16"]
OURO = {
    "model_type": "ouro", "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 128,
    "vocab_size": 100, "torch_dtype": "bfloat16",
}  # fmt: skip


def read(**changes: object) -> Architecture:
    return read_config({**OURO, **changes}, KNOWLEDGE)


def test_each_pass_keeps_a_cache_and_brings_no_weights() -> None:
    """A layer: four projections of 64 × 64, three of 128 × 64, four norms; keys and values of 64 each."""
    layer = 4 * 64 * 64 + 3 * 128 * 64 + 4 * 64
    outer = 2 * 100 * 64 + 64 + 64 + 1
    for steps in (1, 4):
        model = read(total_ut_steps=steps)
        assert parameters(model) == 3 * layer + outer
        assert bytes_for(model_specs(model.layers, BF16, BF16), 10) == steps * 3 * 2 * 64 * 2 * 10


def test_a_loop_over_layers_that_are_not_there_is_refused() -> None:
    with pytest.raises(UnsupportedModel, match="layers from 0 to 3 of 3 cannot run 30,000 times"):
        read(total_ut_steps=30_000)


HRM = {
    "model_type": "hrm_text", "hidden_size": 64, "num_layers_per_stack": 2, "num_attention_heads": 4, "head_dim": 16,
    "num_key_value_heads": 4, "intermediate_size": 128, "vocab_size": 100, "torch_dtype": "bfloat16",
}  # fmt: skip


def in_files(model: Architecture, *stacks: str) -> StoredTensors:
    """The model's own tensors as a file names them: each stack numbers its layers from 0."""
    table = TensorTable()
    own = [layer for layer in model.layers if layer.tensors]
    for index, layer in enumerate(own):
        stack, number = divmod(index, len(own) // len(stacks))
        for tensor in layer.tensors:
            table.add(f"model.{stacks[stack]}layers.{number}.{tensor.name}", "BF16", (tensor.rows, tensor.columns))
    for tensor in model.tensors:
        table.add(f"model.{tensor.name}", "BF16", (tensor.rows, tensor.columns))
    return StoredTensors(source="the file", groups=table.groups())


def test_files_number_a_layer_once_however_often_it_runs() -> None:
    model, hrm = read(total_ut_steps=4), read_config(HRM, KNOWLEDGE)
    for known, stored in ((model, in_files(model, "")), (hrm, in_files(hrm, "L_module.", "H_module."))):
        found = with_file_tensors(known, stored)
        assert parameters(found) == parameters(known)
        assert [layer.mixers for layer in found.layers] == [layer.mixers for layer in known.layers]
    with pytest.raises(BadFile, match=r"has tensors of layer \d+"):
        with_file_tensors(model, in_files(read(num_hidden_layers=4, total_ut_steps=4), ""))
