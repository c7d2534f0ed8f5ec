"""From names and figures as a person gives them to a model, a deployment and a workload; and back to a command.

Command line, app and library all come through here, so that the same choices give the same bytes.
"""

import shlex
from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import islice
from math import prod
from typing import TYPE_CHECKING

from planner import presets
from planner.architecture import Architecture
from planner.bandwidth import parse_bandwidth
from planner.catalogue.library_names import OLLAMA
from planner.catalogue.native_files import converted_file
from planner.deployment import CPU, MINIMUM, Deployment, Device, Workload
from planner.draft_settings import draft_settings
from planner.engines import ENGINES, find_engine
from planner.errors import PlannerError, UnknownName
from planner.formats import QuantScheme
from planner.inputs.format_choices import choose_cache, choose_weights, named_file, sixteen_bit, weights_in_name
from planner.inputs.library_files import text_alone, without_towers
from planner.inputs.model_files import load_model
from planner.inputs.named_cards import choose_card, listed_cards
from planner.records import dataclass
from planner.settings.data import EngineData, settle
from planner.units import parse_bytes

if TYPE_CHECKING:
    from planner.calibration import CalibrationProfile
    from planner.draft import Draft

DEFAULT_CONTEXT_TOKENS = 8_192
FOR_SPEED = ("interconnect", "bandwidth")
"""What memory does not depend on: what joins the cards, and how fast they are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What ``plan`` is asked, by the names of its options. ``None`` takes the default that the option documents.

    *set* holds the engine's own settings as ``KEY=VALUE``.
    """

    model: str
    device: str | None = None
    memory: str | None = None
    device_count: int | None = None
    devices: str | None = None
    weights: str | None = None
    quantize: str | None = None
    kv_cache: str | None = None
    kv_cache_k: str | None = None
    kv_cache_v: str | None = None
    engine: str = MINIMUM
    engine_version: str | None = None
    set: tuple[str, ...] = ()
    context: int | None = None
    users: int = 1
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    expert_parallel: int | None = None
    data_parallel: int | None = None
    interconnect: str | None = None
    bandwidth: str | None = None
    replicas: int = 1
    overhead: str | None = None
    host_memory: str | None = None
    display: bool = False
    profile: str | None = None
    draft_model: str | None = None
    draft_tokens: int | None = None
    draft_weights: str | None = None
    online: bool = False

    @property
    def card_count(self) -> int:
        """How many cards are asked for, however they are split."""
        if self.devices is not None:
            return self.devices.count(",") + 1
        split = self.tensor_parallel, self.pipeline_parallel, self.data_parallel
        return self.device_count or self.replicas * prod(number or 1 for number in split)

    def without_cards(self) -> "Choices":
        """The same but for all that is said of cards, their number and how they share the work."""
        split = dict.fromkeys(("tensor_parallel", "pipeline_parallel", "expert_parallel", "data_parallel"))
        cards = dict.fromkeys(("device", "memory", "devices", "device_count", "interconnect", "bandwidth"))
        return replace(self, **split, **cards, replicas=1)  # type: ignore[arg-type]

    def command(self) -> str:
        """The ``kvbudget`` command that gives the same plan; options at their default are left out.

        So are ``FOR_SPEED``.
        """
        words = ["kvbudget", "plan"]
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and value != field.default and field.name not in FOR_SPEED:
                option = f"--{field.name.replace('_', '-')}"
                for each in value if isinstance(value, tuple) else (value,):
                    words += [option] if each is True else [option, str(each)]
        return shlex.join(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Ready for ``plan()`` and ``answer()``."""

    architecture: Architecture
    deployment: Deployment
    workload: Workload


def choose(choices: Choices, architecture: Architecture | None = None) -> Chosen:
    """Resolves every name; *architecture* stands in for ``choices.model`` where a file was uploaded.

    Raises PlannerError with the option at fault.
    """
    _check_given(choices)
    model = architecture or load_model(choices.model, choices.online)
    found = find_engine(choices.engine)
    engine = found.name
    cards = choose_cards(choices)
    tensor_parallel, pipeline_parallel, data_parallel = _parallel(choices, len(cards), found.splits_layers)
    stored, file_note = (choices.weights, "") if choices.weights else named_file(choices.model, model, engine)
    if stored is None and not file_note and choices.quantize is None:
        stored, file_note = converted_file(engine, model)
    data = presets.engine_data(engine)
    gguf_engine = engine if "n_gpu_layers" in data.settings else ""
    weights = choose_weights(stored, choices.quantize, model, gguf_engine)
    followed = weights if found.cache_as_weights else None
    of_machine = choices.host_memory is None or cards[0].vendor == CPU
    draft, drafting = (
        choose_draft(choices, model, weights),
        draft_settings(data, choices.draft_model, choices.draft_tokens),
    )
    settings = settle(data, engine, choices.engine_version, (*choices.set, *drafting))
    if engine == OLLAMA and (alone := text_alone(model, weights)):
        settings, file_note = without_towers(settings), f"{file_note} {alone}".strip()
    deployment = Deployment(
        device=min(cards, key=lambda card: card.memory_bytes),
        weights=weights,
        kv_cache_k=choose_cache(choices.kv_cache_k or choices.kv_cache, model, followed),
        kv_cache_v=choose_cache(choices.kv_cache_v or choices.kv_cache, model, followed),
        engine=engine,
        tensor_parallel=tensor_parallel,
        pipeline_parallel=pipeline_parallel,
        data_parallel=data_parallel,
        expert_parallel=1 if choices.expert_parallel is None else choices.expert_parallel,
        interconnect=choices.interconnect,
        bandwidth_bytes_per_s=None if choices.bandwidth is None else parse_bandwidth(choices.bandwidth),
        replicas=choices.replicas,
        cards=cards if len(set(cards)) > 1 else (),
        settings=settings,
        overhead_bytes=None if choices.overhead is None else parse_bytes(choices.overhead, "overhead"),
        host_memory_bytes=None if of_machine else parse_bytes(choices.host_memory or "", "host_memory"),
        profile=None if choices.profile is None else _load_profile(choices.profile),
        draft=None if drafting else draft,
        desktop=presets.desktop_use() if choices.display else None,
        no_build=_no_build(data, cards, choices.engine_version),
        file_note=file_note,
    )
    context_tokens = default_context_tokens(model) if choices.context is None else choices.context
    workload = Workload(context_tokens=context_tokens, users=choices.users)
    deployment = found.follow(model, deployment, context_tokens)
    return Chosen(architecture=model, deployment=deployment, workload=workload)


def _no_build(data: EngineData, cards: Sequence[Device], version: str | None) -> str:
    """That the engine of *data* does not run on one of *cards*, and what does; empty where it runs on all."""

    def runs(engine: EngineData, card: Device, version: str | None = None) -> bool:
        return engine.runs_on(card.name, card.vendor) and engine.takes(card.compute_capability, version)

    device = next((card for card in cards if not runs(data, card, version)), None)
    if device is None:
        return ""
    others = (name for name in ENGINES if runs(presets.engine_data(name), device))
    engine, choice = data.title.partition(":")[0], ", ".join(islice(others, 1, None))
    earlier = "give an earlier --engine-version, or " * data.runs_on(device.name, device.vendor)
    return f"{engine} does not run on {device.title}; {earlier}choose one of: {choice}."


def _check_given(choices: Choices) -> None:
    """Nothing at all is no name, size or version; ``None`` is how a choice is left out."""
    for field in fields(choices):
        value = getattr(choices, field.name)
        if isinstance(value, str) and not value.strip() and field.name != "model":
            raise PlannerError(f"{field.name} is empty: give a value, or leave it out.")


def choose_draft(choices: Choices, model: Architecture, weights: QuantScheme) -> "Draft | None":
    """The draft that *choices* name beside *model*, whose own parts are stored in *weights*."""
    if choices.draft_model is None:
        if choices.draft_tokens is not None or choices.draft_weights is not None:
            raise PlannerError("Draft tokens and draft weights need a draft: give --draft-model.")
        return None
    if choices.draft_tokens is None:
        raise PlannerError(
            "A draft needs the number of tokens that it proposes a pass: give --draft-tokens, such as 4."
        )
    from planner.draft import METHODS, model_draft, own_draft  # only for plans with a draft
    from planner.gguf_mixes import as_stored

    name = choices.draft_model.strip().lower()
    if name in METHODS:
        if choices.draft_weights is not None:
            raise PlannerError(f"{name} is no model of its own: leave --draft-weights out.")
        return own_draft(name, model, weights, sixteen_bit(model), choices.draft_tokens)
    try:
        draft = load_model(choices.draft_model, choices.online)
    except UnknownName as error:
        from planner.catalogue.published_drafts import method_hint

        raise UnknownName(f"{error} {method_hint(name)}") from error
    stored = choose_weights(choices.draft_weights or weights_in_name(choices.draft_model), None, draft)
    return model_draft(as_stored(draft, stored), stored, choices.draft_tokens)


def _load_profile(name: str) -> "CalibrationProfile":
    from planner.inputs.profile_files import find_profile  # only for plans with a profile

    return find_profile(name)


def default_context_tokens(architecture: Architecture) -> int:
    """8,192 tokens, or the model's own limit where that is smaller."""
    return min(DEFAULT_CONTEXT_TOKENS, architecture.max_position_embeddings or DEFAULT_CONTEXT_TOKENS)


def choose_cards(choices: Choices) -> tuple[Device, ...]:
    """The cards in order: one that stands for all of its kind, or those of ``devices``, by name or by size."""
    if choices.devices is None:
        return (choose_card(choices.device, choices.memory, choices.host_memory),)
    if choices.device is not None or choices.memory is not None:
        raise PlannerError("Give --devices alone: it names every card, so --device and --memory have nothing to add.")
    return listed_cards(choices.devices)


def _parallel(choices: Choices, listed: int, splits_layers: bool) -> tuple[int, int, int]:
    """Tensor, pipeline and data parallel; a device count alone means the first, or the second with *splits_layers*.

    *listed* cards count where ``devices`` names them.
    """
    given = choices.tensor_parallel, choices.pipeline_parallel, choices.data_parallel
    tensor, pipeline, data = (1 if number is None else number for number in given)
    count = choices.device_count if choices.devices is None else listed
    if count is None:
        return tensor, pipeline, data
    if choices.device_count not in (None, count):
        raise PlannerError(f"device_count = {choices.device_count} does not match the {count} cards of --devices.")
    if all(number is None for number in given) and choices.replicas > 0 and count % choices.replicas == 0:
        each = count // choices.replicas
        return (1, each, 1) if splits_layers else (each, 1, 1)
    product = tensor * pipeline * data * choices.replicas
    if product != count:
        raise PlannerError(
            f"device_count = {count} does not match tensor_parallel × pipeline_parallel × data_parallel × replicas = "
            f"{product}; leave one of them out."
        )
    return tensor, pipeline, data
