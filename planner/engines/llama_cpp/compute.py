"""The buffers in which llama.cpp computes one step: one a card, and the host's.

Each is an arena that is used again and again: the worst case of a prompt's step over the whole cache, found by handing
its results out as ggml's allocator does. Source: https://github.com/ggml-org/llama.cpp/blob/3f545becc/src/
llama-context.cpp, sched_reserve.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache

from planner.architecture import Architecture
from planner.deployment import Deployment
from planner.engines.llama_cpp.cache import latent_values
from planner.engines.llama_cpp.options import Options, options
from planner.engines.llama_cpp.placement import HOST, LayerPlace, Placement, is_layer_words
from planner.engines.llama_cpp.step.build import Model, PlacedLayer, step_peaks, telling_layers
from planner.engines.llama_cpp.step.frame import Extent, Rules
from planner.engines.llama_cpp.step.shapes import layer_shapes
from planner.formats import Role
from planner.weights import tensor_bytes

_COPIES = 4
"""With several cards a step's inputs are there so often, so that one card can work ahead of the next."""


class StepBuffers:
    """The buffers of one deployment, whatever is asked of it."""

    def __init__(self, architecture: Architecture, deployment: Deployment, placement: Placement) -> None:
        self._architecture, self._deployment, self._placement = architecture, deployment, placement
        self._rules = _rules(deployment)
        cards = len(placement.cards)
        self._cards = 0 if deployment.on_cpu else cards
        self._copies = _COPIES if cards > 1 and not placement.host.layers else 1

    def sizes(self, tokens: int, requests: int) -> Mapping[int, int]:
        """Bytes of each device's buffer for a step of *requests* slots of *tokens* each, by card and ``HOST``."""
        return _peaks(self._model, self.extent(tokens, requests), self._rules, self._copies)

    def host_alone(self, tokens: int, requests: int) -> int:
        """Bytes of the host's buffer where no card takes part, with every layer in main memory."""
        return _peaks(self._model_on_host, self.extent(tokens, requests), self._rules, 1)[HOST]

    @cached_property
    def _model(self) -> Model:
        return _model(self._architecture, self._deployment, self._placement, self._cards)

    @cached_property
    def _model_on_host(self) -> Model:
        return _model(self._architecture, self._deployment, self._placement, 0)

    def extent(self, tokens: int, requests: int) -> Extent:
        return extent_of(self._architecture, self._deployment, tokens, requests)


@lru_cache(maxsize=4096)
def _peaks(model: Model, extent: Extent, rules: Rules, copies: int) -> Mapping[int, int]:
    return step_peaks(model, extent, rules, copies)


def _layers(
    architecture: Architecture, deployment: Deployment, places: tuple[LayerPlace, ...], cards: int
) -> Iterator[PlacedLayer]:
    """Every layer's shape with its devices, equal ones as one object.

    Matrices that no card copies count nothing, so that layers of other formats are equal.
    """
    merges_gate = architecture.model_type in deployment.settings.rule("merged_gate")
    shapes = layer_shapes(architecture, (place.layer for place in places), deployment.weights, merges_gate)
    by_object: dict[tuple[int, int, int, int], PlacedLayer] = {}
    equal: dict[PlacedLayer, PlacedLayer] = {}
    for place, shape in zip(places, shapes, strict=True):
        device, experts, cache = (place.device, place.experts, place.cache) if cards else (HOST, HOST, HOST)
        key = (id(shape), device, experts, cache)
        if key not in by_object:
            is_copied = bool(cards) and HOST in (device, experts)
            kept = shape if is_copied else shape.without_matrices()
            layer = PlacedLayer(shape=kept, device=device, experts=experts, cache=cache)
            by_object[key] = equal.setdefault(layer, layer)
        yield by_object[key]


def _model(architecture: Architecture, deployment: Deployment, placement: Placement, cards: int) -> Model:
    output = placement.output if cards else HOST
    second = [tensor for tensor in architecture.tensors if is_layer_words(tensor)]
    projections = [t for t in architecture.tensors if t.role is Role.LINEAR and "per_layer_model_proj" in t.name]
    heads = [tensor for tensor in architecture.tensors if tensor.role is Role.HEAD]
    words = heads or [tensor for tensor in architecture.tensors if tensor.role is Role.EMBEDDING]
    return Model(
        hidden=architecture.hidden_size,
        vocab=architecture.vocab_size,
        layers=telling_layers(_layers(architecture, deployment, placement.layers, cards)),
        output=output,
        output_bytes=max((tensor_bytes(t, deployment.weights) for t in words), default=0) if output == HOST else 0,
        layer_words=max((tensor.columns for tensor in second), default=0),
        layer_words_device=output if deployment.settings.rule("layer_words") == "output" else HOST,
        layer_words_bytes=max((tensor_bytes(t, deployment.weights) for t in projections), default=0),
        cards=cards,
    )


def extent_of(architecture: Architecture, deployment: Deployment, tokens: int, requests: int) -> Extent:
    """A step of a prompt in every slot: as many tokens as one step has, over all cells."""
    chosen: Options = options(deployment)
    slots, is_unified = chosen.slots(requests), chosen.unified(requests)
    cells, streams = chosen.cells(tokens, requests), 1 if is_unified else slots
    step_tokens = min(chosen.n_ubatch, cells * streams)
    windows = {
        window
        for layer in architecture.layers
        for mixer in layer.mixers
        if (window := getattr(mixer, "window_tokens", None)) is not None
    }
    if chosen.window_extra_tokens is None or architecture.model_type in deployment.settings.rule("ignored_windows"):
        windows = set()
    shared_by = slots if is_unified else 1
    by_slots = deployment.settings.rule("outputs") == "slots"
    return Extent(
        tokens=step_tokens,
        sequences=slots,
        streams=streams,
        cells=cells,
        window_cells=tuple((w, min(cells, chosen.window_cells(w, shared_by))) for w in sorted(windows)),
        outputs=min(step_tokens, slots * chosen.states) if by_slots else step_tokens,
        flash=chosen.flash_attn,
        keys=deployment.kv_cache_k,
        values=deployment.kv_cache_v,
    )


def _rules(deployment: Deployment) -> Rules:
    settings = deployment.settings
    is_plain = deployment.kv_cache_k.is_unquantized and deployment.kv_cache_v.is_unquantized
    return Rules(
        latent="mla_attn" if settings.rule("latent_values") == "mla_attn" else "absorbed",
        mla_attn=settings.values.get("mla_attn", 0),
        latent_copy=latent_values(deployment) == "copy",
        embedding_inputs=settings.rule("embedding_inputs"),
        gate_takes_place=settings.rule("inner_results") == 2,
        casts_mask=settings.rule("flash_mask_bytes") == 6,
        max_batch_mib=settings.values.get("attn_max_batch", 0),
        fuses_experts=bool(settings.values.get("fused_moe", False)),
        copies_cache=not is_plain and deployment.device.vendor in settings.rule("copies_quantized_cache"),
        copies_joined=settings.rule("copies_joined"),
        fuses_norm=settings.rule("fuses_norm"),
        has_indices=settings.rule("cell_indices"),
        rotates_cache=settings.rule("rotates_cache"),
        stages_experts=not settings.values.get("run_time_repack", False),
        shares_experts=settings.rule("stages_experts") == "used",
    )
