"""Of several ranks the figure that decides, and rounding that printed figures leave."""

from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.startups.comparison import Compared, Match
from planner.startups.report import report_log
from planner.units import GIB

LINE = (
    "(Worker_TP{rank} pid=2{rank}) INFO 08-22 [gpu_worker.py:1] Free memory on device ({free}/31.4 GiB) on startup. "
    "Desired GPU memory utilization is (0.92, 28.88 GiB). Actual usage is 15.03 GiB for consumed memory (weights + "
    "non-torch), 1.59 GiB for peak activation, and 0.09 GiB for CUDAGraph memory. Replace gpu_memory_utilization "
    "config with `--kv-cache-memory={fit}` (12.03 GiB) to fit into requested memory, or `--kv-cache-memory={full}` "
    "(13.42 GiB) to fully utilize gpu memory. Current kv cache memory in use is {pool}.\n"
)
"""github.com/noonghunna/club-3090/issues/1087."""


def rows() -> dict[str, Compared]:
    log = LINE.format(rank=0, free=30.27, fit=12_917_635_953, full=14_405_811_712, pool="12.26 GiB")
    log += LINE.format(rank=1, free=30.5, fit=12_889_979_761, full=14_624_833_024, pool="12.24 GiB")
    found = report_log(read_log(log), Choices(model="qwen3.8-27b", engine="", weights="fp8"))
    return {row.name: row for row in found.readings}


def test_of_pools_the_smallest_decides() -> None:
    """13.62 GiB would not go into the first card, which has less free."""
    found = rows()
    assert found["suggested_pool"].value == 12_889_979_761
    assert found["largest_pool"].value == 14_405_811_712
    assert found["pool"].value == round(12.24 * GIB)


def test_what_rounding_leaves_is_no_difference() -> None:
    """0.92 of what is printed as 31.4 is 28.84 to 28.93."""
    assert rows()["budget"].match is not Match.OUTSIDE


def test_the_pool_in_bytes_as_the_first_releases_print_it() -> None:
    line = LINE.format(rank=0, free=30.27, fit=1, full=2, pool="13163124326 bytes")
    (start,) = read_log(line).starts
    assert start.named("pool")[0].value == 13_163_124_326
