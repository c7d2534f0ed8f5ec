"""Which part of a model lies on which card, and which in main memory.

Source: https://github.com/ggml-org/llama.cpp/blob/3f545becc/src/llama-model.cpp, load_tensors.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import accumulate

from planner.architecture import Architecture, Attention, LatentAttention, Layer, Mixer, Tensor
from planner.deployment import Deployment
from planner.engines.base import Rank
from planner.engines.llama_cpp.options import options
from planner.errors import PlannerError
from planner.formats import Role
from planner.records import dataclass

HOST = -1
"""The device that is main memory; cards are 0, 1, …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerPlace:
    """The devices of one *layer*: its matrices', its experts' and its cells'."""

    layer: Layer
    device: int
    experts: int
    cache: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """*cards* in order, what stays on the *host*, where every layer lies, and the *output*'s device.

    Without a card the machine itself stands for one: nothing is beside it, and every device is ``HOST``.
    """

    cards: tuple[Rank, ...]
    host: Rank
    layers: tuple[LayerPlace, ...]
    output: int

    @property
    def is_whole(self) -> bool:
        """Whether every layer lies on a card, experts included."""
        return not self.host.layers


def place(architecture: Architecture, deployment: Deployment) -> Placement:
    """Layers from the last on the cards, by the cards' memory, and the output behind; the embedding on the host.

    A tied embedding is there twice: on the host to look words up, and as the output. Experts, and with no_kv_offload
    caches, stay on the host where so set.
    """
    settings = deployment.settings
    if architecture.model_type in settings.rule("ignored_windows"):
        architecture = replace(architecture, layers=tuple(_without_windows(architecture.layers)))
    layers = architecture.layers + _prediction_layers(architecture, deployment)
    number = len(architecture.layers)
    asked = settings.integer("n_gpu_layers")
    offloaded = 0 if deployment.on_cpu else number + 1 if asked is None else min(asked, number + 1)
    first = number + 1 - offloaded if settings.rule("output_first") else max(0, number - offloaded)
    first = len(layers) if deployment.on_cpu else first
    has_output = offloaded > (0 if settings.rule("output_first") else number)
    cpu_moe_layers = frozenset(settings.values["cpu_moe_layers"] or ())
    cpu_moe = number if settings.flag("cpu_moe") else settings.values["n_cpu_moe"]
    count = deployment.pipeline_parallel
    if count > number:
        raise PlannerError(f"pipeline_parallel = {count} needs a layer a card; {architecture.title} has {number}.")
    on_cards: list[list[Layer]] = [[] for _ in range(count)]
    on_host: list[Layer] = []
    places: list[LayerPlace] = []
    card_of = _card_of(deployment, number + 1 - first)
    split = _Splitter(no_kv_offload=bool(settings.flag("no_kv_offload")))
    for index, layer in enumerate(layers):
        if index < first:
            on_host.append(layer)
            places.append(LayerPlace(layer=layer, device=HOST, experts=HOST, cache=HOST))
            continue
        keeps_experts = index >= cpu_moe and index not in cpu_moe_layers
        card, rest = split.layer(layer, keeps_experts)
        device = card_of(min(index, number) - first)
        on_cards[device].append(card)
        cache = HOST if split.no_kv_offload else device
        places.append(LayerPlace(layer=layer, device=device, experts=device if keeps_experts else HOST, cache=cache))
        if rest is not None:
            on_host.append(rest)
    inputs, outputs = outer(architecture, deployment)
    towers = () if settings.flag("no_mmproj") else architecture.towers
    cards = [
        Rank(
            layers=tuple(mine),
            tensors=outputs if has_output and index == card_of(number - first) else (),
            towers=towers if index == 0 and offloaded else (),
        )
        for index, mine in enumerate(on_cards)
    ]
    if not has_output:
        # A file that is mapped serves a tied embedding for both.
        is_mapped = not settings.values.get("run_time_repack", False)
        inputs += tuple(tensor for tensor in outputs if not is_mapped or tensor not in inputs)
    host = Rank(layers=tuple(on_host), tensors=inputs, towers=() if offloaded else towers)
    return Placement(
        cards=(host,) if deployment.on_cpu else tuple(cards),
        host=Rank(layers=(), tensors=(), towers=()) if deployment.on_cpu else host,
        layers=tuple(places[:number]),
        output=card_of(number - first) if has_output else HOST,
    )


