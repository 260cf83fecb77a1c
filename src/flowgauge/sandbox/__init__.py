"""Worker processes for python nodes, their limits and isolation."""
