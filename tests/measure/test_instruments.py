"""Each instrument against allocations of known size. The CUDA path runs on a stand-in: no test here needs a card."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

from measure.free_memory import ask_elsewhere
from measure.instruments import find_instrument, limits
from measure.instruments.accelerator import AcceleratorInstrument
from measure.instruments.buckets import sort_into_buckets
from measure.instruments.cpu import CpuInstrument
from measure.instruments.driver import DriverReading
from measure.instruments.mps import MpsInstrument
from measure.setup import Setup
from measure.tensors import storage_bytes, tensor_bytes
from planner.errors import PlannerError
from tests.measure.stand_in import StandIn

MIB = 2**20


def test_the_cpu_is_read_to_the_byte() -> None:
    before = torch.zeros(1_000)
    with CpuInstrument().watch() as watched:
        kept = torch.empty(1_001, dtype=torch.uint8)
        gone = torch.empty(3_003, dtype=torch.uint8)
        view = gone[10:20]
        before.add_(1)  # nothing new
        del gone  # its storage lives on behind the view
        more = torch.empty(7, dtype=torch.uint8)
        del view, more
        last = kept.view(torch.int8)
        small = torch.empty(5, dtype=torch.uint8)
    assert watched.peak_bytes == 1_001 + 3_003 + 7
    assert watched.left_bytes == 1_001 + 5
    assert last.numel() + small.numel() == 1_006


def test_what_existed_before_and_dies_inside_is_not_counted() -> None:
    before = [torch.zeros(1_000)]
    with CpuInstrument().watch() as watched:
        before[0].mul_(2)
        before.clear()
        after = torch.zeros(10)
        counter = torch.tensor([1])
    assert (watched.peak_bytes, watched.left_bytes) == (48, 48)
    assert after.sum() + counter.sum() == 1


def _attend() -> Any:
    states = torch.ones(2, 4, 96, 32)
    mixed = functional.scaled_dot_product_attention(states, states, states, is_causal=True)
    return functional.linear(functional.silu(mixed), torch.ones(64, 32))


def test_the_cpus_peak_is_the_allocators_own() -> None:
    """PyTorch's profiler sees each allocator event; what remains and the peak are the same."""
    _attend()  # oneDNN keeps buffers by shape from the first call on
    with CpuInstrument().watch() as watched:
        kept = _attend()
    del kept
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        kept = _attend()
    now = peak = 0
    for event in profiler.profiler.kineto_results.events():
        if event.name() == "[memory]":
            now += event.nbytes()
            peak = max(peak, now)
    assert watched.left_bytes == now == kept.numel() * 4
    # The attention kernel takes its own scratch memory inside one operator.
    assert watched.peak_bytes == pytest.approx(peak, rel=0.01)


def test_views_share_one_storage() -> None:
    whole = torch.zeros(100, dtype=torch.float16)
    assert tensor_bytes([whole[:10], whole[5:10]]) == 30
    assert storage_bytes([whole[:10], whole[5:10]]) == 200


def driver(kind: str, index: int, properties: Any) -> DriverReading:
    return DriverReading(driver="570.00", used_bytes={os.getpid(): 400 * MIB, 1: 100 * MIB})


def test_cuda_by_bucket_on_a_stand_in() -> None:
    backend = StandIn()
    instrument = AcceleratorInstrument("cuda", backend, driver=driver)
    weights, cache = torch.zeros(25_000), torch.zeros(1_000, dtype=torch.float16)
    with backend.allocation(100_000):
        instrument.settle()
        with instrument.watch() as watched, backend.allocation(2_000), backend.allocation(3 * MIB + 1):
            pass
        buckets = sort_into_buckets([weights], [cache], watched, instrument.now())
    assert buckets.weights_bytes == 100_000
    assert buckets.cache_bytes == 2_000
    assert buckets.peak_bytes == 2_048 + 3 * MIB + 512
    assert watched.requested_bytes == 2_000 + 3 * MIB + 1
    # Two segments were reserved at the peak; 100,000 B round up to 196 blocks.
    assert buckets.reserved_unused_bytes == 4 * MIB - 196 * 512
    assert buckets.outside_bytes == 300 * MIB
    assert backend.calls[:2] == ["synchronize", "empty_cache"]


