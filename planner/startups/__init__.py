"""An engine's start beside the plan for it: the readings of its log, what explains them, and what would start."""
