"""``llama-server`` from a plan, and back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat, zip_longest

from planner.catalogue.downloads import gguf_repository
from planner.deployment import Deployment
from planner.draft import NGRAM, Draft
from planner.engines.llama_cpp.options import options
from planner.errors import NotItsCommand, PlannerError
from planner.inputs.choices import Choices, Chosen, choose
from planner.launch.base import Launch, options_of, shell, whole_number
from planner.launch.drafting import draft_checkpoint, draft_notes, has_files, left_out
from planner.launch.gguf import download, file_name, is_file, made_from_checkpoint, named_file, named_repository
from planner.launch.llama_cpp_words import (
    ALL_LAYERS,
    CACHE_TYPES,
    EITHER_WAY,
    EXPERTS,
    FORK,
    IGNORED,
    IN_MIB,
    MOST_LAYERS,
    MTP_TYPE,
    NAMELESS,
    NGRAM_LENGTH,
    NO_CARD,
    SHORT,
    SMALLER_MODEL,
    SWITCHES,
    VALUES,
    cache_type,
)
from planner.launch.pasted import arguments, ignored, is_known
from planner.settings.setting import ints_text, parse_ints
from planner.units import MIB

_MAX_DIGITS = 15


SAID_OTHERWISE = ("cpu_moe", "n_cpu_moe")
"""Settings that ``_options`` says in another way to a version without an option for them."""


def launch(choices: Choices, chosen: Chosen) -> Launch:
    """The command with every option that the plan sets, and the context of all slots together."""
    deployment = chosen.deployment
    repository = gguf_repository(choices.model, deployment.weights.name)
    file = file_name(choices.model, chosen.architecture.name, deployment.weights.name)
    files, notes = made_from_checkpoint(choices, deployment, file)
    source = ["--model", file]
    if repository is not None and chosen.deployment.engine == FORK:
        files, notes = download(repository), (f"{file} stands for the file that is downloaded, or its first part.",)
    elif repository is not None:
        source, files = ["--hf-repo", repository], ""
    words = ["llama-server", *source, *_options(choices, chosen)]
    return Launch(text=shell(words), language="sh", notes=(*notes, *_draft_notes(choices, deployment)), files=files)


def _options(choices: Choices, chosen: Chosen) -> Iterator[str]:
    deployment, users = chosen.deployment, chosen.workload.users
    settings, found = deployment.settings, options(deployment)
    requests = users if found.unified(users) else found.slots(users)
    yield from ("--ctx-size", str(chosen.workload.context_tokens * requests))
    if choices.kv_cache or choices.kv_cache_k:
        yield from ("--cache-type-k", cache_type(deployment.kv_cache_k.name))
    if choices.kv_cache or choices.kv_cache_v:
        yield from ("--cache-type-v", cache_type(deployment.kv_cache_v.name))
    values = {name: str(settings.values[name]) for name in VALUES if name in settings.given}
    if users > found.n_parallel:
        values["n_parallel"] = str(users)
    if deployment.on_cpu:
        # Where there is a card after all, it would still multiply prompts with layers in main memory.
        yield from NO_CARD.get(deployment.engine, ())
    if "flash_attn" in values and settings.rule("flash_attn_is_switch"):
        yield from [VALUES["flash_attn"]] if values.pop("flash_attn") == "on" else ()
    for name, value in ({"n_gpu_layers": "0" if deployment.on_cpu else ALL_LAYERS} | values).items():
        yield from (VALUES[name], value)
    for name, (on, off) in EITHER_WAY.items():
        if name in settings.given:
            yield on if settings.flag(name) else off
    yield from (option for name, option in SWITCHES.items() if name in settings.given and settings.values[name])
    if "fit" in settings.given:
        yield from ("--fit", "on" if settings.values["fit"] else "off")
    for name, option in IN_MIB.items():
        if name in settings.given:
            yield from (option, str(settings.values[name] // MIB))
    if layers := _layers_with_experts_on_host(chosen):
        yield from ("--override-tensor", EXPERTS.format(layers="|".join(map(str, layers))))
    if "tensor_split" in settings.given:
        yield from ("--tensor-split", ",".join(map(str, settings.values["tensor_split"])))
    elif (count := deployment.pipeline_parallel) > 1:
        shares = (card.memory_bytes >> 20 for card in deployment.stages) if deployment.cards else repeat(1, count)
        yield from ("--tensor-split", ",".join(map(str, shares)))
    if deployment.draft is not None:
        yield from _draft(choices, deployment, deployment.draft)


def _layers_with_experts_on_host(chosen: Chosen) -> Sequence[int]:
    """Those that are named, and those of the options for experts that an older version has not."""
    settings = chosen.deployment.settings
    if "cpu_moe_layers" in settings.given:
        named: Sequence[int] = settings.values["cpu_moe_layers"]
        return named
    if "cpu_moe" in settings.lacking:
        return range(len(chosen.architecture.layers))
    return range(settings.values["n_cpu_moe"] if "n_cpu_moe" in settings.lacking else 0)


def _draft(choices: Choices, deployment: Deployment, draft: Draft) -> Iterator[str]:
    """The draft by the options of the plan's version; a version without --spec-type takes a smaller model alone."""
    names = deployment.settings.rule("draft_options")
    kind = NAMELESS.get(draft.name, SMALLER_MODEL)
    if names["kinds"]:
        yield from ("--spec-type", kind)
    elif kind != SMALLER_MODEL:
        return
    if has_files(draft):
        name = draft_checkpoint(choices, draft) if kind != SMALLER_MODEL else draft.name
        yield from ("--model-draft", file_name(choices.draft_model or "", name, draft.weights.name))
        yield from ("--gpu-layers-draft", ALL_LAYERS)
        for letter, given, used in (
            ("k", choices.kv_cache_k, deployment.kv_cache_k),
            ("v", choices.kv_cache_v, deployment.kv_cache_v),
        ):
            if choices.kv_cache or given:
                yield from (f"--cache-type-{letter}-draft", cache_type(used.name))
    yield from (names["most"] if kind != NAMELESS[NGRAM] else NGRAM_LENGTH, str(draft.draft_tokens))


