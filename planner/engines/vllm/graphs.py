"""Which CUDA graphs vLLM captures."""

LARGEST_BATCH = 512


def captured_graphs(max_num_seqs: int, draft_tokens: int) -> int:
    """Graphs of parts of a step, and of whole steps that only decode: 35 + 19 for 128 sequences.

    Sizes are 1, 2, 4, multiples of 8 up to 256 and of 16 above, up to twice the tokens that decode at once; whole steps
    have at most as many.
    Source: vllm/config/vllm.py, _set_cudagraph_sizes; printed as "Profiling CUDA graph memory: PIECEWISE=35, FULL=19".
    """
    decoded = max_num_seqs * (1 + draft_tokens)
    largest = min(2 * decoded, LARGEST_BATCH)
    sizes = [size for size in (1, 2, 4, *range(8, 256, 8), *range(256, LARGEST_BATCH + 1, 16)) if size <= largest]
    return len(sizes) + len([size for size in sizes if size <= decoded])
