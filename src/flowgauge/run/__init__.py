"""The engine: a workflow in, a play out."""
