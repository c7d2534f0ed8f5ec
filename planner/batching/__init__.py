"""Many requests at once: what a server's schedule makes of a trace of requests, step by step but without stepping."""
