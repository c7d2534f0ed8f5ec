"""vLLM: pages, groups and blocks of its own, a share of the card, and what it prints when it starts."""
