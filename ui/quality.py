"""What the chosen formats cost in quality, one click away from where they are chosen."""

import streamlit as st

from planner.answers.answer import Answer
from planner.catalogue.quality import CACHE, LIMITS, WEIGHTS, QualityCost, is_yardstick, quality_of, quality_sentence
from planner.formats import CHECKPOINT

SHOWN = 3


def quality_popover(answer: Answer) -> None:
    """Published readings of the weights' and the cache's format, those of models nearest in size first."""
    weights = answer.stored_as if answer.weights == CHECKPOINT else answer.weights
    caches = dict.fromkeys((answer.kv_cache_k, answer.kv_cache_v))
    with st.popover("What that costs in quality", icon=":material/compare_arrows:", width="stretch", key="quality"):
        found = _readings("Weights", weights, WEIGHTS, answer.parameters)
        for name in caches:
            found += _readings("Cache", name, CACHE, answer.parameters)
        if found:
            st.caption(LIMITS)
            for note in dict.fromkeys(cost.series.note for cost in found if cost.series.note):
                st.caption(note)
            sources = dict.fromkeys(cost.series.source for cost in found)
            st.caption(f"Sources: {'; '.join(sources)}.")


def _readings(what: str, name: str, use: str, parameters: int) -> list[QualityCost]:
    if is_yardstick(name):
        st.markdown(f"**{what} in {name}**: what the others are compared with.")
        return []
    found = list(quality_of(name, use, parameters)[:SHOWN])
    if not found:
        st.markdown(f"**{what} in {name or 'the file’s own formats'}**: no published reading is known here.")
        return []
    st.markdown(f"**{what} in {name}**")
    st.markdown("\n".join(f"- {quality_sentence(cost)}" for cost in found))
    return found
