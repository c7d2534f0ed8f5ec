"""presets/devices.toml against public readings, the arithmetic behind data sheets, and laws every row obeys."""

import re

import pytest

from planner import presets
from planner.deployment import Device
from planner.errors import UnknownName

MIB = 2**20
GIB = 2**30
DEVICES = presets.devices()
ALL = list(DEVICES.values())


def gib(size_bytes: int | None) -> str:
    return "none" if size_bytes is None else f"{size_bytes / GIB:.2f}"


@pytest.mark.parametrize(
    ("name", "lowest", "highest"),
    [
        ("rtx-3060-12gb", "11.63", "11.76"),
        ("rtx-3090", "23.68", "23.69"),
        ("rtx-4090", "23.64", "23.65"),
        ("rtx-5090", "31.36", "31.37"),
        ("rtx-a6000", "47.40", "47.53"),
        ("t4", "14.56", "14.58"),
        ("a10g", "22.03", "22.07"),
        ("l4", "22.03", "22.07"),
        ("l40s", "44.34", "44.42"),
        ("a100-40gb", "39.38", "39.50"),
        ("a100-80gb-sxm", "79.14", "79.25"),
        ("h100-sxm", "79.14", "79.25"),
        ("h200-sxm", "139.72", "139.81"),
        ("mi300x", "191.69", "191.98"),
        ("v100-16gb", "15.78", "none"),
        ("v100-32gb", "31.73", "none"),
        ("a30", "23.53", "none"),
        ("b200", "178.35", "none"),
        ("rtx-4060-ti-16gb", "15.57", "15.57"),
        ("rtx-5080", "15.48", "none"),
        ("rtx-a2000-12gb", "11.53", "none"),
        ("rx-7800-xt", "15.98", "none"),
    ],
)
def test_memory_is_what_torch_prints_on_linux(name: str, lowest: str, highest: str) -> None:
    """Totals in public reports, in GiB with two decimals."""
    device = DEVICES[name]
    assert (gib(device.memory_bytes), gib(device.memory_high_bytes)) == (lowest, highest)
    assert device.memory_basis == "measured"


@pytest.mark.parametrize(
    ("name", "mib"),
    [
        ("rtx-3090", 24576),
        ("rtx-4090", 24564),
        ("rtx-5090", 32607),
        ("rtx-a6000", 49140),
        ("t4", 15360),
        ("l4", 23034),
        ("a100-80gb-pcie", 81920),
        ("h100-sxm", 81559),
        ("h200-sxm", 143771),
        ("b200", 183359),
    ],
)
def test_driver_memory_is_what_nvidia_smi_prints(name: str, mib: int) -> None:
    assert DEVICES[name].driver_bytes == mib * MIB


@pytest.mark.parametrize(
    ("name", "printed", "unit"),
    [
        ("apple-m2-8gb", "5461.33", MIB),
        ("apple-m1-16gb", "10922.67", MIB),
        ("apple-m1-pro-16gb", "11453.25", 10**6),
        ("apple-m1-max-32gb", "21845.34", MIB),
        ("apple-m2-24gb", "17179.87", 10**6),
        ("apple-m3-max-48gb", "38654.71", 10**6),
        ("apple-m4-16gb", "11453.25", 10**6),
        ("apple-m5-max-128gb", "107.52", GIB),
    ],
)
def test_apple_memory_is_the_working_set_that_metal_recommends(name: str, printed: str, unit: int) -> None:
    """llama.cpp has printed MB as 2^20 and, later, as 10^6 bytes; both stand in public logs."""
    assert f"{DEVICES[name].memory_bytes / unit:.2f}" == printed


@pytest.mark.parametrize(
    ("name", "gbit_per_s_a_pin", "bus_bits"),
    [
        ("rtx-3090", 19.5, 384),
        ("rtx-4060", 17, 128),
        ("rtx-4090", 21, 384),
        ("rtx-5090", 28, 512),
        ("rtx-a6000", 16, 384),
        ("l40s", 18, 384),
        ("rx-7900-xtx", 20, 384),
        ("arc-a770-16gb", 17.5, 256),
        ("arc-b580", 19, 192),
        ("mi210", 3.2, 4096),
        ("dgx-spark", 8.533, 256),
        ("strix-halo-128gb", 8, 256),
        ("jetson-agx-orin-64gb", 6.4, 256),
        ("apple-m4-max-128gb", 8.533, 512),
    ],
)
def test_bandwidth_is_pin_rate_times_bus_width(name: str, gbit_per_s_a_pin: float, bus_bits: int) -> None:
    """Data sheets round to three or four digits."""
    assert DEVICES[name].bandwidth_bytes_per_s == pytest.approx(gbit_per_s_a_pin * 1e9 * bus_bits / 8, rel=0.002)


@pytest.mark.parametrize(
    ("name", "units", "flop_per_clock", "hertz"),
    [
        ("rtx-3090", 82, 512, 1.695e9),
        ("rtx-4090", 128, 512, 2.52e9),
        ("rtx-5090", 170, 512, 2.407e9),
        ("rtx-a6000", 84, 1024, 1.8e9),
        ("a100-80gb-sxm", 108, 2048, 1.41e9),
        ("h100-sxm", 132, 4096, 1.83e9),
        ("rx-7900-xtx", 96, 512, 2.498e9),
        ("mi300x", 304, 2048, 2.1e9),
        ("strix-halo-128gb", 40, 512, 2.9e9),
        ("gaudi-3", 8, 2 * 256 * 256, 1.6e9),
        ("apple-m1-16gb", 8, 256, 1.278e9),
    ],
)
def test_dense_16_bit_rate_is_units_times_clock(name: str, units: int, flop_per_clock: int, hertz: float) -> None:
    """Streaming multiprocessors, compute units, matrix engines or GPU cores; GeForce with 32-bit accumulation."""
    assert DEVICES[name].fp16_flops_per_s == pytest.approx(units * flop_per_clock * hertz, rel=0.01)


