"""What engines and kinds of cards are called in sentences."""

MEASURED = "measured"
"""In place of a family: the machine itself."""
_ENGINE_NAMES = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "tensorrt_llm": "TensorRT-LLM",
    "nim": "NIM",
    "llama_cpp": "llama.cpp",
    "llama_cpp_vulkan": "llama.cpp with Vulkan",
    "llama_cpp_2024": "llama.cpp of May 2024",
}


def engine_name(engine: str) -> str:
    """An engine as it calls itself.

    >>> engine_name("llama_cpp_vulkan"), engine_name("vllm"), engine_name("llamafile")
    ('llama.cpp with Vulkan', 'vLLM', 'llamafile')
    """
    return _ENGINE_NAMES.get(engine, engine)


def family_words(family: str) -> str:
    """A family of cards, by the maker and the generation.

    >>> family_words("nvidia-ampere-datacenter"), family_words("any")
    ('cards of the kind nvidia ampere datacenter', 'other kinds of cards')
    """
    return "other kinds of cards" if family == "any" else f"cards of the kind {family.replace('-', ' ')}"
