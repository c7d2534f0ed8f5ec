"""Predictions for llama.cpp's buffers: those of all cards together, where the log adds them up as well."""

from planner.answers.answer import Answer
from planner.budget import OUTSIDE, plan
from planner.inputs.choices import Chosen
from planner.line_item import Kind, LineItem
from planner.logs.readings import Start
from planner.startups.prediction import Prediction, Predictions, ask, exact, of_items


def predict_buffers(start: Start, chosen: Chosen) -> Predictions:
    """Weights and cache of all cards, the largest compute buffer; main memory only where there is no card."""
    found = ask(chosen)
    kinds = {"compute": [item for item in found.items if item.name == "compute buffer"]}
    if chosen.deployment.on_cpu:
        kinds["output"] = [item for item in found.items if item.name == "output buffer"]
    cache = None
    if chosen.deployment.pipeline_parallel == 1:
        kinds |= _of_one_card(found)
    else:
        kinds["weights"], cache = _of_cards(chosen)
    predictions = {name: of for name, items in kinds.items() if (of := of_items(items)) is not None}
    if cache is not None:
        predictions["cache"] = cache
    return predictions


def _of_one_card(found: Answer) -> dict[str, list[LineItem]]:
    return {
        "weights": [item for item in found.items if item.kind is Kind.WEIGHTS],
        "cache": [item for item in found.items if item.kind is Kind.CACHE],
        "projected": [item for item in found.items if item.name not in ("context", OUTSIDE)],
    }


def _of_cards(chosen: Chosen) -> tuple[list[LineItem], Prediction]:
    """Weights and cache: each card has layers of its own."""
    budget = plan(chosen.architecture, chosen.deployment, chosen.workload)
    weights = [item for rank in budget.ranks for item in rank.items if item.kind is Kind.WEIGHTS]
    requests = budget.rank.requests(chosen.workload.users)
    size = sum(rank.cache_bytes(chosen.workload.context_tokens, requests) for rank in budget.ranks)
    return weights, exact(size, f"{requests} × {chosen.workload.context_tokens:,} tokens")
