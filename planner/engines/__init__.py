"""One module or package an engine, imported when it is chosen; this is the list of them."""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from planner.deployment import MINIMUM
from planner.errors import UnknownName
from planner.units import shorten

if TYPE_CHECKING:
    from planner.engines.base import Engine

ENGINES = {
    MINIMUM: ("planner.engines.minimum", "Minimum"),
    "transformers": ("planner.engines.transformers", "Transformers"),
    "llama_cpp": ("planner.engines.llama_cpp.engine", "LlamaCpp"),
    "ik_llama_cpp": ("planner.engines.llama_cpp.engine", "IkLlamaCpp"),
    "ollama": ("planner.engines.llama_cpp.engine", "Ollama"),
    "vllm": ("planner.engines.vllm.engine", "Vllm"),
    "sglang": ("planner.engines.sglang.engine", "Sglang"),
    "tensorrt_llm": ("planner.engines.tensorrt_llm", "TensorrtLlm"),
    "lmdeploy": ("planner.engines.lmdeploy", "Lmdeploy"),
}
"""Each engine's module and class."""


@cache
def find_engine(name: str) -> "Engine":
    """The engine called *name*; raises UnknownName with the names that exist."""
    if name not in ENGINES:
        raise UnknownName(f"Engine {shorten(name)!r} is not known; choose one of: {', '.join(ENGINES)}.")
    module, engine = ENGINES[name]
    found: Engine = getattr(import_module(module), engine)()
    return found
