"""The libraries that measuring needs beyond the planner's own: which are missing, and whether they can be loaded."""

from importlib import import_module, util

from planner.errors import PlannerError

NEEDS = ("torch", "transformers", "psutil", "filelock", "tqdm")
INSTALL = "pip install -e '.[measure]'"
"""In KV Budget's own folder."""
SIZE = "about 1.6 GB"


def missing() -> list[str]:
    """Those of NEEDS that are not installed here."""
    return [name for name in NEEDS if util.find_spec(name) is None]


def load_torch() -> None:
    """Loads PyTorch. Raises PlannerError where a library is missing, or memory is too short to load this one."""
    if lacking := missing():
        raise PlannerError(f"Measuring needs {', '.join(lacking)}: run {INSTALL} in KV Budget's folder ({SIZE}).")
    try:
        import_module("torch")
    except Exception as error:  # under a limit of memory it ends in whatever its C++ part throws first
        said = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise PlannerError(f"PyTorch cannot be loaded, for which memory may be short: {said}.") from error
