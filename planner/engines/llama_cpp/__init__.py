"""llama.cpp and what is built on it: slots, caches by layer, a card's share of the model, and buffers of a step."""
