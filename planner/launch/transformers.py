"""A script for Hugging Face transformers from a plan, and back."""

import re
from collections.abc import Iterator
from dataclasses import replace

from planner.choices import Choices, Chosen
from planner.errors import PlannerError
from planner.launch.base import MAX_COMMAND_CHARACTERS, Launch, hub_id

BITS_AND_BYTES = {
    "nf4": 'load_in_4bit=True, bnb_4bit_quant_type="nf4"',
    "nf4-dq": 'load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True',
    "fp4": 'load_in_4bit=True, bnb_4bit_quant_type="fp4"',
    "llm-int8": "load_in_8bit=True",
}
"""Formats that the library makes while it loads, through bitsandbytes."""
DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
_MODEL = re.compile(r'^MODEL = "([^"\n]{1,300})"$', re.MULTILINE)
_NUMBER = re.compile(r"^(TOKENS|USERS) = (\d{1,15})$", re.MULTILINE)
_DTYPE = re.compile(r'\bdtype="(\w{1,20})"')
_CONFIG = re.compile(r"BitsAndBytesConfig\(([^()\n]{1,200})\)")


def launch(choices: Choices, chosen: Chosen) -> Launch:
    """Prompt and answer together have the plan's context, for as many prompts at once as it has users."""
    text = "\n".join(_lines(choices, chosen))
    weights = chosen.deployment.weights
    is_made = weights.format is None or weights.name in BITS_AND_BYTES or weights.name in DTYPES
    note = f"Name a checkpoint of {choices.model} in {weights.name}: the script does not make one."
    return Launch(text=text, language="python", notes=() if is_made else (note,))


def _lines(choices: Choices, chosen: Chosen) -> Iterator[str]:
    config = BITS_AND_BYTES.get(chosen.deployment.weights.name)
    names = "AutoModelForCausalLM, AutoTokenizer" + (", BitsAndBytesConfig" if config else "")
    yield from (f"from transformers import {names}", "", f'MODEL = "{hub_id(choices.model)}"')
    yield from (f"TOKENS = {chosen.workload.context_tokens}", f"USERS = {chosen.workload.users}", "")
    yield "tokenizer = AutoTokenizer.from_pretrained(MODEL)"
    quantized = f", quantization_config=BitsAndBytesConfig({config})" if config else ""
    dtype = DTYPES.get(chosen.deployment.kv_cache_k.name, "auto")
    yield f'model = AutoModelForCausalLM.from_pretrained(MODEL, dtype="{dtype}", device_map="auto"{quantized})'
    yield 'prompts = tokenizer(["Hello"] * USERS, return_tensors="pt").to(model.device)'
    yield "print(tokenizer.batch_decode(model.generate(**prompts, max_length=TOKENS)))"


def parse(text: str, like: Choices) -> Choices:
    """*like* with what the script says; card and everything that a script does not have stay as they are."""
    model = _MODEL.search(text) if len(text) <= MAX_COMMAND_CHARACTERS else None
    if model is None:
        raise PlannerError('This is no such script: it has no line MODEL = "…".')
    numbers = {name: int(value) for name, value in _NUMBER.findall(text)}
    found = replace(like, engine="transformers", set=(), model=model[1])
    found = replace(found, context=numbers.get("TOKENS", like.context), users=numbers.get("USERS", like.users))
    ours = {theirs: ours for ours, theirs in DTYPES.items()}
    if (dtype := _DTYPE.search(text)) and dtype[1] in ours:
        found = replace(found, kv_cache=ours[dtype[1]])
    config = _CONFIG.search(text)
    by_config = {text: name for name, text in BITS_AND_BYTES.items()}
    return replace(found, weights=by_config[config[1]]) if config and config[1] in by_config else found
