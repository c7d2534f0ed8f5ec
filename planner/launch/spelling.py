"""How an engine's command says in what the model, its cache and its drafts are stored, and what it says read back."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from planner import presets
from planner.catalogue.checkpoint_ids import identify
from planner.catalogue.downloads import checkpoint_id, hub_id, stored_as
from planner.deployment import Deployment
from planner.errors import UnknownName
from planner.formats import CHECKPOINT
from planner.inputs.choices import Choices, Chosen
from planner.launch.base import known_name, option_of
from planner.records import dataclass

STANDS_FOR, IN = "CHECKPOINT-OF-", "-IN-"
"""What stands for a checkpoint that is not known: no such repository exists, so that nothing else is loaded."""
CACHE, DTYPE, WEIGHTS = "--kv-cache-dtype", "--dtype", "--quantization"
FULL, HALF, PLAIN = "fp32", "bf16", ("bf16", "fp16", "fp32")
"""Numbers in full, and all that are not quantised: weights and cache are loaded in one of them alike."""

_HALVES = {"bf16": "bfloat16", "fp16": "float16"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """Our formats by an engine's own names.

    *caches* has an option of its own; a cache in one of *dtypes* follows from the whole model's, as its weights do.
    *weights* are made while the engine loads: any other format needs a checkpoint that has it. *read* are further names
    of a cache.
    """

    caches: Mapping[str, str]
    dtypes: Mapping[str, str]
    weights: Mapping[str, str]
    read: Mapping[str, str]

    @property
    def made(self) -> Mapping[str, str]:
        """Formats of weights that any checkpoint is loaded in."""
        return {**self.weights, **self.dtypes, HALF: _HALVES[HALF]}

    @property
    def flags(self) -> dict[str, str]:
        """The options by themselves, as ``said`` wants them."""
        return {option: option for option in (CACHE, DTYPE, WEIGHTS)}

    def options(self, choices: Choices, chosen: Chosen) -> Iterator[str]:
        """The words for the cache that was asked for, and for weights that the engine makes."""
        deployment = chosen.deployment
        cache, weights = deployment.kv_cache_k.name, deployment.weights.name
        is_asked = bool(choices.kv_cache or choices.kv_cache_k)
        if weights in self.dtypes:
            yield from (DTYPE, self.dtypes[weights])
        elif weights == HALF != chosen.architecture.stored_as:
            yield from (DTYPE, _HALVES[HALF])
        elif is_asked and cache in self.dtypes and cache != FULL:
            yield from (DTYPE, self.dtypes[cache])
        if is_asked and cache not in self.dtypes:
            yield from (CACHE, self.caches[cache])
        if weights in self.weights:
            yield from (WEIGHTS, self.weights[weights])

    def notes(self, choices: Choices, deployment: Deployment, title: str) -> Iterator[str]:
        """That numbers in full are those of weights and cache alike, where the plan has only one of them so."""
        cache, weights = deployment.kv_cache_k.name, deployment.weights.name
        is_other = not (choices.kv_cache or choices.kv_cache_k) or cache in self.dtypes
        if FULL in (cache, weights) and cache != weights and is_other:
            yield (
                f"The plan counts weights in {weights} and a cache in {cache}, which this command does not say: "
                f"{title} keeps both in {FULL}, or neither."
            )

    def said(self, options: Mapping[str, str], loads: str = "") -> dict[str, str]:
        """What ``flags`` say of what a command *loads*, in any order; what is no choice of ours is the checkpoint's."""
        found: dict[str, str] = {}
        dtypes = {theirs: ours for ours, theirs in self.dtypes.items()} | {"half": "fp16", "float": FULL}
        if (ours := dtypes.get(options.get(DTYPE, ""))) is not None:
            found = {"kv_cache": ours, "weights": FULL} if ours == FULL else {"kv_cache": ours}
        if (halved := halved_by(options.get(DTYPE, ""), loads)) is not None:
            found["weights"] = halved
        if (value := options.get(CACHE, "auto")) != "auto":
            known = {theirs: ours for ours, theirs in self.caches.items()} | dict(self.read)
            found["kv_cache"] = known_name(known, value, CACHE)
        made = {theirs: ours for ours, theirs in self.weights.items()}
        if (value := options.get(WEIGHTS, "")) in made:
            found["weights"] = made[value]
        return found


def halved_by(dtype: str, loads: str) -> str | None:
    """The format of the weights of what a command *loads*, where that is stored in 32 bit and *dtype* has 16.

    >>> halved_by("bfloat16", "google/gemma-2-9b"), halved_by("half", "gemma-2-9b"), halved_by("bfloat16", "qwen3-8b")
    ('bf16', 'fp16', None)
    """
    ours = {theirs: ours for ours, theirs in _HALVES.items()} | {"half": "fp16"}
    found = of_checkpoint(loads)
    if dtype in ours and "weights" not in found:
        with suppress(UnknownName):
            return ours[dtype] if presets.load_preset(found["model"]).stored_as == FULL else None
    return None


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
        named = identify(choices.model, is_tuned=True)
        return stand_in(choices.model if named is None else named[0], weights)
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
    weights, stored = chosen.deployment.weights.name, chosen.architecture.stored_as
    has_it = weights in (CHECKPOINT, stored) or (weights in made and not (weights in PLAIN and stored not in PLAIN))
    return not has_it and checkpoint_id(choices.model, weights) is None
