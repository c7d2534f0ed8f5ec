"""The arena of one step of llama.cpp, by going through its graph as ggml's allocator does."""
