"""What presets/ holds, as rows for the terminal, JSON and the app's pickers."""

from collections.abc import Callable
from pathlib import Path

from planner import format_presets, presets
from planner.catalogue import performance_presets
from planner.catalogue.quality import quality_series
from planner.catalogue.second_sources import confirmed_by
from planner.engines import ENGINES, find_engine
from planner.export import Row
from planner.inputs.profile_files import load_profile, profile_paths
from planner.settings.data import EngineData
from planner.settings.setting import Setting


def model_rows() -> list[Row]:
    """Name, family and published figures of every model preset."""
    return [
        {
            "name": preset.name,
            "title": preset.title,
            "family": preset.family,
            "published_parameters": preset.published_parameters or preset.config.get("nominal_parameters"),
            "licence": preset.licence,
            "aliases": list(preset.aliases),
            "source": preset.source,
            "confirmed_by": list(confirmed_by(preset.name)),
        }
        for preset in presets.models()
    ]


def device_rows() -> list[Row]:
    """Nominal size and usable bytes of every device, with what the usable size rests on."""
    return [
        {
            "name": device.name,
            "title": device.title,
            "vendor": device.vendor,
            "nominal_gb": device.nominal_gb,
            "driver_bytes": device.driver_bytes,
            "memory_bytes": device.memory_bytes,
            "memory_basis": device.memory_basis,
            "bandwidth_bytes_per_s": device.bandwidth_bytes_per_s,
            "power_watts": device.power_watts,
            "memory_source": device.memory_source,
            "aliases": list(device.aliases),
        }
        for device in presets.devices().values()
    ]


def format_rows() -> list[Row]:
    """Elements and bytes of every format's block."""
    seen: dict[str, Row] = {}
    for found in format_presets.formats().values():
        seen.setdefault(
            found.name,
            {
                "name": found.name,
                "title": found.title,
                "elements": found.elements,
                "bytes": found.bytes,
                "bits_per_element": found.bits_per_element,
                "weights": found.weights,
                "cache": found.cache,
                "source": found.source,
            },
        )
    for name in format_presets.mix_names():
        mix = format_presets.find_mix(name)
        if mix is not None and name not in seen:
            seen[name] = {
                "name": name,
                "title": f"{mix.title}: a type for each tensor",
                "elements": None,
                "bytes": None,
                "bits_per_element": None,
                "weights": True,
                "cache": False,
                "source": "llama.cpp, src/llama-quant.cpp",
            }
    return list(seen.values())


def engine_rows() -> list[Row]:
    """Every engine with what its rules are."""
    return [
        {"name": name, "title": (find_engine(name).__doc__ or "").split("\n")[0].replace("``", "")} for name in ENGINES
    ]


def setting_rows(engine: str) -> list[Row]:
    """The settings that ``--set`` takes for *engine*, with every default by the version from which it holds."""
    data = presets.engine_data(find_engine(engine).name)
    return [
        {
            "name": setting.name,
            "value": setting.expected,
            "default": ", ".join(f"{shown_value(entry.value)} from {entry.since}" for entry in setting.defaults)
            or None,
            "meaning": meaning(data, setting),
            "source": "; ".join(entry.source for entry in setting.defaults),
        }
        for setting in data.settings.values()
    ]


def meaning(data: EngineData, setting: Setting) -> str:
    """What *setting* does; for one that the engine's user cannot give, what it is for in a plan."""
    if data.can_set(setting.name):
        return setting.meaning
    return f"{setting.meaning}. {data.title} has no such setting: a plan says with it what {data.title} did"


def shown_value(value: object) -> str:
    """A setting's value as ``--set`` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def draft_rows() -> list[Row]:
    """Acceptance, as stated or as the tokens of a pass imply it, and the speed-up of every published draft."""
    return [
        {
            "name": draft.name,
            "method": draft.method,
            "model": draft.model,
            "acceptance": draft.acceptance_per_token(),
            "draft_tokens": draft.draft_tokens,
            "tokens_per_pass": draft.tokens_per_pass,
            "draft_cost": draft.draft_cost,
            "speedup": draft.speedup,
            "source": draft.source,
        }
        for draft in performance_presets.drafts().values()
    ]


def quality_rows() -> list[Row]:
    """What each format costs in quality, as published."""
    return [
        {
            "format": reading.format,
            "use": series.use,
            "model": series.model,
            "method": f"{reading.method} calibrated".strip() if reading.calibrated else reading.method,
            "perplexity": reading.perplexity,
            "perplexity_16_bit": series.perplexity,
            "kl_divergence_nats": reading.kl_divergence,
            "same_top_percent": reading.same_top_percent,
            "score_percent": reading.score,
            "score_16_bit_percent": series.score,
            "text": series.text,
            "source": series.source,
        }
        for series in quality_series().values()
        for reading in series.readings
    ]


def profile_rows() -> list[Row]:
    """Every kept profile: of which engine and device, what it measured, and how far off readings left out were."""
    return [_profile_row(name, path) for name, path in profile_paths().items()]


def _profile_row(name: str, path: Path) -> Row:
    found = load_profile(path)
    subject = found.subject
    return {
        "name": name,
        "model": subject.model or "any",
        "engine": f"{subject.engine} {subject.engine_version}",
        "device": subject.device,
        "memory_bytes": subject.memory_bytes,
        "items": ", ".join(item.name for item in found.items) or None,
        "speed_median_error": None if found.speed is None else found.speed.median_error,
        "source": str(path),
    }


LISTINGS: dict[str, Callable[[], list[Row]]] = {
    "models": model_rows,
    "devices": device_rows,
    "formats": format_rows,
    "engines": engine_rows,
    "profiles": profile_rows,
    "drafts": draft_rows,
    "quality": quality_rows,
}
"""Rows by the command that lists them."""
