"""Serialise only: records in, text for people or machines out."""
