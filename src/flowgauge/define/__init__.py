"""Text that people write becomes nouns, or a list of every mistake."""