def _draft_notes(choices: Choices, deployment: Deployment) -> Iterator[str]:
    draft = deployment.draft
    if draft is None:
        return
    if not (draft.architecture or deployment.settings.rule("draft_options")["kinds"]):
        yield from left_out(deployment, f"This version ({deployment.settings.version})")
    elif draft.architecture is None:
        yield from draft_notes(choices, deployment, {})
    elif not is_file(choices.draft_model or ""):
        yield f"The file after --model-draft stands for a GGUF of {draft.name}."


def parse(text: str, like: Choices) -> Choices:
    """*like* with what the command says; card, users and all else that no such command has stay as they are."""
    words = arguments("llama_cpp", text, (("llama-server",),))
    if words is None:
        raise NotItsCommand("This is not a command that begins with llama-server.")
    flags = {option: f"set.{name}" for name, option in VALUES.items()} | SHORT
    flags |= {"--model": "model", "--hf-repo": "repository", "-hf": "repository"}
    flags |= {"--ctx-size": "n_ctx", "--tensor-split": "cards", "--fit": "set.fit"}
    flags |= {option: name for name, option in IN_MIB.items()} | {"--override-tensor": "experts"}
    flags |= {"--cache-type-k": "kv_cache_k", "--cache-type-v": "kv_cache_v"}
    switches = {option: f"set.{name}=true" for name, option in SWITCHES.items()}
    flags |= dict.fromkeys(("--model-draft", "--spec-draft-model", "-md"), "draft_model")
    flags |= {"--spec-draft-n-max": "drafted", "--draft-max": "drafted", NGRAM_LENGTH: "drafted"}
    flags |= {"--spec-type": "drafter", "--device": "device", "-dev": "device"} | dict.fromkeys(IGNORED, "ignored")
    switches |= {on: f"set.{name}=true" for name, (on, _) in EITHER_WAY.items()}
    switches |= {off: f"set.{name}=false" for name, (_, off) in EITHER_WAY.items()}
    beside, beside_switches = ignored("llama_cpp")
    flags, switches = flags | beside, switches | beside_switches
    found, n_ctx = replace(like, engine=like.engine if like.engine == FORK else "llama_cpp", set=()), ""
    draft: dict[str, str] = {}
    for name, value in options_of(_with_attention(words), flags, switches):
        match name:
            case "model":
                named = named_file(value)
                is_stated = like.model and (is_file(like.model) or not is_known(named["model"]))
                found = found if is_stated else replace(found, **named)  # type: ignore[arg-type]
            case "repository":
                model, weights = named_repository(value)
                found = replace(found, model=model, weights=weights)
            case "n_ctx":
                n_ctx = value
            case "cards":
                found = (
                    _with_split(found, value)
                    if like.devices
                    else replace(_with_split(found, value), pipeline_parallel=len(value.split(",")))
                )
            case "experts":
                found = replace(found, set=(*found.set, f"cpu_moe_layers={_expert_layers(value)}"))
            case "kv_cache_k" | "kv_cache_v":
                ours = {theirs: ours for ours, theirs in CACHE_TYPES.items()}
                found = replace(found, **{name: ours.get(value, value)})  # type: ignore[arg-type]
            case _ if name in IN_MIB:
                found = replace(found, set=(*found.set, f"{name}={value}MiB"))
            case "set.n_gpu_layers" if value == ALL_LAYERS:
                pass
            case "draft_model" | "drafted" | "drafter":
                draft[name] = value
            case "device" if value != "none":
                raise PlannerError(
                    f"--device {value[:40]!r} is a card of this machine: name its kind as the plan's card."
                )
            case "ignored" | "device":
                pass
            case _ if name.startswith("set."):
                found = replace(found, set=(*found.set, f"{name.removeprefix('set.')}={value}"))
            case _:
                raise PlannerError(f"llama-server has no use for the word {value[:40]!r}.")
    found = _with_draft(found, draft)
    return found if not n_ctx else replace(found, context=_slot_tokens(found, n_ctx))


