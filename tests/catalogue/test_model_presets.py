"""Every model preset is read, and its parameters are the published ones or differ by what the preset says."""

import datetime
from collections.abc import Callable
from math import ceil

import pytest

from planner import format_presets, presets
from planner.architecture import Architecture, distinct_layers
from planner.errors import UnknownName
from planner.formats import Role
from planner.presets import ModelPreset, find_model, load_preset, models
from planner.toml_tables import TomlTables
from planner.weights import parameters, parameters_by_role
from tests.checkpoints import stored_bytes

MODELS = list(models())
REAL = [preset for preset in MODELS if preset.family != "nominal"]


def by_name(preset: ModelPreset) -> str:
    return preset.name


@pytest.mark.parametrize("preset", REAL, ids=by_name)
def test_parameters_and_what_is_not_loaded_make_the_published_total(preset: ModelPreset) -> None:
    architecture = load_preset(preset.name)
    assert not architecture.assumed
    assert preset.published_parameters == parameters(architecture) + sum(preset.also_published.values())


Extra = Callable[[ModelPreset, Architecture], int]


def mtp(preset: ModelPreset, architecture: Architecture) -> int:
    return parameters_by_role(architecture)["mtp"]


def mtp_without_embeddings(preset: ModelPreset, architecture: Architecture) -> int:
    """The same without copies of the embedding and the head, where the family's files usually have them."""
    return sum(
        count * tensor.elements
        for layer, count in distinct_layers(architecture.mtp_layers)
        for tensor in layer.tensors
        if tensor.role not in (Role.EMBEDDING, Role.HEAD)
    )


def fp8_scales(preset: ModelPreset, architecture: Architecture) -> int:
    """One scale a block of 128 × 128, in every linear layer and expert but those that the files keep in 16 bit."""
    return sum(
        count * tensor.count * ceil(tensor.rows / 128) * ceil(tensor.columns / 128)
        for layer, count in distinct_layers((*architecture.layers, *architecture.mtp_layers))
        for tensor in layer.tensors
        if tensor.role in (Role.LINEAR, Role.EXPERT) and not tensor.name.startswith(IN_16_BIT)
    )


IN_16_BIT = ("eh_proj", "self_attn.indexer.weights_proj")


def tied_head(preset: ModelPreset, architecture: Architecture) -> int:
    return architecture.vocab_size * architecture.hidden_size


