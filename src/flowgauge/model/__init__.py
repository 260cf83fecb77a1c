"""The nouns, frozen, and the ports that stages are handed."""
