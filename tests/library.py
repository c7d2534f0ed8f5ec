"""What transformers itself builds and caches of a config, on the meta device: exact shapes, no memory."""

import re
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

LEARNED_BUFFERS = ("e_score_correction_bias", "expert_bias", "tid2eid")
"""Stored like parameters, but buffers to the library: biases of routers, a table from tokens to experts."""
KEEPS_NOTHING = "the class keeps nothing from one token to the next"
PATIENCE_S = 90.0
"""Recurrent layers without their kernels step through a prompt: a length that would take longer is left out."""
_HALF_ROTATED = {"rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.5}}
_BY_KIND = {
    "rope_parameters": {
        kind: {"rope_type": "default", "rope_theta": 10_000.0} for kind in ("full_attention", "sliding_attention")
    }
}
_AXES = {"rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [16, 16, 16, 16]}}
NEEDED: Mapping[str, Mapping[str, Any]] = {
    "aya_vision": {
        "vision_config": {
            "model_type": "siglip_vision_model",
            "hidden_size": 1_152,
            "intermediate_size": 4_304,
            "image_size": 384,
            "num_attention_heads": 16,
            "num_hidden_layers": 26,
            "patch_size": 14,
            "vision_use_head": False,
        }
    },
    "dbrx": {"attn_config": {"clip_qkv": 8.0, "rope_theta": 10_000.0}},
    "chameleon": {"vocabulary_map": {"<image>": 8_711}},
    "emu3": {"vocabulary_map": {"<image>": 151_858, "<|extra_200|>": 151_846}},
    "glm46v": {"text_config": _HALF_ROTATED},
    "glm4v": {"text_config": _HALF_ROTATED},
    "glm4v_moe": {"text_config": _HALF_ROTATED},
    "cohere_compass": {"text_config": _BY_KIND},
    "cohere_compass_text": _BY_KIND,
    "deepseek_ocr2": {"text_config": {"mlp_layer_types": ["dense"] + 7 * ["sparse"], "num_experts_per_tok": 6}},
    "glmga": {"text_config": _HALF_ROTATED},
    "granite4_vision": {"deepstack_layer_map": [[-1, 0]], "downsample_rate": "4/8"},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128},
    "nemotron": {"head_dim": 128, "num_key_value_heads": 8},
    "qwen3_omni_moe": {
        "talker_config": {"spatial_merge_size": 2, "text_config": {"shared_expert_intermediate_size": 768}},
        "thinker_config": {"text_config": {"head_dim": 128}},
    },
    "qwen3_omni_moe_thinker": {"text_config": {"head_dim": 128}},
    "qwen4_exp": {"text_config": _HALF_ROTATED},
    "qwen4_exp_text": _HALF_ROTATED,
    "step3p7": {"text_config": {"sliding_window": 512}},
    "ministral": {"head_dim": 128},
    "hunyuan_vl": {"text_config": {"head_dim": 128} | _AXES},
}
"""What a class cannot be built or run without and has no default for; but for head_dim no memory depends on it."""
ASK_FOR_VALUES = frozenset({"jetmoe"})
"""Families whose class looks at what its tensors hold: these are real, and only a small model can be compared."""
TEXT_PARTS = ("thinker", "language_model")
"""Under which names a class keeps the part that reads tokens, where the whole wants an image or sound beside them."""
AUTO_CLASSES = (
    "AutoModelForImageTextToText",
    "AutoModelForMultimodalLM",
    "AutoModelForCausalLM",
    "AutoModelForSeq2SeqLM",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Parameters, and the bytes of all cache tensors by tokens of one request in bf16.

    Fewer lengths, or none, where the class refuses them, wants more than tokens, or asks for values that the meta
    device does not have; *unread* says why. *lacks* is what the library cannot build the towers without: then all of
    it is the text model's.
    """

    parameters: int
    cache_bytes: Mapping[int, int]
    unread: str = ""
    lacks: str = ""


def library_reading(config: Mapping[str, Any], lengths: Sequence[int]) -> Reading:
    """What the model class of *config* has and keeps. Raises what the library raises where it cannot build it."""
    with _on("cpu" if config.get("model_type") in ASK_FOR_VALUES else "meta"):
        model, lacks = _build_what_can_be(config)
        total = sum(tensor.numel() for tensor in model.parameters())
        total += sum(buffer.numel() for name, buffer in model.named_buffers() if name.endswith(LEARNED_BUFFERS))
        cache_bytes, unread = _cache_bytes(model, lengths)
        if not cache_bytes and unread != KEEPS_NOTHING:
            # These never ask whether a mask hides anything, nor for widths that their kernels like.
            model.set_attn_implementation("eager")
            model.set_experts_implementation("batched_mm")
            cache_bytes, unread = _cache_bytes(model, lengths)
        for text in () if cache_bytes or unread == KEEPS_NOTHING else _text_models(model):
            if not cache_bytes:
                cache_bytes, unread = _cache_bytes(text, lengths)
    return Reading(parameters=total, cache_bytes=cache_bytes, unread=unread, lacks=lacks)


def can_build(config: Mapping[str, Any]) -> bool:
    """Whether the library makes a model of *config*."""
    try:
        with _on("meta"):
            _build(config)
    except Exception:  # in as many ways as there are classes
        return False
    return True


def completed(config: Mapping[str, Any]) -> dict[str, Any]:
    """*config* as the class can take it: with what it needs, without a quantisation, which meta tensors have not."""
    kept = {key: value for key, value in config.items() if key != "quantization_config"}
    for key, needed in NEEDED.get(str(config.get("model_type")), {}).items():
        given = kept.get(key)
        if given is None:
            kept[key] = needed
        elif isinstance(given, Mapping) and isinstance(needed, Mapping):
            kept[key] = {**needed, **given}
    return kept


def _build(config: Mapping[str, Any]) -> Any:
    import torch
    from transformers import AutoConfig

    model_config = AutoConfig.for_model(**completed(config))
    return auto_class(model_config).from_config(model_config, dtype=torch.bfloat16).eval()


def _build_what_can_be(config: Mapping[str, Any]) -> tuple[Any, str]:
    """The model, or its text model alone and the package that its towers are made with and this machine lacks."""
    try:
        return _build(config), ""
    except ImportError as error:
        from transformers import AutoConfig

        text = _text_alone(AutoConfig.for_model(**completed(config)))
        if text is None:
            raise
        lacking = re.search(r"requires the (\w+) library", str(error))
        return text, lacking[1] if lacking else str(error)


@contextmanager
def _on(device: str) -> Iterator[None]:
    import torch

    checked = "torch.distributions.Distribution._validate_args"  # by values, which meta tensors do not have
    with torch.device(device), warnings.catch_warnings(), ExitStack() as patches:
        warnings.simplefilter("ignore")
        if device == "meta":
            patches.enter_context(patch(checked, False))
            patches.enter_context(patch.object(torch.Tensor, "nonzero", _none_found))
            patches.enter_context(patch.object(torch, "nonzero", _none_found))
        yield


def _none_found(tensor: Any, *, as_tuple: bool = False) -> Any:
    """For loops over the experts that a prompt chose: without values none are, and a cache does not depend on it."""
    import torch

    if as_tuple:
        return (tensor.new_empty((0,), dtype=torch.long),) * tensor.dim()
    return tensor.new_empty((0, tensor.dim()), dtype=torch.long)


def families() -> frozenset[str]:
    """Every model_type for which the library has a class that generates text."""
    from transformers.models.auto import modeling_auto

    return frozenset().union(
        modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
        modeling_auto.MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES,
    )


def auto_class(config: Any) -> Any:
    """The library's way to the class that generates text with *config*."""
    import transformers

    for auto in (getattr(transformers, name) for name in AUTO_CLASSES):
        if type(config) in auto._model_mapping:
            return auto
    raise LookupError(f"no class generates text with {type(config).__name__}")


def _text_models(model: Any) -> Iterator[Any]:
    """The text model alone, for a class that wants an image or sound beside its tokens: made again, or its own part."""
    if (text := _text_alone(model.config)) is not None:
        yield text
    parts = dict(model.named_modules())
    for name in TEXT_PARTS:
        yield from (part for path, part in parts.items() if path.rpartition(".")[2] == name)


def _text_alone(config: Any) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    text = config.get_text_config(decoder=True)
    if text is config or type(text) not in AutoModelForCausalLM._model_mapping:
        return None
    return AutoModelForCausalLM.from_config(text, dtype=torch.bfloat16)


def _cache_bytes(model: Any, lengths: Sequence[int]) -> tuple[dict[int, int], str]:
    from measure.tensors import tensor_bytes

    sizes: dict[int, int] = {}
    took_s: dict[int, float] = {}
    for tokens in lengths:
        if expected_s(took_s, tokens) > PATIENCE_S:
            return sizes, "its layers step through a prompt"
        start = time.process_time()
        try:
            if not (held := list(_kept(model, tokens))):
                return sizes, KEEPS_NOTHING
        except Exception as error:  # in as many ways as there are classes
            return sizes, f"{type(error).__name__}: {str(error)[:80]}"
        sizes[tokens] = tensor_bytes(held)
        took_s[tokens] = time.process_time() - start
    return sizes, ""


def expected_s(took_s: Mapping[int, float], tokens: int) -> float:
    """How long a prompt of *tokens* would take, on a line through the last two; the first pass is slow by itself."""
    if len(took_s) < 2:
        return 0.0
    (short, short_s), (long, long_s) = sorted(took_s.items())[-2:]
    return long_s + (long_s - short_s) / (long - short) * (tokens - long)


def _kept(model: Any, tokens: int) -> Iterator[Any]:
    """The tensors that *model* keeps of a prompt of *tokens*: in the cache that it returns, or else in its modules."""
    import torch
    from transformers import DynamicCache

    from measure.tensors import cache_of, held_tensors

    prompt = torch.zeros((1, tokens), dtype=torch.long)
    given = {"input_ids": prompt, "use_cache": True, **_conditions(model)}
    with torch.no_grad(), _one_sequence():
        cache = cache_of(model(**given))
        if cache is None:
            cache = DynamicCache(config=model.config)
            model(**given, cache=cache)
            states = [vars(module) for module in model.modules()]
            yield from (value for state in states for value in state.values() if isinstance(value, torch.Tensor))
    yield from held_tensors(cache)


def _conditions(model: Any) -> dict[str, Any]:
    """What a text model that follows a stream is told beside tokens: the time that it lags behind."""
    import torch

    is_timed = type(model).__name__ == "VoxtralRealtimeTextModel"
    return {"t_cond": torch.zeros(1, 1, model.config.hidden_size, dtype=torch.bfloat16)} if is_timed else {}


def _one_sequence() -> Any:
    """Without the look at positions for several prompts in one row, whose values the meta device does not have."""
    return patch("transformers.masking_utils.find_packed_sequence_indices", return_value=None)
