"""The command that starts a plan; for a plan that does not start, the one change with which it does."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from planner.answers.answer import Answer, answer
from planner.architecture import Architecture
from planner.engines import find_engine
from planner.engines.base import WholeCard
from planner.errors import PlannerError
from planner.finding.which import check_device
from planner.inputs.choices import Choices, Chosen, choose
from planner.launch import LAUNCHERS, expresses, launch
from planner.launch.base import Launch
from planner.records import dataclass

if TYPE_CHECKING:
    from planner.advice import Fix  # most plans start as they are

NOTHING = "No single change makes it start"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """*command* starts *choices*, which differ from what was asked by *change*; empty where nothing had to change.

    Without a *command* no single change is enough. *spills*: the change is what the engine does by itself.
    """

    command: Launch | None
    choices: Choices
    change: str = ""
    spills: bool = False

    @property
    def title(self) -> str:
        """What the command does, as a heading."""
        if self.command is None:
            return f"One change makes it start, but no command says it: {self.change}" if self.change else NOTHING
        if self.spills:
            return "It starts with a part in main memory"
        return "Start it" if not self.change else "It does not start like this, but with one change"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartSaid:
    """A start as it is said: *command* in *language*, empty where there is none; *change* is what has to change first.

    *files* are the commands that get what it loads, *notes* what it cannot say.
    """

    title: str
    change: str = ""
    command: str = ""
    language: str = ""
    files: str = ""
    notes: tuple[str, ...] = ()


def starts(found: Answer) -> bool:
    """Whether the engine comes up and answers a request as long as was asked.

    One that hands out what is free must hold all that was asked; one that reserves a pool lets requests wait for it.
    """
    if found.fits or not found.loads:
        return found.fits
    report = found.report
    if report is None or isinstance(find_engine(found.engine), WholeCard):
        return False
    longest = report.longest_start_tokens
    return not report.refusals and (longest is None or longest >= found.context_tokens)


def start(
    choices: Choices,
    architecture: Architecture,
    found: Answer | None = None,
    helping: Sequence["Fix"] | None = None,
) -> Start | None:
    """How *choices* start, ``None`` for an engine that has no command; *found* is their answer where it is known.

    So are *helping*, the changes that help them. Raises PlannerError where the engine cannot do what was chosen, or
    does not run on the device.
    """
    if choices.engine not in LAUNCHERS:
        return None
    check_device(choices)
    chosen = choose(choices, architecture)
    found = found or answer(chosen.architecture, chosen.deployment, chosen.workload)
    if starts(found):
        command = launch(choices, chosen)
        assert command is not None, choices.engine
        return Start(command=replace(command, notes=(*command.notes, *_waiting(found))), choices=choices)
    return _with_one_change(choices, chosen, found, helping)


def start_said(
    choices: Choices, architecture: Architecture, found: Answer, helping: Sequence["Fix"] | None = None
) -> StartSaid | None:
    """How *choices*, whose answer is *found*, start, or why not; ``None`` and *helping* as for ``start``."""
    try:
        how = start(choices, architecture, found, helping)
    except PlannerError as error:
        return StartSaid(title=f"No command: {error}".rstrip("."))
    if how is None:
        return None
    if how.command is None:
        return StartSaid(title=how.title, change=how.change)
    command = how.command
    return StartSaid(
        title=how.title,
        change=how.change,
        command=command.text,
        language=command.language,
        files=command.files,
        notes=command.notes,
    )


def _with_one_change(choices: Choices, chosen: Chosen, found: Answer, helping: Sequence["Fix"] | None) -> Start:
    """*choices*, which are *chosen*, with the first change that is enough and that a command can say."""
    from planner.advice import fixes  # most plans start as they are
    from planner.answers.figures import spills
    from planner.engines.llama_cpp.options import is_placed

    architecture = chosen.architecture
    every = fixes(choices, architecture, found) if helping is None else helping
    enough = [fix for fix in every if fix.enough]
    for fix in enough:
        changed = choose(fix.choices, architecture)
        command = launch(fix.choices, changed)
        is_moved = is_placed(changed.deployment.settings) and spills(found)
        if command is not None and expresses(fix.choices, changed, command):
            return Start(command=command, choices=fix.choices, change=fix.change, spills=is_moved)
        if is_moved:  # The engine does so by itself, and has no option for it.
            return Start(command=launch(choices, chosen), choices=fix.choices, change=fix.change, spills=True)
    if enough:
        return Start(command=None, choices=enough[0].choices, change=enough[0].change)
    return Start(command=None, choices=choices)


def _waiting(found: Answer) -> tuple[str, ...]:
    if found.fits:
        return ()
    return (f"It starts and holds {found.max_users or 0:,} of {found.users:,} users at once: the others wait.",)