def test_what_other_processes_take_and_the_drivers_version() -> None:
    instrument = AcceleratorInstrument("cuda", StandIn(), driver=driver)
    assert instrument.now().others_bytes == 100 * MIB
    assert instrument.driver() == "570.00"
    hidden = AcceleratorInstrument("cuda", StandIn(), driver=lambda *_: DriverReading(driver="570.00"))
    assert hidden.now().others_bytes is None


RECORDED = [
    # PyTorch's own words on real cards when memory ran out, in GiB: total, free, allocated, reserved and unallocated.
    (15.98, 84.00 / 1_024, 15.44, 267.59 / 1_024, 0.20),  # https://github.com/pinokiofactory/flux-webui/issues/25
    (23.98, 1.70, 21.65, 279.78 / 1_024, 0.36),  # https://github.com/Tongyi-MAI/Z-Image/issues/103
    (15.92, 7.12, 8.08, 321.96 / 1_024, 0.41),  # https://github.com/Comfy-Org/ComfyUI/issues/9529
    (287.98, 203.49, 68.63, 14.93, 0.93),  # https://github.com/pytorch/pytorch/issues/175431
]


@pytest.mark.parametrize(("total", "free", "allocated", "unused", "outside"), RECORDED)
def test_recorded_readings_of_real_cards_fall_into_buckets(
    total: float, free: float, allocated: float, unused: float, outside: float
) -> None:
    """What is neither free nor the allocator's is context, libraries and other programs; the parts are the whole."""
    gib = 2**30
    sizes = [round(size * gib) for size in (total, free, allocated, unused)]
    reserved = sizes[2] + sizes[3]
    backend = StandIn(
        total_bytes=sizes[0], context_bytes=sizes[0] - sizes[1] - reserved, allocated=sizes[2], reserved=reserved
    )
    memory = AcceleratorInstrument("rocm", backend, driver=lambda *_: None).now()
    assert (memory.free_bytes, memory.allocated_bytes, memory.reserved_unused_bytes) == tuple(sizes[1:])
    assert memory.outside_bytes == pytest.approx(outside * gib, abs=0.01 * gib)
    assert memory.free_bytes + memory.reserved_bytes + memory.outside_bytes == sizes[0]


def test_a_limit_on_the_cpu_is_kept_to_the_byte() -> None:
    kept = torch.zeros(1_000)
    with CpuInstrument().limited(1_000) as watched:
        kept.add_(1)
        whole = torch.empty(1_000, dtype=torch.uint8)
        del whole
    assert watched.peak_bytes == 1_000
    with pytest.raises(MemoryError, match="1,001 B are more than the limit of 1,000 B"), CpuInstrument().limited(1_000):
        torch.empty(1_001, dtype=torch.uint8)


def test_a_limit_on_a_card_is_a_share_of_it_and_is_lifted() -> None:
    backend = StandIn()
    with backend.allocation(3 * MIB):
        with AcceleratorInstrument("cuda", backend, driver=driver).limited(2**30):
            assert backend.fraction == (4 * MIB + 2**30) / (8 * 2**30)
        assert backend.fraction == 1.0


def test_xpu_has_the_same_calls_and_tells_its_driver() -> None:
    instrument = AcceleratorInstrument("xpu", StandIn())
    assert (instrument.device, instrument.driver()) == (torch.device("xpu:0"), "1.6.33578")
    assert (instrument.held_by_others(), instrument.now().others_bytes) == ({}, None)


def test_graphics_within_a_processor_tell_no_free_memory_of_their_own() -> None:
    instrument = AcceleratorInstrument("xpu", StandIn(tells_free=False))
    memory = instrument.now()
    assert 0 < memory.free_bytes <= memory.total_bytes == 8 * 2**30
    assert memory.outside_bytes is None


def test_a_build_without_cuda_is_refused_and_does_not_read_zero() -> None:
    with pytest.raises(RuntimeError, match="cuda is not available"):
        AcceleratorInstrument("cuda", StandIn(is_there=False))


class Metal:
    """``torch.mps`` as far as the instrument calls it."""

    current = 1_000
    fraction = 0.0

    def set_per_process_memory_fraction(self, fraction: float) -> None:
        self.fraction = fraction

    def synchronize(self) -> None:
        pass

    def empty_cache(self) -> None:
        pass

    def current_allocated_memory(self) -> int:
        return self.current

    def driver_allocated_memory(self) -> int:
        return 10_000

    def recommended_max_memory(self) -> int:
        return 50_000


