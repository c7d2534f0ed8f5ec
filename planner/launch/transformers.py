"""A script for Hugging Face transformers from a plan, and back."""

import re
from collections.abc import Iterator
from dataclasses import replace

from planner.deployment import Deployment
from planner.draft import NGRAM
from planner.errors import NotItsCommand
from planner.formats import CHECKPOINT
from planner.inputs.choices import Choices, Chosen
from planner.launch.base import MAX_COMMAND_CHARACTERS, Launch
from planner.launch.drafting import draft_checkpoint, draft_notes, left_out
from planner.launch.spelling import FULL, checkpoint_notes, halved_by, loaded, of_checkpoint

BITS_AND_BYTES = {
    "nf4": 'load_in_4bit=True, bnb_4bit_quant_type="nf4"',
    "nf4-dq": 'load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True',
    "fp4": 'load_in_4bit=True, bnb_4bit_quant_type="fp4"',
    "llm-int8": "load_in_8bit=True",
}
"""Formats that the library makes while it loads, through bitsandbytes."""
ATTENTION = "attn_implementation"
DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
_MODEL = re.compile(r'^MODEL = "([^"\n]{1,300})"$', re.MULTILINE)
_NUMBER = re.compile(r"^(TOKENS|USERS|DRAFTED) = (\d{1,15})$", re.MULTILINE)
_DRAFT = re.compile(r'^DRAFT = "([^"\n]{1,300})"$', re.MULTILINE)
_LOOKUP = re.compile(r"\bprompt_lookup_num_tokens=(\d{1,15})\b")
_DTYPE = re.compile(r'\bdtype="(\w{1,20})"')
_ATTENTION = re.compile(rf'\b{ATTENTION}="(\w{{1,30}})"')
_CONFIG = re.compile(r"BitsAndBytesConfig\(([^()\n]{1,200})\)")


MADE = dict.fromkeys((*BITS_AND_BYTES, *DTYPES), "")
"""What it makes while it loads."""


def launch(choices: Choices, chosen: Chosen) -> Launch:
    """Prompt and answer together have the plan's context, for as many prompts at once as it has users."""
    deployment = chosen.deployment
    draft = deployment.draft
    is_said = draft is None or draft.architecture is not None or draft.name == NGRAM
    notes = (
        *checkpoint_notes(choices, chosen, "the script", MADE),
        *_cache_notes(choices, chosen),
        *(("generate() drafts for one prompt at a time.",) if draft and chosen.workload.users > 1 else ()),
        *(draft_notes(choices, deployment, {}) if is_said else left_out(deployment, "generate()")),
    )
    return Launch(text="\n".join(_lines(choices, chosen)), language="python", notes=notes)


def _cache_notes(choices: Choices, chosen: Chosen) -> Iterator[str]:
    """The cache is kept in the model's own format, whatever the plan says."""
    cache = chosen.deployment.kv_cache_k.name
    is_full = _weights(chosen) == FULL
    if is_full and cache != FULL:
        yield f"The plan counts a cache in {cache}: this script keeps one in {FULL}, as the weights."
    elif not is_full and (choices.kv_cache or choices.kv_cache_k) and (cache not in DTYPES or cache == FULL):
        yield f"The plan counts a cache in {cache}: this script keeps one in 16 bit."


def _lines(choices: Choices, chosen: Chosen) -> Iterator[str]:
    config = BITS_AND_BYTES.get(chosen.deployment.weights.name)
    names = "AutoModelForCausalLM, AutoTokenizer" + (", BitsAndBytesConfig" if config else "")
    yield from (f"from transformers import {names}", "", f'MODEL = "{loaded(choices, chosen, MADE)}"')
    yield from (f"TOKENS = {chosen.workload.context_tokens}", f"USERS = {chosen.workload.users}")
    draft = chosen.deployment.draft
    assistant = None if draft is None or draft.architecture is None else draft
    if assistant is not None:
        yield from (f'DRAFT = "{draft_checkpoint(choices, assistant)}"', f"DRAFTED = {assistant.draft_tokens}")
    yield from ("", "tokenizer = AutoTokenizer.from_pretrained(MODEL)")
    quantized = f", quantization_config=BitsAndBytesConfig({config})" if config else ""
    dtype = _dtype(chosen)
    loading = f'dtype="{dtype}", device_map="auto"{_attention(chosen.deployment)}{quantized}'
    yield f"model = AutoModelForCausalLM.from_pretrained(MODEL, {loading})"
    more = ""
    if assistant is not None:
        yield f'draft = AutoModelForCausalLM.from_pretrained(DRAFT, dtype="{dtype}", device_map="auto")'
        yield "draft.generation_config.num_assistant_tokens = DRAFTED"
        more = ", assistant_model=draft"
    elif draft is not None and draft.name == NGRAM:
        more = f", prompt_lookup_num_tokens={draft.draft_tokens}"
    yield 'prompts = tokenizer(["Hello"] * USERS, return_tensors="pt").to(model.device)'
    yield f"print(tokenizer.batch_decode(model.generate(**prompts, max_length=TOKENS{more})))"


def _weights(chosen: Chosen) -> str:
    """The format of the weights; a checkpoint in 32 bit stays so only if the script says it."""
    weights = chosen.deployment.weights.name
    return FULL if weights == CHECKPOINT and chosen.architecture.stored_as == FULL else weights


def _dtype(chosen: Chosen) -> str:
    """Weights that are not quantised and the cache are in the same numbers: those of the weights where these say so."""
    weights, cache = _weights(chosen), chosen.deployment.kv_cache_k.name
    return DTYPES.get(weights) or (DTYPES.get(cache, "auto") if cache != FULL else "auto")


def _attention(deployment: Deployment) -> str:
    """How attention is computed, where the plan says so."""
    settings = deployment.settings
    return f', {ATTENTION}="{settings.values[ATTENTION]}"' if ATTENTION in settings.given else ""


def parse(text: str, like: Choices) -> Choices:
    """*like* with what the script says; card and everything that a script does not have stay as they are."""
    model = _MODEL.search(text) if len(text) <= MAX_COMMAND_CHARACTERS else None
    if model is None:
        raise NotItsCommand('This is no such script: it has no line MODEL = "…".')
    numbers = {name: int(value) for name, value in _NUMBER.findall(text)}
    found = replace(like, engine="transformers", set=(), **of_checkpoint(model[1]))  # type: ignore[arg-type]
    found = replace(found, context=numbers.get("TOKENS", like.context), users=numbers.get("USERS", like.users))
    ours = {theirs: ours for ours, theirs in DTYPES.items()}
    if (dtype := _DTYPE.search(text)) and dtype[1] in ours:
        weights = FULL if ours[dtype[1]] == FULL else halved_by(dtype[1], model[1]) or found.weights
        found = replace(found, kv_cache=ours[dtype[1]], weights=weights)
    if draft := _DRAFT.search(text):
        found = replace(found, draft_model=draft[1], draft_tokens=numbers.get("DRAFTED"))
    elif lookup := _LOOKUP.search(text):
        found = replace(found, draft_model=NGRAM, draft_tokens=int(lookup[1]))
    if attention := _ATTENTION.search(text):
        found = replace(found, set=(f"{ATTENTION}={attention[1]}",))
    config = _CONFIG.search(text)
    by_config = {text: name for name, text in BITS_AND_BYTES.items()}
    return replace(found, weights=by_config[config[1]]) if config and config[1] in by_config else found
