"""A start that is being read: what its lines say of it so far, the engine's own words before anyone's."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.logs.readings import Failure, Reading

_BEFORE_A_START = {
    *("free", "card", "required", "estimated_cache", "estimated_weights", "estimated_compute"),
    *("estimated_projector", "estimated_projector_graph"),
    *("laid_weights", "laid_cache", "laid_compute", "total", "file", "projected"),
    *("offloaded", "offloadable"),
}
"""What an engine prints before it loads a model for good: of the card, and of a trial that allocates nothing."""


MAX_SOURCES = 200
"""Of one start; the longest known has fewer than 60."""


@dataclass(slots=True)
class Draft:
    """A start that is being read."""

    engine: str
    line: int
    version: str = ""
    last: str = ""
    day: str = ""
    sources: dict[str, None] = field(default_factory=dict)
    model: str = ""
    has_begun: bool = False
    is_launched: bool = False
    is_anyones: bool = False
    settings: dict[str, str] = field(default_factory=dict)
    readings: list[Reading] = field(default_factory=list)
    failure: Failure | None = None
    is_weak_failure: bool = False

    def learn(self, version: str, model: str, settings: Mapping[str, str], is_weak: bool) -> None:
        """Takes what a line says of the start; what is weak only where nothing is known."""
        if is_weak:
            version, model = self.version or version, self.model or model
            settings = dict(settings) | self.settings
        self.version, self.model = version or self.version, model or self.model
        self.settings.update(settings)

    def come_from(self, day: str, source: str, said: str) -> None:
        """Takes the day of a line, and which line of the engine's source prints what it says."""
        self.day = self.day or day
        if source and said and len(self.sources) < MAX_SOURCES:
            self.sources[f"{source} {said.strip()}"] = None

    def fail(self, kind: str, message: str, line: int, is_weak: bool) -> None:
        """Takes why it ends, unless that is known already; the engine's own words come before anyone's."""
        known = self.failure
        is_better = known is not None and known.kind == kind and self.is_weak_failure and not is_weak
        if known is None or known.says_less_than(kind) or is_better:
            # An answer in JSON goes on with its other fields, and has its lines in one.
            said = message.partition('","')[0].replace("\\n", " ")
            closed = said.removesuffix('"') if said.count('"') % 2 else said
            self.failure, self.is_weak_failure = Failure(kind=kind, message=closed, line=line), is_weak

    def printed(self, rank: str) -> bool:
        """Whether the model's own figures have come already, from *rank* or from any where that has no name."""
        return any(r.name not in _BEFORE_A_START and r.rank.startswith(rank) for r in self.readings)
