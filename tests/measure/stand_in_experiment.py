"""An experiment whose cases end in every way that a case can end."""

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from measure.experiments.base import Report
from measure.records import Case, Record
from measure.setup import Setup
from measure.worker import Message, Progress
from planner.errors import PlannerError

MIB = 2**20


def case(end: str, **settings: Any) -> Case:
    return Case(experiment="stand-in", name=end, settings={"end": end, **settings})


def cases(setup: Setup) -> list[Case]:
    return [case("rows")]


def needed_bytes(settings: Mapping[str, Any], setup: Setup) -> int:
    return int(settings.get("needed_bytes", MIB))


def run(settings: Mapping[str, Any], setup: Setup) -> Iterator[Message]:
    print("the libraries' own words")
    yield {"process": os.getpid(), "tokens": 1}
    yield Progress(share=0.5)
    match settings["end"]:
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "huge":
            import torch

            torch.empty(2**50, dtype=torch.uint8)
        case "limited":
            import resource

            import torch

            used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + 64 * MIB, resource.RLIM_INFINITY))
            torch.empty(settings["bytes"], dtype=torch.uint8)
        case "bug":
            raise KeyError("a bug")
        case "bad":
            raise PlannerError("One sentence.")
        case "silent":
            sys.stdout.flush()
            os._exit(3)
        case "slow":
            Path(settings["started"]).touch()
            time.sleep(60)
    yield {"process": os.getpid(), "tokens": 2}


def report(records: Sequence[Record], setup: Setup) -> Report:
    return Report(tables=(), lesson="")
