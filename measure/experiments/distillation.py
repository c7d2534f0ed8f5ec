"""The teacher's soft labels: what a temperature does to them, and a student that learns with and without them.

The student is small, shares the teacher's tokenizer and sees text that the teacher wrote. Hard labels are the tokens
themselves, soft ones the teacher's distribution at every position. Source: Hinton, Vinyals and Dean, arXiv:1503.02531.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.nn import functional

from measure.experiments.base import TOO_FEW, Report, Settings, Table, rows_of
from measure.models import find_source
from measure.pictures import lines
from measure.records import Case, Record
from measure.running import Running, needed_for, start
from measure.setup import Setup
from measure.texts import HELD_OUT, MILK, ids_of
from measure.worker import Message, Progress

NAME = "distillation"
TEMPERATURES = (1.0, 2.0, 4.0)
CANDIDATES = 5
TEXTS, LENGTH, TESTED = 24, 40, 96
SECONDS, QUICK_SECONDS = 60, 20
WIDTH, LAYERS, HEADS = 96, 2, 4
RATE = 2e-3
POINTS = 10
LABELS = ("hard", "soft")


def cases(setup: Setup) -> list[Case]:
    seconds = QUICK_SECONDS if setup.quick else SECONDS
    found = [Case(experiment=NAME, name="temperature", settings={"kind": "temperature"})]
    return found + [
        Case(experiment=NAME, name=f"{name} labels", settings={"kind": "student", "labels": name, "seconds": seconds})
        for name in LABELS
    ]


def needed_bytes(settings: Settings, setup: Setup) -> int:
    logits = 16 * find_source(setup).architecture.vocab_size * TEXTS * LENGTH
    return needed_for(setup, TEXTS, LENGTH) + logits


def run(settings: Settings, setup: Setup) -> Iterator[Message]:
    running = start(setup)
    torch.manual_seed(setup.seed)
    if settings["kind"] == "temperature":
        yield from temperatures(running)
        return
    texts = written_by(running, TEXTS, LENGTH)
    yield Progress(share=0.2)
    with torch.no_grad():
        labels = running.model(input_ids=texts).logits[:, :-1].float().log_softmax(-1)
    held_out = ids_of(running, HELD_OUT, TESTED)
    with torch.no_grad():
        truth = running.model(input_ids=held_out).logits[0].float().log_softmax(-1)
    pupil = student(running)
    yield from _train(pupil, texts, labels, held_out, truth, settings, running.loaded.source.title)


def temperatures(running: Running) -> Iterator[dict[str, Any]]:
    """The first candidates for the next word at each temperature; a ratio of two falls to its T-th root."""
    logits, _ = running.forward(ids_of(running, MILK))
    whole = logits[0].cpu().double()  # Apple's GPUs have no such numbers
    order = whole.argsort(descending=True)[:CANDIDATES]
    tokenizer = running.loaded.tokenizer
    words = [tokenizer.decode([token]).strip() if tokenizer else str(token) for token in order.tolist()]
    plain = whole.softmax(-1)[order]
    for temperature in TEMPERATURES:
        shares = (whole / temperature).softmax(-1)[order]
        yield {
            "kind": "temperature",
            "temperature": temperature,
            "candidates": ", ".join(f"{word} {share:.4f}" for word, share in zip(words, shares, strict=True)),
            "predicted_ratio": float(plain[0] / plain[2]) ** (1 / temperature),
            "measured_ratio": float(shares[0] / shares[2]),
        }


def written_by(running: Running, texts: int, length: int) -> torch.Tensor:
    """*texts* × *length* ids, each sampled by the teacher after one random token."""
    new, cache = running.prompt(texts, 1), None
    ids = new
    for _ in range(length - 1):
        logits, cache = running.forward(new, cache)
        new = torch.multinomial(logits.float().softmax(-1), 1)
        ids = torch.cat([ids, new], dim=1)
    return ids


def student(running: Running) -> Any:
    """A model of two narrow layers with the teacher's vocabulary."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=running.loaded.source.architecture.vocab_size,
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        tie_word_embeddings=True,
        pad_token_id=None,
        bos_token_id=None,
        eos_token_id=None,
    )
    return LlamaForCausalLM(config).to(running.instrument.device).train()


def _train(
    pupil: Any,
    texts: torch.Tensor,
    labels: torch.Tensor,
    held_out: torch.Tensor,
    truth: torch.Tensor,
    settings: Settings,
    teacher: str,
) -> Iterator[Message]:
    optimizer = torch.optim.AdamW(pupil.parameters(), lr=RATE)
    begin, steps, point = time.perf_counter(), 0, 0
    while point <= POINTS:
        used = time.perf_counter() - begin
        if used >= point * settings["seconds"] / POINTS:
            yield {
                "kind": "student",
                "teacher": teacher,
                "labels": settings["labels"],
                "seconds": round(used, 2),
                "steps": steps,
                **_tested(pupil, held_out, truth),
            }
            yield Progress(share=0.3 + 0.7 * min(1.0, used / settings["seconds"]))
            # A step that takes longer than a point's time ends the training no later.
            point = max(point, int(used * POINTS / settings["seconds"])) + 1
        found = pupil(input_ids=texts).logits[:, :-1].log_softmax(-1)
        if settings["labels"] == "soft":
            loss = functional.kl_div(found, labels, log_target=True, reduction="sum") / found[..., 0].numel()
        else:
            loss = functional.nll_loss(found.flatten(0, 1), texts[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1


def _tested(pupil: Any, held_out: torch.Tensor, truth: torch.Tensor) -> dict[str, float]:
    """On a text that nobody wrote for it: the divergence from the teacher, and how often their best token agrees."""
    with torch.no_grad():
        found = pupil(input_ids=held_out).logits[0].log_softmax(-1)
    divergence = functional.kl_div(found, truth, log_target=True, reduction="batchmean")
    return {"divergence": float(divergence), "agreement": float((found.argmax(-1) == truth.argmax(-1)).float().mean())}


def report(records: Sequence[Record], setup: Setup) -> Report:
    warm, students = rows_of(records, "temperature"), rows_of(records, "student")
    lesson = TOO_FEW
    best = {row["labels"]: row for row in sorted(students, key=lambda row: -row["divergence"])}
    if best.keys() >= set(LABELS):
        hard, soft = best["hard"], best["soft"]
        lesson = (
            f"After {students[-1]['seconds']:.0f} s a small student that learns from its teacher's probabilities is "
            f"{soft['divergence']:.2f} nats away from them on a new text, one that learns from the words alone "
            f"{hard['divergence']:.2f}"
        )
    doubled = next((row for row in warm if row["temperature"] == 2), None)
    if doubled:
        lesson += (
            f"; at temperature 2 the first candidate for a word is {doubled['measured_ratio']:.2f} times as likely as "
            f"the third, the square root of {warm[0]['measured_ratio']:.2f}"
        )
    chart = lines(students, ("seconds", "seconds of training"), ("divergence", "nats from the teacher"), "labels")
    return Report(
        tables=(Table(rows=students, chart=chart), Table(name="temperature", rows=warm)),
        lesson=f"{lesson}.",
        disagreements=tuple(
            f"ratio at T = {row['temperature']:g}: {row['measured_ratio']:.6g} instead of {row['predicted_ratio']:.6g}"
            for row in warm
            if abs(row["measured_ratio"] / row["predicted_ratio"] - 1) > 1e-6
        ),
    )
