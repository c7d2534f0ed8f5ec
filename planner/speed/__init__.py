"""How long a step takes: what it has to read and compute, and constants that say how well an engine does it."""
