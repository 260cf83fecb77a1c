"""Exchanges kept in a file, and answered from it."""
