"""Checks and judges: what makes a run right."""
