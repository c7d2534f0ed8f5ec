"""Memory-budget planning for open-weight language models: pure Python, no network, no GPU."""
