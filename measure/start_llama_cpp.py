"""Starts llama.cpp through its bindings: ``python -m measure.start_llama_cpp MODEL N_CTX N_PARALLEL CACHE_TYPE``.

It prints what llama-server would; the buffers are there before it would answer anything.
"""

import sys

SAYS_BUFFERS = 4
"""The verbosity from which on buffers are printed."""


def main(model: str, n_ctx: str, n_parallel: str, cache_type: str) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx, params.n_parallel = int(n_ctx), int(n_parallel)
    kind = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{cache_type.upper()}")
    params.cache_type_k = params.cache_type_v = kind
    params.warmup, params.fit_params, params.verbosity = False, False, SAYS_BUFFERS
    xllamacpp.Server(params)


if __name__ == "__main__":
    main(*sys.argv[1:])
