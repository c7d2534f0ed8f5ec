"""llama.cpp, ik_llama.cpp and Ollama against what they printed in public when they started."""

import pytest

from tests.llama_cpp_readings import Reading, readings

CACHE = ("kv_mib", "recurrent_mib", "context_mib")
WEIGHTS = ("weights_card_mib", "weights_host_mib", "weights_file_mib")
COMPUTE = ("compute_card_mib", "compute_host_only_mib")
WEIGHTS_TOLERANCE, COMPUTE_TOLERANCE = 0.0015, 0.1
ROUNDING_MIB = 0.02
"""Two figures of 0.01 MiB, keys and values or two devices, each rounded."""


def rows(names: tuple[str, ...], latent: bool | None = None) -> list[object]:
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
        if name in reading.printed and (latent is None or reading.is_latent == latent)
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


@pytest.mark.parametrize(("reading", "name"), rows(COMPUTE, latent=False))
def test_compute_buffers_are_close(reading: Reading, name: str) -> None:
    assert reading.figure(name) == pytest.approx(reading.printed[name], rel=COMPUTE_TOLERANCE)


def test_compute_buffers_with_latent_attention_lie_within_the_spread() -> None:
    """No formula gives them: 18 starts of ik_llama.cpp, all between the item's low and high end."""
    outside = [
        reading.id
        for reading in readings()
        for name in COMPUTE
        if name in reading.printed
        and reading.is_latent
        and not reading.spread_mib(name)[0] <= reading.printed[name] <= reading.spread_mib(name)[1]
    ]
    assert outside == []


def test_compute_buffers_with_latent_attention_are_close_where_the_file_is_named() -> None:
    """A card's step copies a matrix of experts from main memory, whose format a file with a mix of its own hides."""
    latent = [reading for reading in readings() if not reading.skip and reading.is_latent and reading.weights]
    found = [(one, name) for one in latent for name in COMPUTE if name in one.printed]
    close = [one.id for one, name in found if one.figure(name) == pytest.approx(one.printed[name], rel=0.1)]
    assert (len(close), len(found)) == (3, 4)


def test_most_compute_buffers_are_close() -> None:
    """At least three of four: one device, keys and values, step and flash attention known."""
    found = [(reading, name) for reading in readings() for name in COMPUTE if name in reading.printed]
    plain = [(reading, name) for reading, name in found if not reading.is_latent]
    close = [name for reading, name in plain if name not in reading.disagrees]
    assert (len(close), len(plain)) == (47, 52)
    assert len(close) / len(plain) >= 0.75


def test_every_reading_is_run_or_says_why_not() -> None:
    assert len(readings()) == 145
    for reading in readings():
        assert reading.source
        assert bool(reading.skip) != bool(reading.printed)
        assert reading.disagrees.keys() <= reading.printed.keys()
    assert sum(bool(reading.skip) for reading in readings()) == 11
    assert sum(bool(reading.disagrees) for reading in readings()) == 12
    assert sum(reading.circular for reading in readings()) == 2
