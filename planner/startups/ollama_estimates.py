"""What Ollama worked out of a model before it loaded it, until June 2026: formulas of its own, over no cells or graphs.

Source: github.com/ollama/ollama at v0.12.3, fs/ggml/ggml.go (GraphSize) and llm/memory.go (EstimateGPULayers), and at
v0.20.3, llm/server.go (llamaServer.Load).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from planner.architecture import Attention
from planner.engines.llama_cpp.placement import outer
from planner.gguf_mixes import as_stored
from planner.inputs.choices import Chosen
from planner.logs.devices import is_host
from planner.logs.readings import Reading, Start
from planner.records import dataclass
from planner.settings.ollama_releases import own_engine
from planner.startups.prediction import Prediction, Predictions
from planner.units import MIB
from planner.weights import model_bytes

FORMULA = "Ollama's formula before it loads a model"
LAID = ("weights", "cache", "compute")
"""What it lays on each device: of models that it hands to llama.cpp an estimate, else what its own engine allocates."""
_LAID_ESTIMATES = tuple(f"estimated_{name}" for name in LAID)
PROJECTOR = ("estimated_projector", "estimated_projector_graph")
"""Of a vision tower, as printed."""
PADDED = 128
"""Words that a model's embedding may have more than its tokenizer: converters to GGUF leave them out."""
_CACHE_BYTES = {"q8_0": 1.0, "q4_0": 0.5, "fp32": 4.0}
"""Of one number in a cache, as the formulas round them; of any other type two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """What the formulas ask: *context* of all requests together, *batch* tokens of a step, widths and counts."""

    context: int
    batch: int
    requests: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    words: int

    @property
    def scores(self) -> int:
        """Of every head over the context, and the mask."""
        return self.context * (1 + self.heads)

    @property
    def logits_bytes(self) -> int:
        return 4 * self.batch * (self.width + self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Graph:
    """Bytes of a step with all layers on cards and with some of them."""

    full: int
    partial: int


def _llama(s: _Shape) -> _Graph:
    attention = 4 * s.batch * (1 + s.width + max(s.context, s.width)) + s.width**2 * 9 // 16
    attention += 4 * s.context * (s.batch * s.heads + s.head_dim * s.kv_heads)
    return _Graph(
        full=max(4 * s.batch * (1 + 4 * s.width + s.scores), s.logits_bytes),
        partial=4 * s.batch * s.width + max(attention, _output(s)),
    )


def _gemma(s: _Shape) -> _Graph:
    inner = 2 * s.width + 2 * s.head_dim * s.heads + s.scores
    moved = 4 * s.head_dim * s.context * 8 + s.width * s.head_dim * s.heads * 9 // 16
    return _Graph(
        full=max(s.logits_bytes, 4 * s.batch * (2 + inner)),
        partial=max(_output(s), 4 * s.batch * (1 + inner) + moved),
    )


def _gemma3n(s: _Shape) -> _Graph:
    found = _gemma(s)
    return _Graph(full=4 * found.full, partial=4 * found.partial)


def _command_r(s: _Shape) -> _Graph:
    moved = 4 * s.width * s.context + s.width**2 * 9 // 16
    return _Graph(
        full=max(s.logits_bytes, 4 * s.batch * (2 + 4 * s.width + s.scores)),
        partial=max(_output(s), 4 * s.batch * (1 + 2 * s.width + s.scores) + moved),
    )


def _qwen2(s: _Shape) -> _Graph:
    inner = s.batch * (1 + 2 * s.width + s.scores)
    return _Graph(
        full=max(s.logits_bytes, 4 * inner),
        partial=max(_output(s), 4 * (inner + s.width * (1 + s.context))),
    )


def _phi2(s: _Shape) -> _Graph:
    return _Graph(
        full=max(s.logits_bytes, 4 * s.batch * (1 + 4 * s.width + s.scores)),
        partial=max(
            _output(s) + 4 * s.batch * s.width,
            4 * s.batch * (2 + 3 * s.width + s.scores),
        ),
    )


def _stablelm(s: _Shape) -> _Graph:
    full = 4 * s.batch * (s.scores + 3 * s.width + 2)
    return _Graph(full=full, partial=max(4 * s.batch * (s.words + 2 * s.width), full))


def _output(s: _Shape) -> int:
    """Logits, with the output's weights beside them."""
    return s.logits_bytes + s.width * s.words * 105 // 128


_GRAPHS: Mapping[str, Callable[[_Shape], _Graph]] = {
    **dict.fromkeys(("llama", "mistral"), _llama),
    **dict.fromkeys(("gemma", "gemma2", "gemma3", "gemma3_text"), _gemma),
    **dict.fromkeys(("gemma3n", "gemma3n_text"), _gemma3n),
    **dict.fromkeys(("command-r", "cohere"), _command_r),
    "qwen2": _qwen2,
    **dict.fromkeys(("phi2", "phi"), _phi2),
    "stablelm": _stablelm,
}
"""By general.architecture and model_type; of any other a part of the cache is taken."""
_NOT_COUNTED = {
    *("mllama", "llama4", "llama4_text", "mixtral", "chatglm", "deepseek2", "deepseek_v2", "deepseek_v3"),
    *("gptoss", "gpt-oss", "gpt_oss"),
}
"""Models with formulas of their own that are not counted here."""
_KEEPS_WINDOWS = ("gemma3", "gemma3_text")
"""Of all others every token counts in every layer."""


