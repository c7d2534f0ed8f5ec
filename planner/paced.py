"""A plan ready for questions about its speed: by its profile where that timed the machine, else by fitted constants."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from planner.architecture import Architecture, Attention, Layer
from planner.at_once import AtOnce, at_once
from planner.catalogue.links import find_link
from planner.catalogue.performance_presets import find_speed_constants, host_time, kernels_of, servers
from planner.deployment import MINIMUM, Deployment
from planner.engines import find_engine
from planner.engines.split import heads_on_rank
from planner.errors import PlannerError
from planner.inputs.choices import Chosen
from planner.records import dataclass
from planner.speed.constants import SpeedConstants
from planner.speed.fit import Measured, calibrate
from planner.speed.host import calibrated_without_graphs, without_graphs
from planner.speed.measured import measured_constants, measured_device
from planner.speed.names import engine_name
from planner.speed.operations import has_experts
from planner.speed.rates import Kernels
from planner.speed.work import Model, decode_work, peak_per_s, prepare_speed


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRate:
    """*tokens_per_s* that one user alone got of the plan; with *context_tokens* there, ``None``: those of the plan."""

    tokens_per_s: float
    context_tokens: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.tokens_per_s < float("inf"):
            raise PlannerError(f"{self.tokens_per_s:g} measured tokens a second are not possible: say more than 0.")
        if self.context_tokens is not None and self.context_tokens < 1:
            raise PlannerError(f"A rate was measured at {self.context_tokens:,} tokens: at least one is needed.")


WHOLE_LAYERS = "llama"
"""What the names of engines begin with that give every card whole layers."""
ON_CPU = "llama_cpp"
"""What runs where there is no card, unless an engine is named."""
_RUN_BY = {MINIMUM: "vllm", "ollama": "llama_cpp", "ik_llama_cpp": "llama_cpp"}


def run_by(engine: str, on_cpu: bool = False) -> str:
    """Whose speed *engine* has: it is, or began as, another one that was measured; ``minimum`` has none of its own.

    >>> run_by("ollama"), run_by("sglang"), run_by("minimum"), run_by("minimum", on_cpu=True)
    ('llama_cpp', 'sglang', 'vllm', 'llama_cpp')
    """
    return ON_CPU if on_cpu and engine == MINIMUM else _RUN_BY.get(engine, engine)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paced:
    """*model* on its devices, and the *constants* of its engine there; *is_measured*: by passes on that machine.
    *at_once*: how many of a replica's users decode together."""

    model: Model
    constants: SpeedConstants
    at_once: AtOnce
    is_measured: bool


def paced(chosen: Chosen, engine: str, measured: Sequence[MeasuredRate] = (), alone: bool = False) -> Paced:
    """Constants of *engine*, narrowed by what was *measured*, unless the plan's profile has a speed of its own.

    Raises PlannerError for a card whose rates are not known, for a profile of another machine, for points that cannot
    be, and where a part of the model does not lie on its cards. *alone*: the bandwidth is enough, for one user's
    answers.
    """
    deployment, profile = chosen.deployment, chosen.deployment.profile
    together = at_once(deployment, -(-chosen.workload.users // (deployment.data_parallel * deployment.replicas)))
    if profile is None or profile.speed is None:
        _check_on_cards(chosen.architecture, deployment)
        _check_split(chosen.architecture, deployment.tensor_parallel, engine)
        link = find_link(deployment.device, deployment.interconnect)
        model = prepare_speed(chosen.architecture, deployment, kernels_of(engine), link)
        if not alone:
            peak_per_s(model)  # refuses a card whose rate is not known
        constants = find_speed_constants(engine, deployment.device.name, has_experts(model.architecture))
        points = [_point(model, rate, chosen.workload.context_tokens) for rate in measured]
        return Paced(
            model=model,
            constants=_for_machine(constants, deployment, points),
            at_once=together,
            is_measured=False,
        )
    if measured:
        raise PlannerError("The profile says how fast this machine is: leave --measured out.")
    profile.check(deployment.subject(chosen.architecture.name))
    device = measured_device(deployment.device, profile.speed)
    source = f"measured on {profile.subject.device}, {len(profile.passes)} passes"
    measured_in, asked_in = profile.conditions.get("dtype", ""), deployment.weights.name
    if measured_in not in ("", asked_in):
        source += f" in {measured_in}, not {asked_in}"
    machine = replace(deployment, device=device, bandwidth_bytes_per_s=None)
    link = find_link(deployment.device, deployment.interconnect)
    return Paced(
        model=prepare_speed(chosen.architecture, machine, Kernels(), link),
        constants=measured_constants(deployment.engine, device, profile.speed, source),
        at_once=together,
        is_measured=True,
    )


def _for_machine(constants: SpeedConstants, deployment: Deployment, points: Sequence[Measured]) -> SpeedConstants:
    """*constants* with what was measured, and with the host's time where the plan's engine does without graphs."""
    host = host_time()
    if constants.engine in servers() and host.setting(deployment.settings.values):
        return calibrated_without_graphs(constants, host, points) if points else without_graphs(constants, host)
    return calibrate(constants, points) if points else constants


def _point(model: Model, rate: MeasuredRate, context_tokens: int) -> Measured:
    work = decode_work(model, 1, rate.context_tokens or context_tokens)
    return Measured(work=work, seconds=1 / rate.tokens_per_s)


def _check_on_cards(architecture: Architecture, deployment: Deployment) -> None:
    """Main memory is read at a rate of its own, which no data sheet of a card says."""
    ranks = find_engine(deployment.engine).ranks(architecture, deployment)
    there = _contents(layer for rank in ranks for layer in rank.layers)
    if any(part < whole for part, whole in zip(there, _contents(architecture.layers), strict=True)):
        raise PlannerError(
            f"A part of {architecture.title} lies in main memory, and how fast that is read is not known: its speed "
            "can be measured, not planned. Leave all layers on the card, or give a profile that timed the machine."
        )


def _check_split(architecture: Architecture, tensor_parallel: int, engine: str) -> None:
    """The engine whose speed it is must divide the heads so; memory alone asks for less."""
    if engine.startswith(WHOLE_LAYERS):
        if tensor_parallel > 1:
            raise PlannerError(
                f"{engine_name(engine)} was measured with whole layers on each card, which take turns: its speed on "
                "several cards is planned with --pipeline-parallel, not with --tensor-parallel."
            )
        return
    for layer in architecture.layers:
        for mixer in layer.mixers:
            if isinstance(mixer, Attention):
                heads_on_rank(mixer.num_key_value_heads, tensor_parallel, engine_name(engine))
                if mixer.num_attention_heads % tensor_parallel:
                    raise PlannerError(
                        f"tensor_parallel = {tensor_parallel} does not go with {mixer.num_attention_heads} attention "
                        f"heads: {engine_name(engine)} divides them evenly; choose a divisor."
                    )


def _contents(layers: Iterable[Layer]) -> tuple[int, int]:
    """How many tensors and mixers *layers* have together."""
    tensors = mixers = 0
    for layer in layers:
        tensors += len(layer.tensors)
        mixers += len(layer.mixers)
    return tensors, mixers
