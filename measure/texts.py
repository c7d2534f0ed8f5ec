"""Texts to measure on: a story of the project's own, which no model was trained on, short questions, a sentence."""

from pathlib import Path

import torch

from measure.running import Running

HELD_OUT = (Path(__file__).parent / "held_out.txt").read_text(encoding="utf-8")
"""A story of about 1,300 words, written for this project."""
MILK = "She poured the milk into the"
"""The start of a sentence whose next word has several good candidates."""

QUESTIONS = (
    ("The capital of France is", "Paris"),
    ("The opposite of hot is", "cold"),
    ("Two plus two equals", "four"),
    ("The sun rises in the", "east"),
    ("Water freezes at zero degrees", "Celsius"),
    ("The largest planet in the solar system is", "Jupiter"),
    ("Bees make", "honey"),
    ("The author of Hamlet is William", "Shakespeare"),
    ("A baby dog is called a", "puppy"),
    ("The chemical symbol of water is", "H"),
    ("The first month of the year is", "January"),
    ("The currency of Japan is the", "yen"),
    ("The Great Wall is in", "China"),
    ("Humans breathe in", "oxygen"),
    ("The past tense of go is", "went"),
    ("A triangle has three", "sides"),
)
"""Beginnings and the word that continues them."""


def ids_of(running: Running, text: str, tokens: int | None = None) -> torch.Tensor:
    """The first *tokens* ids of *text*, as a batch of one; random ids where the model has no tokenizer."""
    tokenizer = running.loaded.tokenizer
    if tokenizer is None:
        return running.prompt(1, tokens or len(text.split()))
    ids = tokenizer(text, return_tensors="pt").input_ids[:, :tokens]
    return ids.to(running.instrument.device)
