"""Nominal classes: a round number of parameters with the attention shape people mean by "a 7B model"."""

from collections.abc import Mapping

from planner.architecture import Architecture, Attention, Layer, Tensor
from planner.formats import NumberFormat, Role
from planner.readers.values import Values

NOMINAL_KEY = "nominal_parameters"
_LARGEST = 2**50
_ROW = 12_800


def read_nominal(
    config: Mapping[str, object], formats: Mapping[str, NumberFormat], name: str, title: str, source: str
) -> Architecture:
    """One lump of 16-bit parameters, and layers that cache but weigh nothing of their own."""
    values = Values(config, "nominal")
    parameters = config[NOMINAL_KEY]
    if isinstance(parameters, bool) or not isinstance(parameters, int) or not 1 <= parameters <= _LARGEST:
        raise values.wrong(NOMINAL_KEY, parameters, "a positive whole number")
    heads = values.integer("num_attention_heads")
    head_dim = values.integer("head_dim")
    attention = Attention(
        num_attention_heads=heads,
        num_key_value_heads=values.integer("num_key_value_heads"),
        head_dim=head_dim,
        v_head_dim=head_dim,
    )
    stored = formats["fp16"]
    return Architecture(
        name=name,
        title=title or name,
        model_type="nominal",
        hidden_size=values.integer("hidden_size"),
        vocab_size=0,
        max_position_embeddings=values.optional_integer("max_position_embeddings"),
        layers=(Layer(kind="full_attention", mixers=(attention,), tensors=()),) * values.integer("num_hidden_layers"),
        tensors=(_lump(parameters, stored),),
        cache_format=stored,
        stored_as=stored.name,
        source=source,
        nominal=True,
    )


def _lump(parameters: int, stored: NumberFormat) -> Tensor:
    """All parameters as one matrix, in rows of a usual length where they divide: formats scale by row and tile."""
    rows, rest = divmod(parameters, _ROW)
    if rest:
        rows = 1
    return Tensor(name="parameters", role=Role.LINEAR, rows=rows, columns=parameters // rows, stored=stored)
