"""How an engine's command says in what the model, its cache and its drafts are stored, and what it says read back."""

from collections.abc import Iterator, Mapping

from planner.choices import Choices, Chosen
from planner.deployment import Deployment
from planner.downloads import checkpoint_id, hub_id, stored_as
from planner.formats import CHECKPOINT
from planner.launch.base import known_name, option_of
from planner.records import dataclass

STANDS_FOR, IN = "CHECKPOINT-OF-", "-IN-"
"""What stands for a checkpoint that is not known: no such repository exists, so that nothing else is loaded."""
CACHE, DTYPE, WEIGHTS = "--kv-cache-dtype", "--dtype", "--quantization"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """Our formats by an engine's own names.

    *caches* has an option of its own; a cache in one of *dtypes* follows from the whole model's. *weights* are made
    while the engine loads: any other format needs a checkpoint that has it. *read* are further names of a cache.
    """

    caches: Mapping[str, str]
    dtypes: Mapping[str, str]
    weights: Mapping[str, str]
    read: Mapping[str, str]

    @property
    def flags(self) -> dict[str, str]:
        """The options by themselves, as ``choice`` wants them."""
        return {option: option for option in (CACHE, DTYPE, WEIGHTS)}

    def options(self, choices: Choices, deployment: Deployment) -> Iterator[str]:
        """The words for the cache that was asked for, and for weights that the engine makes."""
        cache, weights = deployment.kv_cache_k.name, deployment.weights.name
        if choices.kv_cache or choices.kv_cache_k:
            yield from (DTYPE, self.dtypes[cache]) if cache in self.dtypes else (CACHE, self.caches[cache])
        if weights in self.weights:
            yield from (WEIGHTS, self.weights[weights])

    def choice(self, option: str, value: str) -> dict[str, str]:
        """What one of ``flags`` says of a plan; what is no choice of ours is left to the checkpoint."""
        if option == CACHE:
            known = {theirs: ours for ours, theirs in self.caches.items()} | dict(self.read)
            return {} if value == "auto" else {"kv_cache": known_name(known, value, CACHE)}
        if option == DTYPE:
            known = {theirs: ours for ours, theirs in self.dtypes.items()} | {"half": "fp16"}
            return {"kv_cache": known[value]} if value in known else {}
        known = {theirs: ours for ours, theirs in self.weights.items()}
        return {"weights": known[value]} if value in known else {}


def setting_options(deployment: Deployment, names: tuple[str, ...]) -> Iterator[str]:
    """An option and its value for each setting of *names* that the plan has."""
    for name in names:
        if name in deployment.settings.given:
            yield from (option_of(name), written(deployment.settings.values[name]))


def written(value: object) -> str:
    """A setting's value as a command has it.

    >>> written(100_000.0), written(0.92)
    ('100000', '0.92')
    """
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def stand_in(model: str, weights: str) -> str:
    """What stands for a checkpoint of *model* in *weights*.

    >>> of_checkpoint(stand_in("qwen3-8b", "int4-g128"))
    {'model': 'qwen3-8b', 'weights': 'int4-g128'}
    """
    return f"{STANDS_FOR}{model}{IN}{weights}"


def loaded(choices: Choices, chosen: Chosen, made: Mapping[str, str]) -> str:
    """The checkpoint to load: one that has the format already, the publisher's, or what stands for one."""
    weights = chosen.deployment.weights.name
    if _is_unknown(choices, chosen, made):
        return stand_in(choices.model, weights)
    return checkpoint_id(choices.model, weights) or hub_id(choices.model)


def of_checkpoint(name: str) -> dict[str, str]:
    """The choices for a checkpoint that a command loads: model, and weights where its files have others."""
    model, found, weights = name.removeprefix(STANDS_FOR).rpartition(IN)
    if found and name.startswith(STANDS_FOR):
        return {"model": model, "weights": weights}
    known = stored_as(name)
    return {"model": name} if known is None else {"model": known[0], "weights": known[1]}


def checkpoint_notes(choices: Choices, chosen: Chosen, title: str, made: Mapping[str, str]) -> tuple[str, ...]:
    """That the format must be in the checkpoint already, where *title* makes none and no such checkpoint is known."""
    if not _is_unknown(choices, chosen, made):
        return ()
    weights = chosen.deployment.weights.name
    return (
        f"Name a checkpoint of {choices.model} in {weights} in place of {stand_in(choices.model, weights)}: {title} "
        "does not make one while it loads.",
    )


def _is_unknown(choices: Choices, chosen: Chosen, made: Mapping[str, str]) -> bool:
    """Whether the publisher's files have another format, which the engine does not make and no checkpoint has."""
    weights = chosen.deployment.weights.name
    has_it = weights in (CHECKPOINT, chosen.architecture.stored_as, *made)
    return not has_it and checkpoint_id(choices.model, weights) is None
