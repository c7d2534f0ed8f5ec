import argparse
from dataclasses import asdict

from planner.answers.answer import beyond_model
from planner.cache_comparison import (
    REAL_MODELS,
    SHARED_TOKENS,
    SHARED_USERS,
    cost_of,
    crossing,
    head_variants,
    shared_tokens,
)
from planner.commands import DONE
from planner.commands.options import add_json, add_kv_cache, add_online, names, whole
from planner.deployment import Workload
from planner.export import to_json
from planner.inputs.choices import default_context_tokens
from planner.inputs.format_choices import choose_cache, choose_weights
from planner.inputs.model_files import load_model
from planner.text.cache import cost_sentence, crossing_sentence, headline, heads_sentence, shared_sentence
from planner.units import format_bytes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="preset name or alias, file, folder, or Hugging Face id (with --online)")
    parser.add_argument("--context", type=whole, help="tokens of one user; default 8,192 or the model's limit")
    parser.add_argument("--models", type=names, default=list(REAL_MODELS), help="models to compare, comma between")
    parser.add_argument("--weights", help="format of the weights that the cache is compared with; default as published")
    add_kv_cache(parser)
    add_online(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    model = load_model(arguments.model, arguments.online)
    tokens = default_context_tokens(model) if arguments.context is None else arguments.context
    tokens = Workload(context_tokens=tokens).context_tokens
    kept = choose_cache(arguments.kv_cache, model)
    own = cost_of(model, tokens, kept, kept, is_asked=True)
    compared = [cost_of(load_model(name), tokens, kept, kept) for name in arguments.models]
    others = [cost for cost in compared if cost.model != own.model]
    variants = head_variants(model, tokens, kept, kept)
    found = crossing(model, choose_weights(arguments.weights, None, model), kept, kept)
    warnings = (*model.warnings, *beyond_model(model, tokens))
    shared = shared_tokens(model, kept, kept, SHARED_USERS, SHARED_TOKENS)
    if arguments.json:
        print(
            to_json(
                {
                    **_figures(asdict(own)),
                    "weights_bytes": found.weights_bytes,
                    "crossing_tokens": found.tokens,
                    "other_models": [_figures(asdict(cost)) for cost in others],
                    "other_heads": [_figures(asdict(cost)) for cost in variants],
                    "shared": [asdict(row) for row in shared],
                    "warnings": warnings,
                }
            )
        )
        return DONE
    costs = sorted([own, *others], key=lambda cost: -cost.bytes)
    lines = [headline(own), cost_sentence(own), ""]
    lines += [f"  {format_bytes(cost.bytes):>12}  {cost.model}: {cost.attention}" for cost in costs]
    lines += ["", heads_sentence(variants)] if variants else [""]
    lines += [
        crossing_sentence(found, model.title, model.max_position_embeddings),
        shared_sentence(shared, model.title),
        *(f"Note: {warning}" for warning in warnings),
    ]
    print("\n".join(lines).replace("**", ""))
    return DONE


def _figures(cost: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in cost.items() if key != "is_asked"}
