"""How many requests a second within a target, as text for a terminal. No figure is computed here."""

from collections.abc import Sequence

from planner.serving.fewest_cards import Enough, fewest_cards
from planner.serving.question import ServingOption, ServingQuestion
from planner.text.batching import option_name, rate_words
from planner.units import counted, counted_words, format_seconds


def serving_text(options: Sequence[ServingOption], question: ServingQuestion, rate_per_s: float | None) -> str:
    """The best way to use the cards in a sentence, then every way in a line."""
    lines = [_answer(options[0], question)]
    if rate_per_s is not None:
        lines.append(_wish(options, question, rate_per_s))
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
    if best.is_chance:
        return (
            f"A request alone just meets the target on {cards} (TTFT p95 {format_seconds(best.first_token_s)}, a token "
            f"{format_seconds(best.token_s)}), and at the slow end of the range misses it: {best.limit}."
        )
    left = (
        f"{_rates(best.rate_lost_per_s)} and {counted(best.users_lost, 'user')} are left"
        if best.rate_lost_per_s
        else "none of it is left"
    )
    return (
        f"{_rates(best.rate_per_s)} ({rate_words(best.rate_low_per_s)} to {rate_words(best.rate_high_per_s)}), "
        f"{counted(best.users, 'user')} at once, as {option_name(best)}{_idle(best, question)}; with one node lost, "
        f"{left}."
    )


def _wish(options: Sequence[ServingOption], question: ServingQuestion, rate_per_s: float) -> str:
    """What the rate that is expected takes, of replicas that do both."""
    alone = fewest_cards(options, question, rate_per_s)
    spared = fewest_cards(options, question, rate_per_s, spare_node=True)
    if alone is None or spared is None:
        surely = "surely " if any(option.is_chance for option in options) else ""
        return f"No number of such replicas {surely}takes {_rates(rate_per_s)} within the target."
    return f"For {_rates(rate_per_s)}: {_enough(alone)}; to stand the loss of a node {_enough(spared)}."


def _enough(found: Enough) -> str:
    return f"{counted(found.device_count, 'card')} as {found.replicas:,} × {found.tensor_parallel}"


def _line(option: ServingOption) -> str:
    if not option.fits:
        return f"  {_split(option):>22} {'does not hold the model and the longest request':>10}"
    first = f"{option.first_token_s:.2f} s" if option.first_token_s else "–"
    pace = f"{1e3 * option.token_s:.1f} ms" if option.token_s else "–"
    spread = f"{rate_words(option.rate_low_per_s)} to {rate_words(option.rate_high_per_s)}"
    rate, left = rate_words(option.rate_per_s), rate_words(option.rate_lost_per_s)
    return (
        f"  {_split(option):>22} {rate:>10} {spread:>15} {left:>11} {option.users:>7,} "
        f"{option.output_tokens_per_s:>9,.0f} {first:>9} {pace:>11}  {option.limit}"
    )


def _split(option: ServingOption) -> str:
    if not option.prefill_replicas:
        return f"{option.replicas:,} × {option.tensor_parallel}"
    decode = option.replicas - option.prefill_replicas
    return f"{option.prefill_replicas:,} prefill + {decode:,} decode × {option.tensor_parallel}"


def _idle(option: ServingOption, question: ServingQuestion) -> str:
    left = question.device_count - option.replicas * option.tensor_parallel
    return f", {counted(left, 'card')} idle" if left else ""


def _rates(rate: float) -> str:
    return counted_words(rate_words(rate), "request") + "/s"
