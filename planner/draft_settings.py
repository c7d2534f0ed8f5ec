"""A draft as an engine's own settings say it, where it has such."""

from planner.settings.data import EngineData


def draft_settings(data: EngineData, name: str | None, tokens: int | None) -> tuple[str, ...]:
    """The draft *name* of *tokens* a pass as settings of an engine that counts it by these; none for any other."""
    if name is None or tokens is None:
        return ()
    if "speculative_method" in data.settings and name in data.settings["speculative_method"].choices:
        return (f"speculative_method={name}", f"num_speculative_tokens={tokens}")
    if "spec_type" in data.settings and f"draft-{name}" in data.settings["spec_type"].choices:
        return (f"spec_type=draft-{name}", f"spec_draft_n_max={tokens}")
    algorithm = {"mtp": "nextn", "ngram": "ngram"}.get(name)
    if "speculative_algorithm" in data.settings and algorithm:
        # SGLang counts the token that the model gives itself among those of a step.
        return (f"speculative_algorithm={algorithm}", f"speculative_num_draft_tokens={tokens + 1}")
    return ()
