"""llama-bench and LocalScore: one stream's answers, and prompts."""

from dataclasses import replace
from functools import cache

from planner.speed.fit import Measured
from planner.speed.work import Work, mixed_work
from tests.speed_readings.reading import Reading, Row, model_for, rows_of

FILE = "llama_bench.csv"
MORE = "llama_bench_more.csv"
"""Rows of a kind that the first file hardly has; they count in lines of their own."""
PROMPT_TOKENS = 512
MIXED_TOKENS = 2_048
FORMATS = {"F16": "fp16", "BF16": "bf16", "Q8_0": "q8_0", "Q4_0": "q4_0", "Q4_K_M": "q4_k_m", "MXFP4": "mxfp4_moe"}


def why_not(row: Row) -> str:
    """Why an answer's rate is not predicted; empty where it is."""
    if row["batch"] != "1":
        return "many requests at once: no other card tells how llama.cpp computes them together"
    if not row["tokens_per_s"] or not row["bandwidth_bytes_per_s"]:
        return "the rate, or the bandwidth of the card, is not stated"
    return ""


def bench_reading(row: Row) -> Reading:
    read_bytes = int(row["read_bytes"]) + int(row["context_tokens"]) * int(row["kv_bytes_per_token"])
    return Reading(
        engine=row["engine"],
        family=row["family"],
        experts=row["experts"] == "yes",
        model=row["model"],
        card=row["card"].rsplit(" x", 1)[0],  # layers on several cards take turns: one card's bandwidth at a time
        rig=(row["engine"], row["card"], row["model"]) if row["experts"] else (row["engine"], row["card"]),
        is_crowd_sourced=row["engine"] == "llamafile",
        is_alone=True,
        measured=Measured(
            work=Work(
                layers=int(row["layers"]),
                read_bytes=read_bytes,
                read_s=read_bytes / int(row["bandwidth_bytes_per_s"]),
                arithmetic_s=0.0,
            ),
            seconds=1 / float(row["tokens_per_s"]),
        ),
    )


def bench_readings() -> list[Reading]:
    return [
        replace(bench_reading(row), is_more=name == MORE)
        for name in (FILE, MORE)
        for row in rows_of(name)
        if not why_not(row)
    ]


@cache
def prefill_readings() -> list[Reading]:
    """Prompts, as a plan has them, on one device whose arithmetic rate is known; several take turns with parts."""
    found = []
    for row in (*rows_of(FILE), *rows_of(MORE)):
        if not row["prompt_tokens_per_s"] or not row["device"] or row["quant"] not in FORMATS:
            continue
        model = model_for(row["model"].lower(), row["device"], FORMATS[row["quant"]], "fp16", 1, row["engine"])
        if model.arithmetic is None or " x" in row["card"]:
            continue
        tokens = prompt_tokens(row["context"])
        found.append(
            Reading(
                engine=row["engine"],
                family=row["family"],
                experts=row["experts"] == "yes",
                model=row["model"],
                card=row["card"],
                rig=(row["engine"], row["card"]),
                is_crowd_sourced=row["engine"] == "llamafile",
                numbers=model.arithmetic.numbers,
                measured=Measured(
                    work=mixed_work(model, 0, 0, tokens), seconds=tokens / float(row["prompt_tokens_per_s"])
                ),
            )
        )
    return found


def prompt_tokens(context: str) -> int:
    """512, or as many as were answered after it; LocalScore averages over prompts of some hundred to 4,000 tokens."""
    if context.startswith("mixed"):
        return MIXED_TOKENS
    words = context.split()
    return int(words[0].removeprefix("tg")) if words[0].startswith("tg") else PROMPT_TOKENS
