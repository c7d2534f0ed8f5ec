"""llama.cpp's and ik_llama.cpp's own words for what a plan says. Source: common/arg.cpp, common/common.cpp."""

from planner.draft import EAGLE, NGRAM

CACHE_TYPES = {"fp16": "f16", "fp32": "f32"}
"""Our formats by llama.cpp's names where these differ."""
VALUES = {
    "n_parallel": "--parallel",
    "n_batch": "--batch-size",
    "n_ubatch": "--ubatch-size",
    "flash_attn": "--flash-attn",
    "n_gpu_layers": "--n-gpu-layers",
    "n_cpu_moe": "--n-cpu-moe",
    "spec_type": "--spec-type",
    "spec_draft_n_max": "--spec-draft-n-max",
    "mla_attn": "--mla-use",
    "attn_max_batch": "--attention-max-batch",
}
SWITCHES = {
    "cpu_moe": "--cpu-moe",
    "no_kv_offload": "--no-kv-offload",
    "swa_full": "--swa-full",
    "no_mmproj": "--no-mmproj",
    "run_time_repack": "--run-time-repack",
}
EITHER_WAY = {
    "kv_unified": ("--kv-unified", "--no-kv-unified"),
    "fused_moe": ("--fused-moe", "--no-fused-moe"),
}
"""Options that say yes or no, each by its own word."""
SHORT = {
    "-m": "model",
    "-hfr": "repository",
    "-c": "n_ctx",
    "-np": "set.n_parallel",
    "-b": "set.n_batch",
    "-ub": "set.n_ubatch",
    "-fa": "set.flash_attn",
    **dict.fromkeys(("-ngl", "--gpu-layers"), "set.n_gpu_layers"),
    "-ncmoe": "set.n_cpu_moe",
    "-ctk": "kv_cache_k",
    "-ctv": "kv_cache_v",
    "-ts": "cards",
    "-fit": "set.fit",
}
IN_MIB = {"cache_ram": "--cache-ram", "fit_target": "--fit-target"}
EXPERTS = r"blk\.({layers})\.ffn_(up|down|gate_up|gate)_(ch|)exps=CPU"
"""Tensors of experts of some layers, as --fit names them: common/fit.cpp, get_overflow_pattern."""
MOST_LAYERS = 999
"""Shares above this are of memory, which a plan takes by itself, and not layers."""
NAMELESS = {NGRAM: "ngram-simple", EAGLE: "draft-eagle3"}
"""Drafts that are no smaller model, as --spec-type has them."""
SMALLER_MODEL, MTP_TYPE, NGRAM_LENGTH = "draft-simple", "draft-mtp", "--spec-ngram-simple-size-m"
IGNORED = ("--gpu-layers-draft", "--spec-draft-ngl", "--cache-type-k-draft", "--cache-type-v-draft")
FORK = "ik_llama_cpp"
"""It takes --hf-repo only with --hf-file: common/common.cpp."""
NO_CARD = {"llama_cpp": ("--device", "none")}
ALL_LAYERS = "999"
"""More layers than any model has: what ``--n-gpu-layers`` says where the plan leaves it out."""


def cache_type(name: str) -> str:
    """A cache format as llama.cpp and Ollama call it."""
    return CACHE_TYPES.get(name, name)
