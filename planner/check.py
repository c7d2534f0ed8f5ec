"""Validates every file in presets/: types with pydantic, names, sources, and that every model can be read."""

from collections.abc import Iterator
from dataclasses import asdict

from planner import format_presets, presets
from planner.batching.trace import RequestSet
from planner.borders import validate
from planner.catalogue import performance_presets
from planner.catalogue.quality import QualitySeries, quality_series
from planner.cost import read_price
from planner.deployment import Device
from planner.engines import ENGINES
from planner.errors import BadPreset
from planner.formats import NumberFormat
from planner.gguf_mixes import LAYERS
from planner.inputs.profile_files import SHIPPED, load_profile
from planner.known_checkpoints import FILE, KnownCheckpoint, known_checkpoints
from planner.presets import ModelPreset
from planner.settings.setting import Setting
from planner.speculation import PublishedDraft
from planner.speed.constants import SpeedConstants


def check_presets() -> Iterator[str]:
    """One line for each kind of preset that is in order; raises PlannerError at the first that is not."""
    found_formats = {number_format.name: number_format for number_format in format_presets.formats().values()}
    for number_format in found_formats.values():
        validate(NumberFormat, asdict(number_format), f"formats.toml: {number_format.name}")
    yield f"{len(found_formats)} formats"
    for name in format_presets.mix_names():
        check_mix(name)
    yield f"{len(format_presets.mix_names())} GGUF file types"
    _unique_names({name: device.aliases for name, device in presets.devices().items()}, "devices.toml")
    for device in presets.devices().values():
        validate(Device, asdict(device), f"devices.toml: {device.name}")
        if not device.memory_source:
            raise BadPreset(f"Missing value in 'devices.toml: {device.name}.memory_source'.")
    yield f"{len(presets.devices())} devices"
    yield f"{len(presets.gguf_knowledge().rules)} GGUF architectures"
    names = presets.checkpoint_names()
    for table in ("endings", "made_while_loading"):
        for ending, weights in names[table].items():
            if weights not in found_formats:
                raise BadPreset(f"Value of 'checkpoint_names.toml: {table}.{ending}' is no format.")
    yield f"{len(names['endings'])} ends of checkpoints' names"
    for name in ENGINES:
        for setting in presets.engine_data(name).settings.values():
            validate(Setting, asdict(setting), f"engines/{name}.toml: settings.{setting.name}")
    yield f"{len(ENGINES)} engines"
    models = presets.models()
    _unique_names({preset.name: preset.aliases for preset in models}, "architectures")
    for preset in models:
        validate(ModelPreset, asdict(preset), f"architectures/{preset.family}.toml: {preset.name}")
        presets.load_preset(preset.name)
    yield f"{len(models)} models"
    for checkpoint in known_checkpoints():
        validate(KnownCheckpoint, asdict(checkpoint), f"{FILE}: {checkpoint.name}")
        if presets.load_preset(checkpoint.name).stored_assumed:
            raise BadPreset(f"Value of '{FILE}: {checkpoint.name}.quantization' is not understood.")
    yield f"{len(known_checkpoints())} quantised checkpoints"
    for name, draft in performance_presets.drafts().items():
        validate(PublishedDraft, asdict(draft), f"speculation.toml: {name}")
        draft.acceptance_per_token()
    yield f"{len(performance_presets.drafts())} published drafts"
    for name, request_set in performance_presets.request_sets().items():
        validate(RequestSet, asdict(request_set), f"workloads.toml: {name}")
    yield f"{len(performance_presets.request_sets())} workloads"
    for name in performance_presets.family_devices():
        presets.find_device(name)
    examples = performance_presets.example_prices()
    for name, price in examples.prices.items():
        presets.find_device(name)
        read_price(name, price, "example_prices.toml")
    yield f"{len(examples.prices)} examples of prices"
    for constants in performance_presets.speed_constants().values():
        validate(SpeedConstants, asdict(constants), f"speed.toml: {constants.engine} on {constants.family}")
    yield f"{len(performance_presets.speed_constants())} sets of speed constants"
    for path in sorted(SHIPPED.glob("*.json")):
        load_profile(path)
    yield f"{len(sorted(SHIPPED.glob('*.json')))} profiles"
    known = {*format_presets.formats(), *format_presets.mix_names()}
    for name, series in quality_series().items():
        validate(QualitySeries, asdict(series), f"quality.toml: {name}")
        for reading in series.readings:
            if reading.format not in known:
                raise BadPreset(f"Value of 'quality.toml: {name}.readings.format' is not a format: {reading.format!r}.")
    yield f"{len(quality_series())} readings of quality"


def check_mix(name: str) -> None:
    """Whether the file type *name* names only formats, and layers that are known."""
    mix = format_presets.find_mix(name)
    for rule in mix.rules if mix else ():
        if rule.layers and rule.layers not in LAYERS:
            raise BadPreset(f"Value of 'gguf_mixes.toml: {name}.rules.layers' must be one of: {', '.join(LAYERS)}.")


def _unique_names(aliases: dict[str, tuple[str, ...]], where: str) -> None:
    owners: dict[str, str] = {}
    for name, others in aliases.items():
        for key in (name, *others):
            owner = owners.setdefault(key.lower(), name)
            if owner != name:
                raise BadPreset(f"Name {key!r} in {where!r} belongs to both {owner!r} and {name!r}.")