def rotary_frequencies(preset: ModelPreset, architecture: Architecture) -> int:
    """One for every two rotated dimensions of a head, in each layer; for MLA, of hidden size over heads."""
    text = preset.config.get("text_config", preset.config)
    rotated = int(text["hidden_size"] // text["num_attention_heads"] * text.get("rotary_pct", 1))
    return len(architecture.layers) * rotated // 2


def causal_masks(preset: ModelPreset, architecture: Architecture) -> int:
    """Context by context in every layer; GPT-Neo's files have those of half of the layers."""
    masks = len(architecture.layers) // (2 if preset.config["model_type"] == "gpt_neo" else 1)
    assert architecture.max_position_embeddings
    return masks * architecture.max_position_embeddings**2


def routing_bias(preset: ModelPreset, architecture: Architecture) -> int:
    """Counted, but not in the stated total: the biases that choose the experts."""
    return -sum(
        tensor.elements
        for layer in (*architecture.layers, *architecture.mtp_layers)
        for tensor in layer.tensors
        if tensor.name.endswith("e_score_correction_bias")
    )


def unused_norm(preset: ModelPreset, architecture: Architecture) -> int:
    return architecture.hidden_size


def matrix_scales(preset: ModelPreset, architecture: Architecture) -> int:
    """A weight's scale and an input's, one each a matrix; an expert has two, with gate and up in one."""
    return 2 * sum(
        count * (tensor.count if tensor.role is Role.EXPERT else 1)
        for layer, count in distinct_layers(architecture.layers)
        for tensor in layer.tensors
        if tensor.role in (Role.LINEAR, Role.EXPERT) and tensor.name != "mlp.experts.up_proj.weight"
    )


def layer_scales(preset: ModelPreset, architecture: Architecture) -> int:
    return len(architecture.layers)


def image_scaling(preset: ModelPreset, architecture: Architecture) -> int:
    """Mean and scale of each feature of the vision tower."""
    return 2 * int(preset.config["vision_config"]["hidden_size"])


def shared_keys_and_values(preset: ModelPreset, architecture: Architecture) -> int:
    """Key and value projections and the keys' norm, in layers that use another layer's cache."""
    text = preset.config["text_config"]
    head_dims = {"sliding_attention": text["head_dim"], "full_attention": text.get("global_head_dim", text["head_dim"])}
    number = text["num_kv_shared_layers"]
    shared = text.get("layer_types", ["full_attention"] * number)[-number:]
    widths = [text["num_key_value_heads"] * head_dims[kind] for kind in shared]
    norms = [head_dims[kind] for kind in shared]
    return sum(2 * width * int(text["hidden_size"]) + norm for width, norm in zip(widths, norms, strict=True))


def audio_statistics(preset: ModelPreset, architecture: Architecture) -> int:
    """Mean and spread of each sound band, by which spectrograms are normalised."""
    return 2 * int(preset.config["audio_processor"]["config"]["input_size"])


EXTRAS: dict[str, Extra] = {
    "audio_statistics": audio_statistics,
    "mtp": mtp,
    "mtp_without_embeddings": mtp_without_embeddings,
    "scales": fp8_scales,
    "tied_head": tied_head,
    "rotary_frequencies": rotary_frequencies,
    "causal_masks": causal_masks,
    "routing_bias": routing_bias,
    "unused_norm": unused_norm,
    "matrix_scales": matrix_scales,
    "layer_scales": layer_scales,
    "image_scaling": image_scaling,
    "shared_keys_and_values": shared_keys_and_values,
}


@pytest.mark.parametrize("preset", [preset for preset in REAL if preset.also_published], ids=by_name)
def test_what_is_not_loaded_is_said_in_words_and_follows_from_the_figures(preset: ModelPreset) -> None:
    assert preset.parameters_note
    architecture = load_preset(preset.name)
    for extra, number in preset.also_published.items():
        assert EXTRAS[extra](preset, architecture) == number, extra


def checkpoint_method(preset: ModelPreset) -> str:
    config = preset.config.get("text_config", preset.config)
    quantization = preset.config.get("quantization_config", config.get("quantization_config", {}))
    return str(quantization.get("quant_method", ""))


@pytest.mark.parametrize("preset", [preset for preset in REAL if checkpoint_method(preset)], ids=by_name)
def test_the_layers_of_a_quantised_checkpoint_have_fewer_than_nine_bits_a_weight(preset: ModelPreset) -> None:
    """Embedding and head stay in 16 bit, and are a tenth of the smallest of them."""
    layers = distinct_layers(load_preset(preset.name).layers)
    tensors = [(tensor, count) for layer, count in layers for tensor in layer.tensors]
    stored = sum(tensor.stored.bytes_for(tensor.columns, tensor.rows) * tensor.count * each for tensor, each in tensors)
    assert 8 * stored < 9 * sum(tensor.elements * each for tensor, each in tensors)


@pytest.mark.parametrize("preset", REAL, ids=by_name)
def test_a_stored_format_that_is_only_recalled_is_assumed(preset: ModelPreset) -> None:
    """What its source says of the dtype, and what plans of it say, is one thing."""
    is_recalled = "dtype recalled" in preset.source or "recalled, not re-read" in preset.source
    assert not is_recalled or preset.stored_doubt == "recalled"
    assert preset.stored_doubt != "recalled" or "recalled" in preset.source
    assert load_preset(preset.name).stored_assumed == bool(preset.stored_doubt)


# A byte a parameter, one more for embedding, head, routers and towers (1.279, 0.705, 1.781 billion), 4 for each of the
# 128 x 128 blocks. The card of iSkye/Kolibri-1-NVFP4-Experts states 73.4 GiB.
@pytest.mark.parametrize(
    ("name", "billion_bytes"), [("minimax-m2", 230.02), ("kolibri-1", 78.83), ("ministral-3-14b", 15.73)]
)
def test_models_that_are_published_in_fp8_weigh_half(name: str, billion_bytes: float) -> None:
    architecture = load_preset(name)
    assert architecture.stored_as.startswith("fp8")
    assert stored_bytes(architecture) / 1e9 == pytest.approx(billion_bytes, abs=0.005)


@pytest.mark.parametrize("preset", MODELS, ids=by_name)
def test_every_preset_says_where_its_figures_come_from(preset: ModelPreset) -> None:
    assert preset.source
    assert isinstance(preset.retrieved, datetime.date)
    assert preset.family == "nominal" or (preset.licence and isinstance(preset.release, datetime.date))


def test_every_name_title_and_alias_leads_to_one_preset() -> None:
    taken: dict[str, str] = {}
    for preset in MODELS:
        assert preset.name == preset.name.lower()
        for name in {preset.name, preset.title.lower(), *map(str.lower, preset.aliases)}:
            assert taken.setdefault(name, preset.name) == preset.name
    assert len({preset.title for preset in MODELS}) == len(MODELS)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("llama-3.1-8b", "llama-3.1-8b"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("META-LLAMA/llama-3.1-8b", "llama-3.1-8b"),
        ("llama3.1:8b", "llama-3.1-8b"),
        ("Qwen2.5-7B", "qwen2.5-7b"),
        ("qwen2.5:7b", "qwen2.5-7b-instruct"),
        (" gpt-oss:20b ", "gpt-oss-20b"),
    ],
)
def test_a_model_is_found_by_name_title_hub_id_and_ollama_tag(asked: str, name: str) -> None:
    assert find_model(asked).name == name


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    with pytest.raises(UnknownName, match=r"llama-3\.1-8b"):
        find_model("llama-3.1-9b")


def test_loading_one_preset_parses_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    parse = TomlTables.parse
    monkeypatch.setattr(TomlTables, "parse", lambda tables, key: parsed.append(key) or parse(tables, key))
    for cached in (presets.find_model, presets.load_preset, presets._model, format_presets.formats):
        cached.cache_clear()
    load_preset("mistral-7b-v0.3")
    loaded = set(parsed)
    assert loaded & {preset.name for preset in presets.models()} == {"mistral-7b-v0.3"}


@pytest.mark.parametrize(
    ("name", "key"),
    [("mistral-7b-v0.2", "sliding_window"), ("mistral-7b-v0.3", "sliding_window")],
)
def test_a_null_of_the_published_file_undoes_the_class_default(name: str, key: str) -> None:
    preset = find_model(name)
    assert key in preset.null_keys
    assert key not in preset.config
    assert all(mixer.window_tokens is None for layer in load_preset(name).layers for mixer in layer.mixers)
