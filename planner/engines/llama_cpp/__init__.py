"""llama.cpp and what is built on it: slots, caches by layer, a card's share of the model, and buffers of a step."""

from planner.engines.llama_cpp.engine import IkLlamaCpp, LlamaCpp, Ollama

__all__ = ["IkLlamaCpp", "LlamaCpp", "Ollama"]
