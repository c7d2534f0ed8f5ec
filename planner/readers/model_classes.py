"""Which family a model class belongs to, by its name: ``Qwen3MoeForCausalLM`` is that of ``qwen3_moe``."""

import re
from collections.abc import Iterator, Mapping

from planner.readers.knowledge import Knowledge

_TASK = "LM|Generation|Classification|Answering|Training|Embedding|Reward|Model|Segmentation|Regression"
_CLASS = re.compile(rf"([A-Za-z0-9_]+?)(?:_?For(?:[A-Z][a-z0-9]+)*(?:{_TASK})|LMHeadModel|Model)", re.ASCII)
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", re.ASCII)
_LONGEST = 80
_AUTO = ("AutoModelForCausalLM", "AutoModelForImageTextToText")


def class_family(config: Mapping[str, object], knowledge: Knowledge) -> str:
    """The known family of the first class in the config's ``architectures``, empty where there is none."""
    return next((name for name in class_families(config, knowledge) if knowledge.find_family(name)), "")


def class_name(config: Mapping[str, object]) -> str:
    """The first class in the config's ``architectures``, empty where it names none."""
    match config.get("architectures"):
        case [str() as name, *_]:
            return name
    return ""


def coded_class(config: Mapping[str, object]) -> str:
    """The class of code beside the weights that ``auto_map`` loads to generate, empty where the config has none."""
    coded = config.get("auto_map")
    found = (coded.get(auto) for auto in _AUTO) if isinstance(coded, Mapping) else ()
    return next((path.rpartition(".")[2] for path in found if isinstance(path, str)), "")


def class_families(config: Mapping[str, object], knowledge: Knowledge) -> Iterator[str]:
    """How the family of the config's class may be called."""
    return families_of(class_name(config), knowledge)


def families_of(name: str, knowledge: Knowledge) -> Iterator[str]:
    """How the family of the class *name* may be called: as stated for the class, else as its name is made of."""
    stated = knowledge.unknown_rules().architectures.get(name)
    if stated:
        yield stated
    match = _CLASS.fullmatch(name) if len(name) < _LONGEST else None
    if match is not None:
        spelled = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", match[1]).lower()
        yield from dict.fromkeys((spelled, spelled.replace("_", ""), _WORD.sub("_", match[1]).lower()))
