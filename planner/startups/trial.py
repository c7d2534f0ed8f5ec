"""One change to a start in a log, tried with the planner; what the start measured stays where it still holds."""

import re
from dataclasses import replace

from planner.answers.answer import Answer, answer, fits
from planner.architecture import Architecture
from planner.calibration import CalibrationProfile
from planner.deployment import Deployment, Workload
from planner.engines import find_engine
from planner.errors import PlannerError
from planner.inputs.choices import Choices, Chosen, choose
from planner.launch import launch
from planner.launch.base import Launch
from planner.measurements import MeasuredItem
from planner.records import dataclass
from planner.settings.data import EngineSettings
from planner.tuning import with_setting

ENGINE, PLANNER = "engine", "planner"
"""Who says that a change is enough."""
SAMPLER_TOKENS = 8192
"""The step of a longer prompt takes about as much as the sampler of vLLM's 256 requests, or more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One change to the start in the log. *says*: ``engine`` for its own estimate, else ``planner``.

    *option* is what is written on the engine's command line, *starts* what the planner finds with it, and
    *max_context_tokens* and *max_concurrency* what there is then; *command* and *choices* plan it. Where it is not
    enough alone, *shorter_option* is the option together with the longest context that starts with it, and *refusal*
    why the engine refuses it. *choices* is ``None`` where the change follows from what the log prints alone.
    """

    change: str
    option: str
    says: str
    starts: bool
    max_context_tokens: int | None = None
    max_concurrency: float | None = None
    command: str = ""
    choices: Choices | None = None
    shorter_option: str = ""
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The start that failed, as a plan: its *choices*, and what it measured in *profile*."""

    choices: Choices
    architecture: Architecture
    profile: CalibrationProfile | None

    def ask(self, choices: Choices) -> Answer:
        """The plan of *choices*, with what was measured."""
        return answer(*self._plan(choices))

    def fits(self, choices: Choices) -> bool:
        """Whether *choices* would start; not if they make no plan."""
        try:
            return fits(*self._plan(choices))
        except PlannerError:
            return False

    def _plan(self, choices: Choices) -> tuple[Architecture, Deployment, Workload]:
        chosen = choose(choices, self.architecture)
        profile = None if chosen.deployment.cards else self.profile
        if profile is not None:
            profile = carried(profile, self._chosen(), chosen)
        deployment = replace(chosen.deployment, profile=profile, settings=_placed(chosen.deployment.settings))
        deployment = replace(deployment, counts_others=False)
        return chosen.architecture, deployment, chosen.workload

    def is_idle(self, changed: Choices, before: Answer) -> bool:
        """Whether *changed* leaves every figure as it was in the start that failed, whose plan is *before*."""
        try:
            return _outcome(self.ask(changed)) == _outcome(before)
        except PlannerError:
            return False

    def peaks_with_a_prompt(self) -> bool:
        """Whether vLLM's peak is one long prompt in one step, and not the sampler of all requests at once."""
        chosen = self._chosen()
        if chosen.deployment.engine != "vllm" or chosen.workload.context_tokens <= SAMPLER_TOKENS:
            return False
        from planner.engines.vllm.options import computes_whole  # only for vLLM's logs

        return computes_whole(chosen.architecture, chosen.deployment, chosen.workload.context_tokens)

    def attempt(self, change: str, says: str, changed: Choices) -> Try | None:
        """The change with its outcome; ``None`` where it cannot be made.

        vLLM also refuses more sequences than it has blocks for states: the number that it takes is then part of the
        change. Of the length that starts the engine's own word counts, not our rounding.
        """
        try:
            found = self.ask(changed)
            is_told = says == ENGINE and changed.context == self.choices.context
            if not is_told and any("max_num_seqs = " in sentence for sentence in _refusals(found)):
                blocks = max(1, found.report.num_blocks if found.report else 1)
                fewer = with_setting(changed, "max_num_seqs", blocks)
                again = self.ask(fewer)
                if again.fits or says == ENGINE:
                    changed, found, change = fewer, again, f"{change}, at most {blocks:,} requests at once"
        except PlannerError:
            return None
        starts, option, longest = found.fits or says == ENGINE, self.option(changed), found.max_context_tokens
        shorter = replace(changed, context=longest) if option and longest and not starts else None
        is_other = changed.engine != self.choices.engine
        dropped = "" if option or is_other or change.startswith("Without") else self._dropped(changed)
        return Try(
            change=f"{change}, without {dropped}" if dropped else change,
            option=option,
            says=says,
            starts=starts,
            max_context_tokens=changed.context if says == ENGINE else longest,
            max_concurrency=found.max_concurrency,
            command=changed.command(),
            choices=changed,
            shorter_option=self.option(shorter) if shorter is not None and self.fits(shorter) else "",
            refusal="" if starts else next(iter(_refusals(found)), ""),
        )

    def option(self, changed: Choices) -> str:
        """What the engine's command has with *changed* that it has not before; another engine has its own command."""
        if changed.engine != self.choices.engine:
            return ""
        after, old = (launch(each, choose(each, self.architecture)) for each in (changed, self.choices))
        if after is None or old is None:
            return ""
        known = set(_words(old))
        new = [line for line in _words(after) if line not in known]
        return " ".join(line for line in new if not any(_is_said_by(line, flag) for flag in new))

    def _dropped(self, changed: Choices) -> str:
        """What the engine's command no longer has with *changed*."""
        after, old = (launch(each, choose(each, self.architecture)) for each in (changed, self.choices))
        if after is None or old is None:
            return ""
        kept = {line.partition(" ")[0] for line in _words(after)}
        return " ".join(line for line in _words(old) if line.partition(" ")[0] not in kept)

    def _chosen(self) -> Chosen:
        return choose(self.choices, self.architecture)


