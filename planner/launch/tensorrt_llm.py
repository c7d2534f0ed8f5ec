"""``trtllm-serve`` and its file of options from a plan, and back.

Source: tensorrt_llm/commands/serve.py; tensorrt_llm/llmapi/llm_args.py, KvCacheConfig.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from planner.deployment import Deployment
from planner.draft import EAGLE, MTP, NGRAM, Draft
from planner.errors import NotItsCommand, PlannerError
from planner.inputs.choices import Choices, Chosen
from planner.launch.base import (
    MAX_COMMAND_CHARACTERS,
    Launch,
    known_name,
    options_of,
    shell,
    whole_number,
)
from planner.launch.drafting import draft_checkpoint, draft_notes, draft_of, has_files
from planner.launch.pasted import arguments, ignored
from planner.launch.several import several_options
from planner.launch.spelling import FULL, checkpoint_notes, loaded, of_checkpoint

FILE = "options.yaml"
CACHE_DTYPES = {"fp8": "fp8", "nvfp4-kv": "nvfp4"}
"""Our formats by TensorRT-LLM's names; a cache in 16 bits follows from the model's own dtype."""
VALUES = ("max_batch_size", "max_num_tokens")
SPLITS = ("tp_size", "pp_size", "ep_size")
IN_FILE = ("free_gpu_memory_fraction", "max_tokens", "tokens_per_block")
"""Settings of the cache, which only the file has, but for the share."""
DECODING = {MTP: "MTP", EAGLE: "Eagle", NGRAM: "NGram"}
SMALLER_MODEL = "DraftTarget"
"""Kinds of draft by TensorRT-LLM's names. Source: llmapi/llm_args.py, DecodingBaseConfig."""
DRAFTED = {MTP: "num_nextn_predict_layers"}
"""The key for the number of drafted tokens where it is not the usual one."""
DECODING_TYPE, MOST_DRAFTED, DRAFT_MODEL, DTYPE = "decoding_type", "max_draft_len", "speculative_model_dir", "dtype"
DRAFT_LINES = (DECODING_TYPE, MOST_DRAFTED, DRAFT_MODEL, *DRAFTED.values())
_SHARE = "--kv_cache_free_gpu_memory_fraction"
_HEREDOC = re.compile(r"<<'END'\n(.{0,2000}?)\nEND\n", re.DOTALL)
_LINE = re.compile(r"^ *(\w{1,40}): *([\w./-]{1,200})$", re.MULTILINE)


def launch(choices: Choices, chosen: Chosen) -> Launch:
    """The command, and before it the file with what the command line has no option for."""
    deployment = chosen.deployment
    content = list(_file(choices, deployment))
    words = ["trtllm-serve", loaded(choices, chosen, {}), *_options(chosen, has_file=bool(content))]
    before = "\n".join((f"cat > {FILE} <<'END'", *content, "END\n")) if content else ""
    notes = (
        *checkpoint_notes(choices, chosen, "TensorRT-LLM", {}),
        *_cache_notes(choices, deployment),
        *draft_notes(choices, deployment, {}),
    )
    return Launch(text=before + shell(words), language="sh", notes=notes)


def _cache_notes(choices: Choices, deployment: Deployment) -> Iterator[str]:
    """A cache that is not quantised is in the model's own numbers."""
    if (choices.kv_cache or choices.kv_cache_k) and deployment.kv_cache_k.name == FULL:
        yield f"The plan counts a cache in {FULL}, which this command does not say: it is in the model's own numbers."


def _file(choices: Choices, deployment: Deployment) -> Iterator[str]:
    settings = deployment.settings
    if _shares_attention(deployment):
        yield "enable_attention_dp: true"
    cache = [f"  {name}: {settings.values[name]}" for name in IN_FILE[1:] if name in settings.given]
    if (choices.kv_cache or choices.kv_cache_k) and deployment.kv_cache_k.name in CACHE_DTYPES:
        cache.append(f"  dtype: {CACHE_DTYPES[deployment.kv_cache_k.name]}")
    if cache:
        yield "kv_cache_config:"
        # A file's cache settings take the place of the command's.
        yield f"  {IN_FILE[0]}: {settings.values[IN_FILE[0]]}"
        yield from cache
    if deployment.draft is not None:
        yield from _draft(choices, deployment.draft)


def _draft(choices: Choices, draft: Draft) -> Iterator[str]:
    decoding = DECODING.get(draft.name, SMALLER_MODEL)
    if decoding == SMALLER_MODEL:
        yield "disable_overlap_scheduler: true"
    yield "speculative_config:"
    yield f"  {DECODING_TYPE}: {decoding}"
    yield f"  {DRAFTED.get(draft.name, MOST_DRAFTED)}: {draft.draft_tokens}"
    if has_files(draft):
        yield f"  {DRAFT_MODEL}: {draft_checkpoint(choices, draft)}"


