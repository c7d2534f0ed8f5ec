"""One case in a process of its own: what it sends back, and how running out of memory becomes a reading."""

import contextlib
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from typing import Any

from measure.memory_ends import memory_ends
from measure.records import KILLED, Case, Outcome, check_row
from measure.setup import Setup
from planner.errors import PlannerError

PRELOADED = ["torch", "transformers", "transformers.modeling_utils"]
"""Imported once by the process that the workers are forked from: a case then starts in milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a case has come, between 0 and 1; an experiment may send it between its rows."""

    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The last thing that a worker's case sends."""

    outcome: Outcome
    reason: str = ""
    others_share: float | None = None


Message = dict[str, Any] | Progress | Ended


def run_case(module: str, case: Case, setup: Setup) -> Iterator[Message]:
    """Runs *case* of the experiment in *module* elsewhere and yields its rows and progress as they come, then an Ended.

    Closing the iterator, as an interrupt does, ends the process.
    """
    context = _context()
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(sender, module, case, setup), daemon=True)
    ends_before = memory_ends()
    process.start()
    sender.close()
    try:
        ended = None
        while ended is None:
            try:
                message = receiver.recv()
            except EOFError:
                process.join()
                ended = _ended_by_system(process.exitcode, ends_before)
                yield ended
            else:
                ended = message if isinstance(message, Ended) else None
                yield message
    finally:
        if process.is_alive():
            process.terminate()
        process.join()


def _context() -> Any:
    """Forks from a clean process that has the libraries loaded, where the system can; else starts afresh."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    if threading.current_thread() is threading.main_thread():
        # What the terminal sends to all reaches it while it loads the libraries; it inherits that this is ignored.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            forkserver.ensure_running()
        finally:
            signal.signal(signal.SIGINT, before)
    return context


def _ended_by_system(exit_code: int | None, ends_before: int) -> Ended:
    """Anyone may kill a process: that it was for want of memory only the system's count says, where it shows one."""
    if exit_code is not None and -exit_code == getattr(signal, "SIGKILL", 9):
        if memory_ends() > ends_before:
            reason = f"The system ended the process for want of memory {KILLED}"
            return Ended(outcome=Outcome.DOES_NOT_FIT, reason=reason)
        return Ended(outcome=Outcome.FAILED, reason=f"The process was killed, perhaps for want of memory {KILLED}")
    return Ended(outcome=Outcome.FAILED, reason=f"The process ended with exit code {exit_code} and said nothing.")


def _work(sender: Connection, module: str, case: Case, setup: Setup) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the runner decides
    _first_to_go()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    with contextlib.suppress(BrokenPipeError):
        sender.send(run_to_end(lambda: import_module(module).run(case.settings, setup), sender.send))


def run_to_end(run: Callable[[], Iterator[Message]], send: Callable[[Message], None]) -> Ended:
    """Sends everything that *run* yields and says how it ended."""
    from measure.others import Processors
    from measure.out_of_memory import is_out_of_memory

    processors = Processors()
    try:
        for message in run():
            if isinstance(message, dict):
                try:
                    check_row(message)
                except ValueError as error:
                    return Ended(outcome=Outcome.FAILED, reason=f"{error}, which is no reading.")
            send(message)
    except PlannerError as error:
        return Ended(outcome=Outcome.FAILED, reason=str(error))
    except Exception as error:
        if is_out_of_memory(error):
            return Ended(outcome=Outcome.DOES_NOT_FIT, reason=_first_line(error))
        return Ended(outcome=Outcome.FAILED, reason=traceback.format_exc())
    return Ended(outcome=Outcome.MEASURED, others_share=processors.others_share())


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _end_with_parent() -> None:
    """A runner that is killed, and cannot end this process itself, takes it along."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _first_to_go() -> None:
    """Asks Linux to end this process, and none of the user's others, when memory runs out all the same."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="utf-8") as score:
            score.write("1000")
    except OSError:
        return
