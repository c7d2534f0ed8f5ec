"""Predictions for llama.cpp's buffers: those of all cards together, where the log adds them up as well."""

from planner.budget import OUTSIDE, MemoryBudget, plan
from planner.engines.llama_cpp.cache import state_bytes
from planner.inputs.choices import Chosen
from planner.line_item import Kind
from planner.logs.readings import Start
from planner.startups.ollama_estimates import predict_estimates
from planner.startups.prediction import Predictions, ask, exact, of_items


def predict_buffers(start: Start, chosen: Chosen) -> Predictions:
    """Weights and cache of all cards, the largest compute buffer; main memory only where there is no card."""
    found = ask(chosen)
    budget = plan(chosen.architecture, chosen.deployment, chosen.workload)
    kinds = {
        "compute": [item for item in found.items if item.name == "compute buffer"],
        # Each card has layers of its own.
        "weights": [item for rank in budget.ranks for item in rank.items if item.kind is Kind.WEIGHTS],
    }
    if chosen.deployment.on_cpu:
        kinds["output"] = [item for item in found.items if item.name == "output buffer"]
    if chosen.deployment.pipeline_parallel == 1:
        kinds["projected"] = [item for item in found.items if item.name not in ("context", OUTSIDE)]
    predictions = {name: of for name, items in kinds.items() if (of := of_items(items)) is not None}
    estimates = predict_estimates(start, chosen) if start.engine == "ollama" else {}
    return {**predictions, **_caches(start, budget), **estimates}


def _caches(start: Start, budget: MemoryBudget) -> Predictions:
    """Cells of all cards, and recurrent states where they are printed apart from these."""
    tokens, requests = budget.workload.context_tokens, budget.rank.requests(budget.workload.users)
    size = sum(rank.cache_bytes(tokens, requests) for rank in budget.ranks)
    asked = f"{requests} × {tokens:,} tokens"
    if start.most("states") is None:
        return {"cache": exact(size, asked)} if size else {}
    states = sum(state_bytes(rank.specs, rank.deployment, requests) for rank in budget.ranks)
    return {"cache": exact(size - states, asked), "states": exact(states, "a state for every slot")}