def test_there_are_a_hundred_devices_of_five_vendors_and_machines_without() -> None:
    assert len(ALL) >= 100
    assert {device.vendor for device in ALL} == {"nvidia", "amd", "apple", "intel", "google", "cpu"}


@pytest.mark.parametrize("device", ALL, ids=lambda device: device.name)
class TestEveryDevice:
    def test_a_process_sees_no_more_than_the_driver_and_the_driver_no_more_than_was_sold(self, device: Device) -> None:
        assert device.nominal_gb is not None
        sizes = (device.memory_bytes, device.memory_high_bytes, device.driver_bytes, device.nominal_gb * GIB)
        known = [size for size in sizes if size is not None]
        assert known == sorted(known)

    def test_usable_memory_is_near_the_size_as_sold(self, device: Device) -> None:
        """Cards keep at least nine tenths; where the system shares the memory, at least two thirds."""
        assert device.nominal_gb is not None
        assert device.memory_bytes >= (0.66 if device.unified else 0.9) * device.nominal_gb * GIB

    def test_basis(self, device: Device) -> None:
        assert device.memory_basis in ("measured", "estimate", "nominal")
        if device.memory_basis == "nominal":
            assert device.nominal_gb is not None
            assert device.memory_bytes == device.nominal_gb * GIB
            assert device.driver_bytes is None
        if device.memory_basis == "measured":
            assert re.search(r"\d", device.memory_source)

    def test_provenance_survives_loading(self, device: Device) -> None:
        assert len(device.memory_source) >= 10
        assert len(device.spec_source) >= 10
        assert device.spec_checked == ("recalled" not in device.spec_source.lower())

    def test_power(self, device: Device) -> None:
        """A limit has a source; it is none of a token's energy where none was found: Macs, TPUs, and processors."""
        assert (device.power_watts is None) == (device.vendor in ("apple", "google", "cpu"))
        if device.power_watts is not None:
            assert 10 <= device.power_watts <= 1_400
            assert len(device.power_source) >= 10
            assert device.power_checked == ("recalled" not in device.power_source)

    def test_rates(self, device: Device) -> None:
        assert (device.bandwidth_bytes_per_s is None) == (device.vendor == "cpu")
        if device.bandwidth_bytes_per_s is None:
            return
        assert 50e9 < device.bandwidth_bytes_per_s < 10e12
        if device.fp16_flops_per_s is not None:
            # A card computes far more than it reads: between 20 and 1,000 operations a byte.
            assert 20 < device.fp16_flops_per_s / device.bandwidth_bytes_per_s < 1_000
        floats = device.fp16_flops_per_s, device.fp8_flops_per_s, device.fp4_flops_per_s
        known = [rate for rate in floats if rate]
        assert known == sorted(known)

    def test_sums_of_16_bit_are_for_cards_that_halve_sums_of_32(self, device: Device) -> None:
        """GeForce with matrix units, all of them; nobody else."""
        halved = re.match(r"rtx-[2345]0\d\d", device.name) is not None
        assert (device.fp16_accumulate_flops_per_s is not None) == halved
        if halved and device.fp16_flops_per_s:
            assert device.fp16_accumulate_flops_per_s == 2 * device.fp16_flops_per_s

    def test_names_are_what_people_type(self, device: Device) -> None:
        for name in (device.name, *device.aliases):
            assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)


def test_every_name_means_one_device() -> None:
    names = [name for device in ALL for name in (device.name, *device.aliases)]
    assert sorted({name for name in names if names.count(name) > 1}) == []


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("4090", "rtx-4090"),
        (" RTX-4090 ", "rtx-4090"),
        ("h100", "h100-sxm"),
        ("MI300X", "mi300x"),
        ("gb10", "dgx-spark"),
        ("NVIDIA GeForce RTX 3060 12GB", "rtx-3060-12gb"),
        ("AMD Radeon RX 7900 XTX", "rx-7900-xtx"),
    ],
)
def test_other_spellings(typed: str, name: str) -> None:
    assert presets.find_device(typed).name == name


@pytest.mark.parametrize("name", DEVICES)
def test_a_title_is_a_name_with_its_maker_before_it_too(name: str) -> None:
    for maker in ("", "NVIDIA ", "AMD "):
        assert presets.find_device(maker + DEVICES[name].title).name == name


@pytest.mark.parametrize("ambiguous", ["a100", "v100", "rtx-4060-ti", "m1", "m4-max", "NVIDIA GeForce RTX 3060"])
def test_a_name_that_fits_several_sizes_is_refused(ambiguous: str) -> None:
    with pytest.raises(UnknownName):
        presets.find_device(ambiguous)


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("NVIDIA GeForce RTX 4060 Ti", "nearest: rtx-4060-ti-16gb; see"),
        ("A100", "nearest: a100-40gb, a100-80gb-pcie, a100-80gb-sxm; see"),
        ("Apple M3 Max", "nearest: apple-m3-max-48gb, apple-m3-max-36gb; see"),
    ],
)
def test_a_name_that_is_none_is_answered_with_the_nearest_by_title(typed: str, near: str) -> None:
    with pytest.raises(UnknownName) as refusal:
        presets.find_device(typed)
    assert near in str(refusal.value)
