"""Measurements need torch, which the app's own installation leaves out."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from measure.lock import LOCK_VARIABLE
from measure.setup import Setup
from tests.measure.tiny import write

collect_ignore_glob = [] if find_spec("torch") and find_spec("transformers") else ["test_*.py"]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    """A setup with a tiny model of random weights."""
    return Setup(model=write(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Tests run beside each other: threads of one that wait for a core cost the others minutes."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def own_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests may run beside a measurement, and beside each other."""
    monkeypatch.setenv(LOCK_VARIABLE, str(tmp_path / "measure.lock"))
