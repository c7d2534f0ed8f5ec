"""What joins cards: by their own data sheets, by name, and what an exchange costs."""

import json
from dataclasses import replace

import pytest

from planner import presets
from planner.catalogue import performance_presets
from planner.catalogue.links import find_link, link_names
from planner.cli import main
from planner.errors import PlannerError
from planner.speed.constants import parts
from planner.speed.fit import predicted_s
from planner.speed.links import Link
from planner.speed.work import decode_work
from tests.speed.test_speed import CONSTANTS, dense, prepared
from tests.speed_readings.reading import model_for

SLOW = Link(name="slow", title="slow", exchange_s=5e-5, bytes_per_s=1e9, source="assumption: for tests")


def test_an_exchange_costs_its_latency_and_what_it_sends() -> None:
    """Four layers with two exchanges each; a ring of two sends half of the sum there and the other half back."""
    work = decode_work(prepared(dense(), tensor_parallel=2, link=SLOW), 3, 100)
    assert work.exchange_s == pytest.approx(4 * 2 * 5e-5)
    assert work.link_s == pytest.approx(3 * 4 * 2 * (2 * 1 / 2) * 512 * 2 / 1e9)
    half = parts(work, replace(CONSTANTS, link_efficiency=0.5))
    assert half.links_s == pytest.approx(work.exchange_s + 2 * work.link_s)


def test_one_card_exchanges_nothing() -> None:
    work = decode_work(prepared(dense(), link=SLOW), 3, 100)
    assert (work.exchange_s, work.link_s) == (0, 0)


@pytest.mark.parametrize(
    ("device", "name", "bytes_per_s"),
    [
        ("h100-sxm", "nvlink", 450e9),  # 900 GB/s both ways together
        ("b200", "nvlink", 900e9),
        ("mi300x", "infinity-fabric", 448e9),
        ("gaudi-2", "gaudi-network", 300e9),  # 24 × 100 Gb/s each way
        ("dgx-spark", "network", 25e9),
        ("rtx-4090", "pcie4-x16", 31.5e9),
        ("rtx-3090", "pcie4-x16", 31.5e9),  # its NVLink is an option, which comes second
        ("rtx-5090", "pcie5-x16", 63e9),
    ],
)
def test_a_card_is_joined_as_its_data_sheet_has_it(device: str, name: str, bytes_per_s: float) -> None:
    link = find_link(presets.find_device(device))
    assert (link.name, link.bytes_per_s, link.is_assumed) == (name, bytes_per_s, False)


def test_every_stated_interconnect_is_known_or_has_no_rate() -> None:
    """A form of words that is new has to be taught, not taken for PCIe."""
    assumed = {d.interconnect for d in presets.devices().values() if find_link(d).is_assumed}
    assert assumed == {None, "Infinity Fabric", "ICI"}


def test_exchanges_cost_something_over_every_link() -> None:
    for name in link_names():
        for device in presets.devices().values():
            try:
                link = find_link(device, name)
            except PlannerError:
                continue
            assert link.exchange_s > 0, name
            assert link.bytes_per_s > 0, name


def test_a_named_link_replaces_the_cards_own() -> None:
    card = presets.find_device("rtx-3090")
    assert find_link(card, "nvlink").bytes_per_s == 56e9
    assert find_link(card, "PCIe4-x8 ").bytes_per_s == 15.75e9
    with pytest.raises(
        PlannerError, match="no rate of NVLink is known for GeForce RTX 4090; it can be joined by pcie4-x16"
    ):
        find_link(presets.find_device("rtx-4090"), "nvlink")
    with pytest.raises(PlannerError, match="interconnect = 'string' is not known; choose one of: nvlink"):
        find_link(card, "string")


def test_two_cards_with_and_without_their_bridge_are_as_far_apart_as_they_were_measured() -> None:
    """Qwen3.6-27B on two RTX 3090: 67.24 and 42.74 tokens a second, a token's time apart."""
    card = presets.find_device("rtx-3090")
    constants = performance_presets.find_speed_constants("vllm", "rtx-3090", experts=False)
    model = model_for("qwen3.6-27b", "rtx-3090", "int4-g128", "fp8", 2)
    without, bridged = (
        predicted_s(decode_work(replace(model, link=find_link(card, name)), 1, 1_000), constants)
        for name in (None, "nvlink")
    )
    assert without - bridged == pytest.approx(1 / 42.74 - 1 / 67.24, rel=0.02)


def test_the_command_says_what_joins_the_cards(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["speed", "--model", "llama-3.1-70b", "--device", "h100-sxm", "--tensor-parallel", "4"]
    assert main(words) == 0
    assert "4 × NVIDIA H100 SXM, joined by NVLink;" in capsys.readouterr().out
    rates = []
    for link in ("nvlink", "pcie5-x16", "pcie3-x8"):
        assert main([*words, "--interconnect", link, "--json"]) == 0
        rates.append(json.loads(capsys.readouterr().out)["tokens_per_s"]["value"])
    assert rates == sorted(rates, reverse=True)
    assert main(["speed", "--model", "llama-3.1-8b", "--device", "rtx-4090", "--interconnect", "nvlink"]) == 2
    assert "--interconnect has no effect with one card" in capsys.readouterr().err


def test_an_assumed_link_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["speed", "--model", "llama-3.1-8b", "--device", "apple-m2-ultra-192gb", "--tensor-parallel", "2"]
    assert main(words) == 0
    assert "PCIe 4.0 x16 is assumed; --interconnect says otherwise." in capsys.readouterr().out
