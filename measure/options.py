"""Which options change what an experiment measures: one that would change nothing is refused, not passed over."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from measure.experiments import EXPERIMENTS
from measure.setup import Setup
from planner.errors import PlannerError

ENGINE = "engine"
OF_A_MODEL = frozenset({"model", "scale", "device", "dtype", "attention", "seed", "online"})
TAKES: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(EXPERIMENTS, OF_A_MODEL),
    "speculation": OF_A_MODEL | {"draft"},
    "weight-quantization": OF_A_MODEL - {"attention"},
    "tensor-parallel": OF_A_MODEL - {"attention"},
    ENGINE: frozenset({"model"}),
}
"""Options such as ``--quick`` and ``--output`` are of the call, and every experiment takes them."""
WHY = {
    "weight-quantization": "it reads weights and runs nothing",
    "tensor-parallel": "its ranks attend as the library chooses",
    ENGINE: "the engine decides it itself",
}


def check_options(name: str, given: Iterable[str]) -> None:
    """Raises PlannerError for the first option of *given* that changes nothing in experiment *name*."""
    for option in sorted(set(given) - TAKES.get(name, OF_A_MODEL)):
        takers = [each for each, taken in TAKES.items() if option in taken]
        where = f"only {takers[0]} takes it" if len(takers) == 1 else WHY[name]
        raise PlannerError(f"--{option} changes nothing in {name}, since {where}: leave it out.")


def setup_for(name: str, setup: Setup, among: int) -> Setup:
    """*setup* as experiment *name* has it *among* so many: a real engine takes a GGUF file and no other choice."""
    if name != ENGINE or among == 1:
        return setup
    model = setup.model if is_file(setup.model) else ""
    return replace(Setup(), model=model, device=setup.device, quick=setup.quick)


def is_file(model: str) -> bool:
    """Whether *model* names a file, there or not, as a GGUF file's path does."""
    return model.endswith(".gguf") or Path(model).is_file()
