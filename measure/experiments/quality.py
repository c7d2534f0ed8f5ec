"""What rounding the weights does to the answers: perplexity, short questions, agreement with full precision.

Perplexity is of a held-out text, positions after the first. Agreement: at every position of it, after the same prefix,
the same most likely next token. Questions are answered greedily, by the largest logit alone: no repetition penalty, no
sampling, whatever the model's generation config says. All with 95% intervals.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

import torch
from torch.nn import functional

from measure.certainty import mean_interval, overlaps, share_interval
from measure.experiments.base import TOO_FEW, Report, Settings, Table, rows_of
from measure.models import find_source
from measure.pictures import bars
from measure.quantizers import SCHEMES, quantize_model
from measure.records import Case, Record
from measure.running import Running, needed_for, start
from measure.setup import Setup
from measure.texts import HELD_OUT, QUESTIONS, ids_of
from measure.worker import Message, Progress

NAME = "quality"
FULL = "full precision"
TOKENS, QUICK_TOKENS = 1_024, 384
ANSWER_TOKENS = 4
ORDER = ("int4-tensor", "int4-row", "int4-g128", "nf4")


def cases(setup: Setup) -> list[Case]:
    tokens = QUICK_TOKENS if setup.quick else TOKENS
    return [Case(experiment=NAME, name=name, settings={"scheme": name, "tokens": tokens}) for name in (FULL, *SCHEMES)]


def needed_bytes(settings: Settings, setup: Setup) -> int:
    logits = 16 * find_source(setup).architecture.vocab_size * settings["tokens"]  # two of them, and their softmax
    return needed_for(setup, 1, settings["tokens"]) + logits


def run(settings: Settings, setup: Setup) -> Iterator[Message]:
    running = start(setup)
    ids = ids_of(running, HELD_OUT, settings["tokens"])
    best = text_logits(running, ids).argmax(-1)
    yield Progress(share=0.3)
    if settings["scheme"] != FULL:
        quantize_model(running.model, SCHEMES[settings["scheme"]])
    logits = text_logits(running, ids)
    yield Progress(share=0.6)
    losses = functional.cross_entropy(logits[:-1].float(), ids[0, 1:], reduction="none").tolist()
    agreed, positions = int((logits.argmax(-1) == best).sum()), len(best)
    right = answered(running) if running.loaded.tokenizer is not None else None
    low, high = (math.exp(min(end, 700)) for end in mean_interval(losses))
    yield {
        "model": running.loaded.source.title,
        "attention": running.attention,
        "scheme": settings["scheme"],
        "tokens": len(losses),
        "perplexity": math.exp(min(fmean(losses), 700)),
        "perplexity_low": low,
        "perplexity_high": high,
        "agreed": agreed,
        "positions": positions,
        **_share("agreement", agreed, positions),
        "right": right,
        "questions": len(QUESTIONS),
        **_share("questions_share", right or 0, 0 if right is None else len(QUESTIONS)),
    }


def text_logits(running: Running, ids: torch.Tensor) -> torch.Tensor:
    """Logits of every position of one text, positions × vocabulary."""
    with torch.no_grad():
        logits: torch.Tensor = running.model(input_ids=ids, use_cache=False).logits[0]
    return logits


def answered(running: Running) -> int:
    """How many of the questions are continued by their word."""
    right = 0
    for question, word in QUESTIONS:
        new, cache, found = ids_of(running, question), None, list[int]()
        for _ in range(ANSWER_TOKENS):
            logits, cache = running.forward(new, cache)
            new = logits.argmax(-1, keepdim=True)
            found.append(int(new))
        right += running.loaded.tokenizer.decode(found).strip().lower().startswith(word.lower())
    return right


def _share(name: str, hits: int, trials: int) -> dict[str, Any]:
    low, high = share_interval(hits, trials)
    return {name: hits / trials if trials else None, f"{name}_low": low, f"{name}_high": high}


def report(records: Sequence[Record], setup: Setup) -> Report:
    rows = rows_of(records)
    by_scheme = {row["scheme"]: row for row in rows}
    order = [by_scheme[name] for name in ORDER if name in by_scheme]
    lesson = f"{TOO_FEW}."
    if len(order) == len(ORDER) and FULL in by_scheme:
        full = by_scheme[FULL]
        agreement = ", ".join(f"{row['scheme']} {row['agreement']:.0%}" for row in order)
        rises = all(one["agreement"] < other["agreement"] for one, other in pairwise(order))
        lesson = (
            f"Agreement with full precision {'rises in the order' if rises else 'is'} {agreement}; perplexity goes "
            f"from {_large(order[0]['perplexity'])} to {_large(order[-1]['perplexity'])}, with "
            f"{_large(full['perplexity'])} unrounded; {_questions(rows, full)}."
        )
    chart = bars(rows, ("scheme", None), ("agreement", "agreement with full precision"))
    return Report(tables=(Table(rows=rows, chart=chart),), lesson=lesson)


def _large(value: float) -> str:
    """
    >>> _large(397_463.8), _large(29.864)
    ('397,464', '29.9')
    """
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.1f}"


def _questions(rows: Sequence[dict[str, Any]], full: dict[str, Any]) -> str:
    """Which schemes the questions can tell from full precision at all."""
    if full["right"] is None:
        return "questions need a tokenizer"
    ends = "questions_share_low", "questions_share_high"
    whole = (full[ends[0]], full[ends[1]])
    told = [row["scheme"] for row in rows if not overlaps((row[ends[0]], row[ends[1]]), whole)]
    different = f"only {', '.join(told)} from full precision" if told else "no scheme from full precision"
    return f"{len(QUESTIONS)} questions tell {different}: one of them more or fewer is no effect"
