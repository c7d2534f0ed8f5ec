"""Runs real models on this machine, reads the allocator, and puts each reading beside what the planner predicted."""
