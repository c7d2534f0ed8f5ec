"""Answers in words, for a terminal and for pages. No figure is computed here."""
