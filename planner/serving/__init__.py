"""A server under load: requests a second within a latency target, and what the cards for it cost."""
