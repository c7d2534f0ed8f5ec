"""A model at work: prompts, forward passes with and without a cache, and how long they take."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch

from measure.instruments import find_instrument
from measure.instruments.base import Instrument
from measure.models import Loaded, Source, find_source, load
from measure.prediction import Prediction, predict
from measure.setup import Setup
from measure.tensors import cache_of, held_tensors, model_tensors, storage_bytes, tensor_bytes
from planner.errors import PlannerError
from planner.measurements import MeasuredPass
from planner.weights import shape

FIRST_TOKEN = 16
"""Ids below are often special: padding, end of text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A loaded model, the instrument of its device, and what the planner says of it."""

    loaded: Loaded
    instrument: Instrument
    prediction: Prediction

    @property
    def model(self) -> Any:
        return self.loaded.model

    @property
    def attention(self) -> str:
        """The back end that the library really uses."""
        return self.loaded.attention

    def prompt(self, batch: int, tokens: int, seed: int = 0) -> torch.Tensor:
        """Random ids of *batch* × *tokens*, the same for the same *seed*."""
        vocab_size = self.loaded.source.architecture.vocab_size
        generator = torch.Generator().manual_seed(seed)
        ids = torch.randint(min(FIRST_TOKEN, vocab_size - 1), vocab_size, (batch, tokens), generator=generator)
        return ids.to(self.instrument.device)

    def forward(
        self, ids: torch.Tensor, cache: Any = None, use_cache: bool = True, all_logits: bool = False
    ) -> tuple[torch.Tensor, Any]:
        """Logits of the last position, and the cache that now holds *ids* too.

        With *all_logits* those of every position are computed first, as a plain loop over the model does.
        """
        with torch.no_grad():
            kept = 0 if all_logits else 1
            output = self.model(input_ids=ids, cache=cache, use_cache=use_cache, logits_to_keep=kept)
        found = cache_of(output)
        if use_cache and found is None:
            raise PlannerError(
                f"{self.loaded.source.title} returns no cache, since its modules keep their states themselves: only "
                "cache-size reads it."
            )
        return output.logits[:, -1], found

    def seconds(self, work: Callable[[], Any], repeats: int = 5) -> float:
        """The fastest of *repeats* runs of *work*: what else runs here only makes it slower."""
        return times(self.instrument, work, repeats)[0]

    def watched_pass(self, ids: torch.Tensor) -> tuple[Any, dict[str, int | None]]:
        """One prompt pass over *ids*: the cache that it leaves, and its memory as a ``MeasuredPass`` has it."""
        self.instrument.settle()
        with self.instrument.watch() as watched:
            cache = self.forward(ids)[1]
        memory, cache_bytes = self.instrument.now(), tensor_bytes(held_tensors(cache))
        outside_bytes = memory.outside_bytes
        if outside_bytes is not None:
            outside_bytes = max(0, outside_bytes - (memory.others_bytes or 0))
        elif memory.reserved_bytes is None:  # a CPU has no allocator of its own: what the process holds beside tensors
            outside_bytes = max(0, memory.host_bytes - self.weights_bytes - cache_bytes)
        return cache, {
            "peak_bytes": watched.peak_bytes,
            "cache_bytes": cache_bytes,
            "slack_bytes": memory.reserved_unused_bytes,
            "outside_bytes": outside_bytes,
        }

    @property
    def weights_bytes(self) -> int:
        """As held, buffers too."""
        return storage_bytes(model_tensors(self.model))

    def pass_row(
        self, requests: int, new_tokens: int, cached_tokens: int, seconds: float, memory: dict[str, int | None]
    ) -> dict[str, Any]:
        """A ``MeasuredPass`` as columns of a row, and the model that a profile of it is of."""
        read_bytes, operations = self.prediction.work(requests, new_tokens, cached_tokens)
        found = MeasuredPass(
            requests=requests,
            new_tokens=new_tokens,
            cached_tokens=cached_tokens,
            seconds=seconds,
            layers=len(self.prediction.architecture.layers),
            read_bytes=read_bytes,
            operations=operations,
            **memory,
        )
        return self.names() | asdict(found)

    def names(self) -> dict[str, str]:
        """Which model a row is of, and how it attends."""
        source = self.loaded.source
        return {
            "model": source.title,
            "model_name": source.architecture.name,
            "shape": shape(source.architecture),
            "changes": source.changes,
            "attention": self.attention,
        }


def times(instrument: Instrument, work: Callable[[], Any], repeats: int = 5) -> list[float]:
    """The seconds of *repeats* runs of *work*, after one more, the fastest first."""
    found = []
    instrument.settle()
    for _ in range(repeats + 1):
        instrument.wait()
        start = time.perf_counter()
        work()
        instrument.wait()
        found.append(time.perf_counter() - start)
    return sorted(found[1:])


def start(setup: Setup, source: Source | None = None) -> Running:
    """The model of *setup*, or of *source*, on its device."""
    loaded = load(setup, source)
    return Running(
        loaded=loaded,
        instrument=find_instrument(setup.device),
        prediction=predict(loaded.source.architecture, setup.dtype),
    )


def loading_bytes(source: Source, prediction: Prediction) -> int:
    """The most that weights take on the way: read from files they lie there twice, random ones are drawn in place."""
    return (2 if source.is_trained else 1) * prediction.weights_bytes


def needed_for(setup: Setup, batch: int, tokens: int) -> int:
    """About what a run of *batch* × *tokens* takes: the weights while they load, the cache twice, logits in fp32."""
    source = find_source(setup)
    architecture = source.architecture
    prediction = predict(architecture, setup.dtype)
    wide = 64 * architecture.hidden_size * batch * tokens  # some ten activations of a few hidden sizes
    logits = 8 * architecture.vocab_size * batch
    return loading_bytes(source, prediction) + 2 * prediction.cache_bytes(batch, tokens) + wide + logits