def _without_windows(layers: Iterable[Layer]) -> Iterator[Layer]:
    made: dict[int, Layer] = {}
    for layer in layers:
        if id(layer) not in made:
            made[id(layer)] = replace(layer, mixers=tuple(map(_keeps_all, layer.mixers)))
        yield made[id(layer)]


def _keeps_all(mixer: Mixer) -> Mixer:
    return replace(mixer, window_tokens=None) if isinstance(mixer, Attention | LatentAttention) else mixer


def _card_of(deployment: Deployment, parts: int) -> Callable[[int], int]:
    """Which card takes which of *parts*, layers and the output: each as many as its share, which is stated or that of
    all cards' memory."""
    stated = deployment.settings.values["tensor_split"]
    if stated is not None and (len(stated) != len(deployment.stages) or not sum(stated)):
        raise PlannerError(
            f"tensor_split has {len(stated)} shares for {len(deployment.stages)} cards: give one a card, not all of "
            "them 0."
        )
    ends = list(accumulate(stated or (card.memory_bytes for card in deployment.stages)))
    return lambda part: bisect_right(ends, part * ends[-1] // parts)


def _prediction_layers(architecture: Architecture, deployment: Deployment) -> tuple[Layer, ...]:
    """Those that draft; or their caches alone, where a version keeps them all the same."""
    if options(deployment).drafts:
        return architecture.mtp_layers
    if architecture.model_type in deployment.settings.rule("cached_prediction_layers"):
        return tuple(replace(layer, tensors=()) for layer in architecture.mtp_layers)
    return ()


def is_layer_words(tensor: Tensor) -> bool:
    """Whether *tensor* is a second embedding, of which every layer adds a part."""
    return tensor.role is Role.EMBEDDING and "per_layer" in tensor.name


def outer(architecture: Architecture, deployment: Deployment) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Tensors around the layers: those that are read first, and those of the output."""
    with_output = deployment.settings.rule("layer_words") == "output"

    def is_input(tensor: Tensor) -> bool:
        return tensor.role is Role.EMBEDDING and not (with_output and is_layer_words(tensor))

    inputs = tuple(t for t in architecture.tensors if is_input(t))
    outputs = tuple(t for t in architecture.tensors if not is_input(t))
    if all(tensor.role is not Role.HEAD for tensor in outputs):
        words = (t for t in inputs if (t.rows, t.columns) == (architecture.vocab_size, architecture.hidden_size))
        outputs = (*list(words)[:1], *outputs)
    return inputs, outputs


class _Splitter:
    """Divides equal layers once, so that equal layers stay one object."""

    def __init__(self, no_kv_offload: bool) -> None:
        self.no_kv_offload = no_kv_offload
        self._made: dict[tuple[int, bool], tuple[Layer, Layer | None]] = {}

    def layer(self, layer: Layer, keeps_experts: bool) -> tuple[Layer, Layer | None]:
        """The card's part of *layer* and the host's, None where there is none."""
        key = (id(layer), keeps_experts)
        if key not in self._made:
            experts = () if keeps_experts else tuple(t for t in layer.tensors if t.active >= 0)
            mixers = layer.mixers if self.no_kv_offload else ()
            card = layer
            if experts or mixers:
                tensors = tuple(t for t in layer.tensors if t not in experts)
                card = replace(layer, tensors=tensors, mixers=() if mixers else layer.mixers)
            host = replace(layer, tensors=experts, mixers=mixers) if experts or mixers else None
            self._made[key] = card, host
        return self._made[key]
