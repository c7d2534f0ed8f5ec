"""One module or package an engine; this is the list of them."""

from planner.engines.base import Engine
from planner.engines.minimum import Minimum
from planner.engines.transformers import Transformers
from planner.engines.vllm import Vllm
from planner.errors import UnknownName

ENGINES: dict[str, Engine] = {engine.name: engine for engine in (Minimum(), Transformers(), Vllm())}


def find_engine(name: str) -> Engine:
    """The engine called *name*; raises UnknownName with the names that exist."""
    engine = ENGINES.get(name)
    if engine is None:
        raise UnknownName(f"Engine {name!r} is not known; choose one of: {', '.join(ENGINES)}.")
    return engine