def _placed(settings: EngineSettings) -> EngineSettings:
    """As the commands here have it: they say how many layers lie on a card, and then --fit moves nothing."""
    return replace(settings, values={**settings.values, "fit": False}) if "fit" in settings.values else settings


def _outcome(found: Answer) -> tuple[object, ...]:
    held = found.context_tokens, found.max_context_tokens, found.max_users, *_refusals(found)
    card = found.device, found.device_count, found.memory_bytes
    return (*held, *card, *((item.name, item.bytes) for item in found.items))


def _refusals(found: Answer) -> tuple[str, ...]:
    return () if found.report is None else found.report.refusals


def _words(command: Launch) -> list[str]:
    """An option a line; of Ollama's file and environment each line by itself, but those that only name the model."""
    return [line for line in re.split(r" \\\n  |\n", command.text) if not line.startswith(("cat >", "ollama "))]


def _is_said_by(line: str, flag: str) -> bool:
    """Whether *line* of a file of options says again what *flag* says."""
    key, colon, _ = line.strip().partition(": ")
    return bool(colon) and flag.startswith("--") and key in flag.partition(" ")[0]


def carried(profile: CalibrationProfile, before: Chosen, after: Chosen) -> CalibrationProfile:
    """*profile* for another plan: a measured item moves by as much as what it replaces does.

    Where the planner's rule says the same of both plans, it stays as measured, on another card too: what a start takes
    more than was assumed it takes there as well. What replaces nothing, such as what was loaded beside the tensors,
    holds for the same conditions only.
    """
    old, new = _assumed(before), _assumed(after)

    def moved(item: MeasuredItem) -> MeasuredItem:
        if not item.replaces:
            return item
        more = sum(new.get(name, 0) - old.get(name, 0) for name in item.replaces)
        return replace(item, bytes=item.bytes + more, depends_on=())

    subject = after.deployment.subject(after.architecture.name)
    return replace(profile, subject=subject, items=tuple(map(moved, profile.items)))


def _assumed(chosen: Chosen) -> dict[str, int]:
    items = find_engine(chosen.deployment.engine).runtime_items(chosen.architecture, chosen.deployment)
    return {item.name: item.bytes for item in items}


def card_of(choices: Choices) -> tuple[str | int | None, ...]:
    """The card, and how many there are."""
    return choices.device, choices.memory, choices.devices, choices.device_count