def _with_attention(words: Sequence[str]) -> Iterator[str]:
    """*words* with a value after -fa, which had none before 2025-09: common/arg.cpp."""
    for word, after in zip_longest(words, words[1:], fillvalue=""):
        yield word
        if word in ("-fa", "--flash-attn") and after not in ("on", "off", "auto"):
            yield "on"


def _with_split(found: Choices, value: str) -> Choices:
    """Layers a card as a setting; equal cards, and cards by their memory, need none."""
    shares = parse_ints(value) or ()
    is_stated = any(share != 1 for share in shares) and max(shares, default=0) <= MOST_LAYERS
    return replace(found, set=(*found.set, f"tensor_split={value}")) if is_stated else found


def _expert_layers(pattern: str) -> str:
    """The layers that ``EXPERTS`` names."""
    head, _, tail = EXPERTS.partition("{layers}")
    layers = parse_ints(pattern.removeprefix(head).removesuffix(tail).replace("|", ","))
    if layers is None or not (pattern.startswith(head) and pattern.endswith(tail)):
        raise PlannerError(f"--override-tensor {pattern[:60]!r} is read only where it names layers' experts.")
    return ints_text(layers)


def _with_draft(found: Choices, said: Mapping[str, str]) -> Choices:
    """The model's own prediction layers are settings of the engine, all else is the plan's draft."""
    kind, tokens = said.get("drafter", SMALLER_MODEL if "draft_model" in said else ""), said.get("drafted", "")
    if kind in ("", "none", MTP_TYPE):
        given = (("spec_type", said.get("drafter")), ("spec_draft_n_max", tokens))
        return replace(found, set=(*found.set, *(f"{name}={value}" for name, value in given if value)))
    ours = {theirs: ours for ours, theirs in NAMELESS.items()}
    drafted = whole_number(tokens, "the number of drafted tokens")
    if kind in ours:
        return replace(found, draft_model=ours[kind], draft_tokens=drafted)
    named = named_file(said.get("draft_model", ""))
    weights = named.get("weights", found.draft_weights)
    return replace(found, draft_model=named["model"], draft_weights=weights, draft_tokens=drafted)


def _slot_tokens(found: Choices, n_ctx: str) -> int:
    """The context of one request: all share it, or each slot has its part."""
    if not n_ctx.isascii() or not n_ctx.isdigit() or len(n_ctx) > _MAX_DIGITS:
        raise PlannerError(f"--ctx-size {n_ctx[:40]!r} is not a whole number.")
    slots = options(choose(found).deployment)
    requests = found.users if slots.unified(found.users) else slots.slots(found.users)
    return max(1, int(n_ctx) // requests)
