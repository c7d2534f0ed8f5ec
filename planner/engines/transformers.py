"""Hugging Face transformers with its dynamic cache: what the library's cache classes keep, by version."""

from dataclasses import replace

from planner.architecture import Attention, LatentAttention, Mixer, Recurrence, StateTensor, distinct_layers
from planner.deployment import Deployment
from planner.engine_data import EngineSettings
from planner.engines.base import Rank
from planner.engines.minimum import Minimum
from planner.engines.split import split_heads
from planner.errors import PlannerError
from planner.kv_cache import KVCacheSpec, merge_specs, mixer_spec
from planner.line_item import Basis

CONV = "conv"


class Transformers(Minimum):
    """Hugging Face transformers: the architectural minimum but for what its cache classes keep more or less."""

    name = "transformers"
    cache_basis = Basis.RULE

    def cache_specs(self, rank: Rank, deployment: Deployment) -> tuple[KVCacheSpec, ...]:
        settings = deployment.settings
        if settings.rules["window_tokens_not_kept"] is None:
            raise PlannerError(
                f"transformers {settings.version} is older than the rules that are known here: "
                "leave --engine-version out, or name 5.24 or later."
            )
        layers = split_heads(rank.layers, deployment.tensor_parallel)
        return merge_specs(
            (_spec(mixer, deployment, settings), count)
            for layer, count in distinct_layers(layers)
            for mixer in layer.mixers
        )


def _spec(mixer: Mixer, deployment: Deployment, settings: EngineSettings) -> KVCacheSpec:
    """One mixer's cache: windows lose the current token and gain a counter, convolutions gain the current column."""
    key_format, value_format = deployment.kv_cache_k, deployment.kv_cache_v
    match mixer:
        case Attention() | LatentAttention() if mixer.window_tokens is not None:
            kept = max(0, mixer.window_tokens - int(settings.rule("window_tokens_not_kept")))
            spec = mixer_spec(replace(mixer, window_tokens=kept), key_format, value_format)
            return replace(spec, fixed_bytes=int(settings.rule("window_counter_bytes")))
        case Recurrence():
            extra = int(settings.rule("extra_conv_columns"))
            states = tuple(_state(state, extra) for state in mixer.states)
            return mixer_spec(replace(mixer, states=states), key_format, value_format)
        case _:
            return mixer_spec(mixer, key_format, value_format)


def _state(state: StateTensor, extra_columns: int) -> StateTensor:
    return replace(state, columns=state.columns + extra_columns) if state.name == CONV else state