def as_estimated(start: Start, chosen: Chosen) -> Start:
    """*start* with what Ollama lays on devices called an estimate, where llama.cpp has the model and prints nothing."""
    is_laid = any(source.startswith("device.go:") for source in start.sources)
    settings = chosen.deployment.settings
    if start.engine != "ollama" or not is_laid or start.most("estimated_weights") is not None:
        return start
    if own_engine(settings.version, chosen.architecture.model_type, settings.flag("ollama_engine")) is not None:
        return start
    return replace(start, readings=tuple(map(_estimated, start.readings)))


def _estimated(reading: Reading) -> Reading:
    return replace(reading, name=f"estimated_{reading.name}") if reading.name in LAID else reading


def predict_estimates(start: Start, chosen: Chosen) -> Predictions:
    """Cache, step and weights by the formulas; of one card also all of them together.

    Nothing where layers keep states, where the model has a formula of its own that is not counted, or for a part of it.
    """
    architecture = chosen.architecture
    mixers = [mixer for layer in architecture.layers for mixer in layer.mixers]
    heads = [mixer for mixer in mixers if isinstance(mixer, Attention)]
    if not heads or len(heads) != len(mixers) or architecture.model_type in _NOT_COUNTED:
        return {}
    if any(is_host(reading.rank) for reading in start.readings if reading.name in _LAID_ESTIMATES):
        return {}
    shape = _shape(chosen, heads)
    ends = [_estimates(start, chosen, heads, each) for each in (shape, replace(shape, words=shape.words - PADDED))]
    return {name: Prediction(value=size, low=ends[1][name], high=size, basis=FORMULA) for name, size in ends[0].items()}


def _estimates(start: Start, chosen: Chosen, heads: Sequence[Attention], shape: _Shape) -> dict[str, int]:
    """By the names of readings."""
    settings = chosen.deployment.settings
    caches = [_cache_bytes(shape, mixer, chosen) for mixer in heads]
    cache_bytes = sum(caches)
    graph, (first, layers, outputs) = _graph(shape, cache_bytes, start, chosen), _weights(chosen)
    shown = layers + (cache_bytes if settings.rule("estimate_weights") == "layers_and_cache" else outputs)
    found = {"estimated_cache": cache_bytes, "estimated_compute": graph.full, "estimated_weights": shown}
    if len(_available(start)) == 1:
        least = settings.rule("estimate_least_mib")[chosen.deployment.device.vendor or "nvidia"] * MIB
        beside = sum(reading.value for name in PROJECTOR for reading in start.named(name))
        is_whole = chosen.deployment.on_cpu or _is_whole(start)
        step = graph.full if is_whole else graph.partial
        found["required"] = round(least + first + caches[0] + layers + outputs + cache_bytes + step + beside)
    return found


def _shape(chosen: Chosen, heads: Sequence[Attention]) -> _Shape:
    architecture, settings = chosen.architecture, chosen.deployment.settings
    requests = max(settings.values["n_parallel"], chosen.workload.users)
    tokens = chosen.workload.context_tokens
    return _Shape(
        context=tokens * requests,
        batch=min(tokens, settings.values["n_batch"]),
        requests=requests,
        width=architecture.hidden_size,
        heads=max(mixer.num_attention_heads for mixer in heads),
        kv_heads=max(mixer.num_key_value_heads for mixer in heads),
        head_dim=heads[0].head_dim,
        words=architecture.vocab_size,
    )


def _cache_bytes(s: _Shape, mixer: Attention, chosen: Chosen) -> int:
    """Of one layer, whatever cells it has."""
    each = _CACHE_BYTES.get(chosen.deployment.kv_cache_k.name, 2.0)
    is_window = mixer.window_tokens is not None and chosen.architecture.model_type in _KEEPS_WINDOWS
    tokens = s.requests * (mixer.window_tokens or 0) + s.batch if is_window else s.context
    return int(tokens * (mixer.head_dim + mixer.v_head_dim) * mixer.num_key_value_heads * each)


def _graph(s: _Shape, cache_bytes: int, start: Start, chosen: Chosen) -> _Graph:
    """Of a model without a formula a part of its cache. Several cards have the partial one, Macs never."""
    formula = _GRAPHS.get(chosen.architecture.model_type)
    part = s.heads // s.kv_heads * cache_bytes // 6
    found = _Graph(full=part, partial=part) if formula is None else formula(s)
    if chosen.deployment.device.vendor == "apple":
        return _Graph(full=found.full, partial=found.full)
    return _Graph(full=found.partial, partial=found.partial) if len(_available(start)) > 1 else found


def _weights(chosen: Chosen) -> tuple[int, int, int]:
    """Of the first layer, of all layers, and of the output: no embedding that is not the output as well."""
    scheme = chosen.deployment.weights
    stored = as_stored(chosen.architecture, scheme)
    _, outputs = outer(stored, chosen.deployment)
    parts = ((stored.layers[:1], ()), (stored.layers, ()), ((), outputs))
    first, layers, output = (model_bytes(of, tensors, scheme) for of, tensors in parts)
    return first, layers, output


def _available(start: Start) -> list[Reading]:
    """What is free on each card, as the line of the estimate has it."""
    required = start.most("required")
    return [] if required is None else [reading for reading in start.named("free") if reading.line == required.line]


def _is_whole(start: Start) -> bool:
    """Whether every layer and the output are on cards."""
    offloaded, offloadable = start.most("offloaded"), start.most("offloadable")
    return offloaded is None or offloadable is None or offloaded.value >= offloadable.value
