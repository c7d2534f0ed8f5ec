"""The answer to one plan and to one model: figures, what they rest on, and the sentence that says them."""
