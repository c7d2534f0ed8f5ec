"""Files as a browser hands them over, by name and content, to an Architecture. Nothing is written or fetched.

Weights are too large for that, and their headers stand at the beginning: a file's first megabytes are enough.
"""

from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO

from planner import presets
from planner.architecture import Architecture
from planner.errors import BadFile
from planner.formats import QuantScheme
from planner.inputs.model_files import CONFIG, GGUF, SAFETENSORS, fit_to_print, read_config_text
from planner.readers.json_text import parse_json
from planner.readers.quantization.stated import SIBLINGS
from planner.records import dataclass
from planner.units import format_bytes, format_count, shorten
from planner.weights import loaded_tensors, tensors_bytes

MAX_FILES = 32
TITLE = "Your model"
_QUANTIZATION_KEYS = ("quantization", "bits", "w_bit")
SUFFIXES = ("json", "gguf", "safetensors")
_WHOLE_FILE_BYTES = 2**62
"""The size that is assumed of a file of which only the beginning is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What was handed over, told apart by content and ending, not by name: browsers rename."""

    configs: dict[str, bytes]
    quantizations: dict[str, bytes]
    indexes: dict[str, bytes]
    safetensors: dict[str, bytes]
    ggufs: dict[str, bytes]


def read_uploads(files: Mapping[str, bytes]) -> Architecture:
    """The model in *files*: a config with what belongs to it, or the beginning of one GGUF file.

    To a ``config.json`` may come ``hf_quant_config.json``, an index, and the beginnings of its ``.safetensors``: with
    these weights are counted as stored, with an index alone its total is compared. Raises PlannerError.
    """
    if not 1 <= len(files) <= MAX_FILES:
        raise BadFile(f"{format_count(len(files))} files were given; 1 to {MAX_FILES} can be read together.")
    given = _sort(files)
    if given.ggufs:
        return fit_to_print(_read_gguf(given))
    for kind, what in ((given.configs, CONFIG), (given.quantizations, SIBLINGS[0]), (given.indexes, "index")):
        if len(kind) > 1:
            raise BadFile(f"{' and '.join(kind)} are {len(kind)} files where one {what} is meant: give one model's.")
    if not given.configs:
        raise BadFile(f"{', '.join(files)}: the model's {CONFIG} is missing; give it together with the rest.")
    return fit_to_print(_read_config(given))


def _sort(files: Mapping[str, bytes]) -> _Given:
    given = _Given(configs={}, quantizations={}, indexes={}, safetensors={}, ggufs={})
    for name, content in files.items():
        lower = name.lower()
        if lower.endswith(GGUF):
            given.ggufs[name] = content
        elif lower.endswith(SAFETENSORS):
            given.safetensors[name] = content
        else:
            keys = parse_json(content, name).keys()
            if "weight_map" in keys:
                given.indexes[name] = content
            elif not keys.isdisjoint(_QUANTIZATION_KEYS) and "model_type" not in keys:
                given.quantizations[name] = content
            else:
                given.configs[name] = content
    return given


def _read_config(given: _Given) -> Architecture:
    (name, config), *_ = given.configs.items()
    quantization = next(iter(given.quantizations.values()), None)
    architecture = replace(read_config_text(config, TITLE, name, quantization), name=CONFIG)
    for name, content in given.indexes.items():
        return _with_index(architecture, name, content, given.safetensors)
    return _with_heads(architecture, given.safetensors) if given.safetensors else architecture


def _with_index(
    architecture: Architecture, name: str, content: bytes, safetensors: Mapping[str, bytes]
) -> Architecture:
    """Weights as stored where every file of the index is there, else a sentence about its total."""
    from planner.readers.safetensors.index import parse_index

    index = parse_index(content, name)
    if not index.files.keys() - safetensors.keys():
        return _with_heads(architecture, {file: safetensors[file] for file in index.files})
    sentence = _total_sentence(architecture, name, index.total_bytes)
    return replace(architecture, warnings=(*architecture.warnings, *sentence))


def _with_heads(architecture: Architecture, safetensors: Mapping[str, bytes]) -> Architecture:
    from planner.readers.checkpoint.tensors import with_file_tensors
    from planner.readers.safetensors import missing_sentence, part_names
    from planner.readers.safetensors.header import LENGTH_BYTES, header_length, parse_header
    from planner.readers.stored_tensors import StoredTensors, TensorTable

    source = next(iter(safetensors)) if len(safetensors) == 1 else f"{len(safetensors)} safetensors files"
    missing = {part for name in safetensors for part in part_names(name)} - safetensors.keys()
    if missing:
        raise BadFile(missing_sentence(source, sorted(missing)))
    table = TensorTable()
    for name, content in safetensors.items():
        end = LENGTH_BYTES + header_length(content[:LENGTH_BYTES], name)
        if end > len(content):
            raise BadFile(f"{name} is cut within its header: give at least its first {format_count(end)} bytes.")
        table.merge(parse_header(content[LENGTH_BYTES:end], None, name))
    repeated = table.repeated()
    if repeated is not None:
        raise BadFile(f"Tensor {shorten(repeated)!r} is in two of the files: give those of one model.")
    return with_file_tensors(architecture, StoredTensors(source=source, groups=table.groups()))


def _total_sentence(architecture: Architecture, name: str, total: int | None) -> list[str]:
    """How the index's total compares with the config's; both in bytes of what the files hold."""
    if total is None:
        return [f"{name} states no total, so it could not be compared."]
    scheme = QuantScheme(format=None, rest=architecture.cache_format)
    counted = tensors_bytes(loaded_tensors(architecture), scheme)
    if counted == total:
        return [f"{name} states {format_count(total)} bytes, exactly what its config comes to."]
    more = "more" if total > counted else "less"
    return [
        f"{name} states {format_bytes(total)}, {format_bytes(abs(total - counted))} {more} than is counted: "
        "give the beginnings of its .safetensors files too, and every tensor is counted as stored."
    ]


def _read_gguf(given: _Given) -> Architecture:
    from planner.readers.gguf.header import read_header
    from planner.readers.gguf.model import read_model

    if len(given.ggufs) > 1 or given.configs or given.indexes or given.safetensors or given.quantizations:
        raise BadFile("A GGUF file says everything itself: give it alone.")
    ((name, content),) = given.ggufs.items()
    knowledge = presets.gguf_knowledge()
    try:
        header = read_header(BytesIO(content), _WHOLE_FILE_BYTES, name, knowledge.types)
    except BadFile as error:
        if "cut short" not in str(error):
            raise
        raise BadFile(
            f"{name} is cut within its header: give more of its beginning, or run kvbudget plan --model {name}."
        ) from None
    parts = header.metadata.get("split.count", 1)
    if parts != 1:
        raise BadFile(f"{name} is one of {parts} parts; kvbudget plan --model {name} reads them all.")
    if any(tensor.format is None for tensor in header.tensors):
        raise BadFile(f"{name} has a tensor type that is not known; kvbudget plan --model {name} reads the whole file.")
    return read_model(header, knowledge, name=name, source=name)
