"""How many requests a second within a target, as text for a terminal. No figure is computed here."""

from collections.abc import Sequence

from planner.serving import ServingOption, ServingQuestion
from planner.units import counted

_FROM_WHOLE = 100
"""A rate from here on has no decimals worth printing."""


def serving_text(options: Sequence[ServingOption], question: ServingQuestion, rate_per_s: float | None) -> str:
    """The best way to use the cards in a sentence, then every way in a line."""
    lines = [_answer(options[0], question)]
    if rate_per_s is not None:
        whole = next(option for option in options if not option.prefill_replicas)
        lines.append(_wish(whole, question, rate_per_s))
    lines.append("")
    lines.append(
        f"  {'replicas':>22} {'requests/s':>10} {'range':>15} {'a node lost':>11} {'users':>7} {'tokens/s':>9} "
        f"{'TTFT p95':>9} {'a token p95':>11}  ends at"
    )
    lines += [_line(option) for option in options]
    return "\n".join([*lines, "Note: 95 of 100 requests meet the target; the range is that of the speed model."])


def _answer(best: ServingOption, question: ServingQuestion) -> str:
    cards = counted(question.device_count, "card")
    if not best.fits:
        return f"No split of {cards} holds the model and the longest request."
    if best.rate_per_s == 0:
        return f"Even a request alone misses the target on {cards}: {best.limit}."
    return (
        f"{_rate(best.rate_per_s)} requests/s ({_rate(best.rate_low_per_s)} to {_rate(best.rate_high_per_s)}), "
        f"{counted(best.users, 'user')} at once, as {_split(best)}; with one node lost {_rate(best.rate_lost_per_s)} "
        f"requests/s, {counted(best.users_lost, 'user')}."
    )


def _wish(best: ServingOption, question: ServingQuestion, rate_per_s: float) -> str:
    """What the rate that is expected takes, of replicas that do both."""
    tensor_parallel = best.tensor_parallel
    lost = -(-(question.node_devices or tensor_parallel) // tensor_parallel)
    alone, spared = best.replicas_for(rate_per_s), best.replicas_for(rate_per_s, lost)
    if alone is None or spared is None:
        return f"No number of such replicas takes {_rate(rate_per_s)} requests/s within the target."
    return (
        f"{_rate(rate_per_s)} requests/s take {counted(alone * tensor_parallel, 'card')} as replicas of "
        f"{tensor_parallel}, {spared * tensor_parallel:,} to stand the loss of a node."
    )


def _line(option: ServingOption) -> str:
    if not option.fits:
        return f"  {_split(option):>22} {'does not hold the model and the longest request':>10}"
    spread = f"{_rate(option.rate_low_per_s)} to {_rate(option.rate_high_per_s)}"
    return (
        f"  {_split(option):>22} {_rate(option.rate_per_s):>10} {spread:>15} {_rate(option.rate_lost_per_s):>11} "
        f"{option.users:>7,} {option.output_tokens_per_s:>9,.0f} {option.first_token_s:>7.2f} s "
        f"{1e3 * option.token_s:>8.1f} ms  {option.limit}"
    )


def _split(option: ServingOption) -> str:
    if not option.prefill_replicas:
        return f"{option.replicas:,} × {option.tensor_parallel}"
    decode = option.replicas - option.prefill_replicas
    return f"{option.prefill_replicas:,} prefill + {decode:,} decode × {option.tensor_parallel}"


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= _FROM_WHOLE else f"{rate:.3g}"
