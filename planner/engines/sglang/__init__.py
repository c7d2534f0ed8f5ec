"""SGLang: a static share of the card, divided into pools of tokens and states before anything runs."""

from planner.engines.sglang.engine import Sglang, asked_share

__all__ = ["Sglang", "asked_share"]
