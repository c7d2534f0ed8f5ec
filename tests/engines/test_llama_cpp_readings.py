"""llama.cpp, ik_llama.cpp and Ollama against what they printed in public when they started."""

import pytest

from tests.llama_cpp_readings import Reading, readings

CACHE = ("kv_mib", "recurrent_mib", "context_mib")
WEIGHTS = ("weights_card_mib", "weights_host_mib", "weights_file_mib")
COMPUTE = ("compute_card_mib", "compute_host_only_mib")
WEIGHTS_TOLERANCE, COMPUTE_TOLERANCE = 0.0015, 0.1
ROUNDING_MIB = 0.02
"""Two figures of 0.01 MiB, keys and values or two devices, each rounded."""


def rows(names: tuple[str, ...]) -> list[object]:
    """Each reading with each of *names* that it prints."""
    return [
        pytest.param(
            reading,
            name,
            id=f"{reading.id} {name}",
            marks=pytest.mark.xfail(reason=reading.disagrees[name], raises=AssertionError)
            if name in reading.disagrees
            else (),
        )
        for reading in readings()
        for name in names
        if name in reading.printed
    ]


@pytest.mark.parametrize(("reading", "name"), rows(CACHE))
def test_caches_are_as_printed(reading: Reading, name: str) -> None:
    """To the last digit; memory breakdowns print whole MiB, cut off once a device."""
    rounding = reading.printed.get("whole_mib", 1 if name == "context_mib" else ROUNDING_MIB)
    assert reading.figure(name) == pytest.approx(reading.printed[name], abs=rounding + 1e-9)


@pytest.mark.parametrize(("reading", "name"), rows(("output_mib",)))
def test_outputs_are_as_printed(reading: Reading, name: str) -> None:
    assert reading.figure(name) == pytest.approx(reading.printed[name], abs=0.005 + 1e-9)


@pytest.mark.parametrize(("reading", "name"), rows(WEIGHTS))
def test_weights_lie_where_they_are_printed(reading: Reading, name: str) -> None:
    """From the preset and the file type alone; a mapped buffer spans the whole file."""
    assert reading.figure(name) == pytest.approx(reading.printed[name], rel=WEIGHTS_TOLERANCE)


@pytest.mark.parametrize(("reading", "name"), rows(COMPUTE))
def test_compute_buffers_are_close(reading: Reading, name: str) -> None:
    assert reading.figure(name) == pytest.approx(reading.printed[name], rel=COMPUTE_TOLERANCE)


@pytest.mark.parametrize(("latent", "close", "equal", "every"), [(False, 49, 33, 52), (True, 16, 12, 18)])
def test_most_compute_buffers_are_equal(latent: bool, close: int, equal: int, every: int) -> None:
    """One device, step, cache and flash attention known: within a tenth, and to the last digit."""
    kinds = [one for one in readings() if not one.skip and one.is_latent == latent]
    found = [(one, name) for one in kinds for name in COMPUTE if name in one.printed]
    assert sum(name not in one.disagrees for one, name in found) == close
    assert sum(abs(one.figure(name) - one.printed[name]) < 0.0101 for one, name in found) == equal
    assert len(found) == every


def test_every_reading_is_run_or_says_why_not() -> None:
    assert len(readings()) == 145
    for reading in readings():
        assert reading.source
        assert bool(reading.skip) != bool(reading.printed)
        assert reading.disagrees.keys() <= reading.printed.keys()
    assert sum(bool(reading.skip) for reading in readings()) == 11
    assert sum(bool(reading.disagrees) for reading in readings()) == 12
    assert sum(reading.circular for reading in readings()) == 2