def test_mps_samples_its_peak() -> None:
    backend = Metal()
    instrument = MpsInstrument(backend)
    with instrument.watch() as watched:
        backend.current = 9_000
        deadline = time.monotonic() + 5
        while watched.peak_bytes == 0 and time.monotonic() < deadline:
            time.sleep(0.001)
        backend.current = 1_500
    assert (watched.peak_bytes, watched.left_bytes) == (8_000, 500)
    memory = instrument.now()
    assert (memory.free_bytes, memory.reserved_unused_bytes, memory.outside_bytes) == (40_000, 8_500, None)


def test_mps_is_limited_within_its_range_and_then_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Metal()
    with MpsInstrument(backend).limited(5_000):
        assert backend.fraction == 15_000 / 50_000
    assert backend.fraction == 1.7
    monkeypatch.setenv("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "0.0")
    with MpsInstrument(backend).limited(10**9):
        assert backend.fraction == 2.0
    assert backend.fraction == 0.0


@pytest.mark.parametrize("name", ["cpu:x", "cpu:0", "mps:0", "auto:1", "cuda:", "cuda:-1", "cuda:²", "tpu", ""])
def test_an_unknown_device_is_one_sentence(name: str) -> None:
    with pytest.raises(PlannerError, match=r"is not known; choose one of: auto, cpu"):
        find_instrument(name)


@pytest.mark.parametrize("kind", ["cuda", "xpu"])
def test_a_card_that_is_not_visible_is_refused_by_its_number(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getattr(torch, kind), "is_available", lambda: True)
    monkeypatch.setattr(getattr(torch, kind), "device_count", lambda: 2)
    with pytest.raises(PlannerError, match=f"{kind}:2 is not among the 2 cards .+ of which the last is {kind}:1"):
        find_instrument(f"{kind}:2")


def test_each_card_is_asked_by_its_own_number() -> None:
    """Every call to PyTorch names the card: its own default is the first one."""
    seen: set[int] = set()

    class Recorder(StandIn):
        def __getattribute__(self, name: str) -> Any:
            value = super().__getattribute__(name)
            if not callable(value) or name in ("is_available", "allocation", "empty_cache"):
                return value

            def recorded(*given: Any) -> Any:
                seen.add(given[-1])
                return value(*given)

            return recorded

    instrument = AcceleratorInstrument("cuda", Recorder(), 3, driver=lambda kind, index, _: seen.add(index))
    instrument.settle()
    instrument.now()
    with instrument.limited(2**20):
        pass
    assert seen == {3}
    assert instrument.device == torch.device("cuda:3")


def test_memory_is_asked_in_another_process_that_ends() -> None:
    memory = ask_elsewhere(Setup(device="cpu"))
    assert memory.total_bytes == CpuInstrument().total_bytes
    assert memory.host_bytes > 0
    with pytest.raises(PlannerError, match="The memory of cuda:9 cannot be read: "):
        ask_elsewhere(Setup(device="cuda:9"))


@pytest.mark.parametrize(
    ("files", "limit_bytes", "free_bytes"),
    [
        ({}, None, None),
        ({"memory.max": "max\n", "memory.current": "7\n"}, None, None),
        ({"memory.max": "100\n", "memory.current": "70\n", "memory.stat": "anon 40\ninactive_file 25\n"}, 100, 55),
        ({"memory.max": "100\n", "memory.current": "170\n"}, 100, 0),
        (
            {"memory/memory.limit_in_bytes": "100", "memory/memory.usage_in_bytes": "70",
             "memory/memory.stat": "inactive_file 1\ntotal_inactive_file 5\n"},
            100, 35,
        ),
    ],
)  # fmt: skip
def test_a_container_has_what_its_limit_leaves(
    files: dict[str, str], limit_bytes: int | None, free_bytes: int | None, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    assert (limits.container_limit(tmp_path), limits.container_free(tmp_path)) == (limit_bytes, free_bytes)


def test_the_machine_has_no_more_than_its_container(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "container_limit", lambda: 3 * MIB)
    monkeypatch.setattr(limits, "container_free", lambda: 2 * MIB)
    memory = CpuInstrument().now()
    assert (memory.total_bytes, memory.free_bytes) == (3 * MIB, 2 * MIB)
