"""What is measured, on what and how: the choices that all experiments of one call share."""

from dataclasses import dataclass

DTYPES = ("fp32", "bf16", "fp16")
"""Number formats of weights, activations and cache, by the planner's names."""
ATTENTION = ("auto", "sdpa", "eager")
"""``auto`` is the library's own choice: SDPA where the model has it."""
SCALES = ("full", "small")
TRAINED = "smollm2-135m-instruct"
"""How the trained model is called that works offline; ``smollm2-135m`` is its preset, with random weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """*model* is a preset's name (random weights), a folder, a Hugging Face id or ``TRAINED``; empty: the default.

    *scale* ``small`` runs a small copy of it, with random weights. *draft*, for ``speculation``, is a model too, or
    ``first-20`` for the target's own first 20 layers; empty: rounded copies. *quick* takes fewer and shorter cases.
    """

    model: str = ""
    scale: str = "full"
    device: str = "cpu"
    dtype: str = "fp32"
    attention: str = "auto"
    seed: int = 0
    draft: str = ""
    online: bool = False
    quick: bool = False
