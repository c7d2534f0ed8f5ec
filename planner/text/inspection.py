"""What a model is, layer by layer, as text for a terminal. No figure is computed here."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from planner.answers.inspection import Inspection, LayerGrowth
from planner.units import format_bytes
from planner.weights import MTP

_LOADED = "loaded to answer"


def inspection_text(found: Inspection) -> str:
    """Totals, roles, and the layers in runs of equal ones."""
    stored = " ".join(filter(None, (found.stored_as or "unknown", found.stored_doubt and f"({found.stored_doubt})")))
    limit = "unknown" if found.model_limit_tokens is None else f"{found.model_limit_tokens:,} tokens"
    lines = [
        f"{found.model}: {found.parameters:,} parameters, {found.active_parameters:,} active a token",
        f"model_type {found.model_type}, stored as {stored}, made for {limit}",
        "",
        *_role_lines(found),
        "",
        f"  {'layers':<12} {'kind':<24} {'parameters each':>15} {'a token':>12} {'fixed':>12}  grows until",
    ]
    for run in _runs(found.layers):
        first, last = run[0], run[-1]
        span = str(first.index) if first is last else f"{first.index} – {last.index}"
        end = "–" if not first.kv_bytes_per_token else f"{first.max_tokens:,} tokens" if first.max_tokens else "always"
        growth = f"{first.kv_bytes_per_token:,} B"
        fixed, each = format_bytes(first.kv_fixed_bytes), f"{first.parameters:,}"
        lines.append(f"  {span:<12} {first.kind:<24} {each:>15} {growth:>12} {fixed:>12}  {end}")
    return "\n".join([*lines, *(f"Note: {warning}" for warning in found.warnings)])


def _role_lines(found: Inspection) -> Iterator[str]:
    """What is loaded to answer, and its sum; what is not loaded below it."""
    width = max(len(_LOADED), *map(len, found.parameters_by_role))
    for role, count in found.parameters_by_role.items():
        if role != MTP:
            yield f"  {role:<{width}} {count:>19,}"
    yield f"  {_LOADED:<{width}} {found.parameters:>19,}"
    if found.not_loaded_parameters:
        yield f"  {MTP:<{width}} {found.not_loaded_parameters:>19,}  beside these: only for multi-token prediction"


def _runs(layers: Sequence[LayerGrowth]) -> list[list[LayerGrowth]]:
    """Neighbouring layers that are alike in all that a row says of them."""
    runs: list[list[LayerGrowth]] = []
    for layer in layers:
        if runs and replace(layer, index=runs[-1][0].index) == runs[-1][0]:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    return runs
