"""The same passes on tensors that have shapes and no memory: a peak predicted by PyTorch's own FakeTensorMode."""

from collections.abc import Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from measure.instruments.cpu import StorageFollower
from measure.models import TORCH_DTYPES, Source, library_config
from measure.setup import Setup
from measure.tensors import cache_of


def fake_peak_bytes(source: Source, setup: Setup, settings: Mapping[str, Any]) -> int:
    """The peak above weights of the decisive passes of a generation as ``measure.experiments.peak`` describes it."""
    from transformers import AutoModelForCausalLM

    config, kept = library_config(source), 0 if settings["logits"] == "all" else 1
    tokens = settings["prompt_tokens"] + settings["generated_tokens"] - 1
    with FakeTensorMode(), torch.no_grad():
        dtype = TORCH_DTYPES[setup.dtype]
        model = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=setup.attention).eval()
        longest = torch.ones((settings["batch"], tokens), dtype=torch.long)
        if not settings["cached"]:
            with StorageFollower() as follower:
                model(input_ids=longest, use_cache=False, logits_to_keep=kept)
            return follower.peak_bytes
        with StorageFollower() as follower:
            model(input_ids=longest[:, : settings["prompt_tokens"]], use_cache=True, logits_to_keep=kept)
        first = follower.peak_bytes
        with StorageFollower() as follower:
            cache = cache_of(model(input_ids=longest[:, :-1], use_cache=True, logits_to_keep=1))
            follower.start_peak_again()
            model(input_ids=longest[:, :1], cache=cache, use_cache=True, logits_to_keep=1)
        return max(first, follower.peak_bytes)