def _options(chosen: Chosen, *, has_file: bool) -> Iterator[str]:
    deployment, settings = chosen.deployment, chosen.deployment.settings
    yield from ("--max_seq_len", str(chosen.workload.context_tokens))
    tensor = deployment.tensor_parallel * (deployment.data_parallel if _shares_attention(deployment) else 1)
    for name, size in zip(SPLITS, (tensor, deployment.pipeline_parallel, deployment.expert_parallel), strict=True):
        if size > 1:
            yield from (f"--{name}", str(size))
    for name in VALUES:
        if name in settings.given:
            yield from (f"--{name}", str(settings.values[name]))
    if IN_FILE[0] in settings.given:
        yield from (_SHARE, str(settings.values[IN_FILE[0]]))
    yield from several_options(deployment)
    if has_file:
        yield from ("--extra_llm_api_options", FILE)


def _shares_attention(deployment: Deployment) -> bool:
    return deployment.data_parallel > 1


def parse(text: str, like: Choices) -> Choices:
    """*like* with what file and command say; card, users and all else that neither has stay as they are."""
    if len(text) > MAX_COMMAND_CHARACTERS:
        raise PlannerError(
            f"A command of {len(text):,} characters is not read; the limit is {MAX_COMMAND_CHARACTERS:,}."
        )
    file = _HEREDOC.search(text)
    words = arguments("tensorrt_llm", text[file.end() :] if file else text, (("trtllm-serve",),))
    if words is None:
        raise NotItsCommand("This is not a command that begins with trtllm-serve, or a file of options before it.")
    flags = {"--max_seq_len": "context", _SHARE: f"set.{IN_FILE[0]}", "--extra_llm_api_options": "ignored"}
    flags |= {f"--{name}": name for name in SPLITS} | {f"--{name}": f"set.{name}" for name in VALUES}
    flags |= dict.fromkeys(("--backend", "--config"), "ignored")
    beside, switches = ignored("tensorrt_llm")
    found, sizes, given = replace(like, engine="tensorrt_llm", set=()), dict.fromkeys(SPLITS, 1), dict[str, str]()
    for name, value in options_of(words, flags | beside, switches):
        if name.startswith("set."):
            given[name.removeprefix("set.")] = value
        elif name in sizes:
            sizes[name] = whole_number(value, name)
        elif name == "context":
            found = replace(found, context=whole_number(value, name))
        elif not name and value != "serve":
            found = replace(found, **of_checkpoint(value))  # type: ignore[arg-type]
    found = replace(found, set=tuple(f"{name}={value}" for name, value in given.items()))
    lines = dict(_LINE.findall(file[1])) if file else {}
    return _split(_with_file(found, lines), sizes, lines.get("enable_attention_dp") == "true")


def _with_file(found: Choices, lines: Mapping[str, str]) -> Choices:
    """*found* with what the *lines* of the file of options say."""
    known = {*IN_FILE, *DRAFT_LINES, DTYPE, "enable_attention_dp", "disable_overlap_scheduler"}
    if unknown := next((name for name in lines if name not in known), None):
        raise PlannerError(f"The option {unknown} of the file is not known here; leave it out.")
    kept = (text for text in found.set if text.partition("=")[0] not in lines)
    found = replace(found, set=(*kept, *(f"{name}={lines[name]}" for name in IN_FILE if name in lines)))
    if DTYPE in lines:
        ours = {theirs: ours for ours, theirs in CACHE_DTYPES.items()}
        found = replace(found, kv_cache=known_name(ours, lines[DTYPE], DTYPE))
    if DECODING_TYPE not in lines:
        return found
    kind = next((ours for ours, theirs in DECODING.items() if theirs == lines[DECODING_TYPE]), "")
    tokens = whole_number(lines.get(DRAFTED.get(kind, MOST_DRAFTED), ""), MOST_DRAFTED)
    return replace(found, **draft_of(lines.get(DRAFT_MODEL, kind), tokens))  # type: ignore[arg-type]


def _split(found: Choices, sizes: dict[str, int], shares: bool) -> Choices:
    """Sizes as a plan has them: with data-parallel attention ``tp_size`` counts the replicas of attention."""
    tensor, stages, experts = (sizes[name] for name in SPLITS)
    return replace(
        found,
        tensor_parallel=found.tensor_parallel if shares or tensor == 1 else tensor,
        data_parallel=tensor if shares and tensor > 1 else found.data_parallel,
        pipeline_parallel=stages if stages > 1 else found.pipeline_parallel,
        expert_parallel=experts if experts > 1 else found.expert_parallel,
    )
