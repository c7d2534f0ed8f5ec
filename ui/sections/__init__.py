"""Parts of pages, each a question with its picture and its table."""
