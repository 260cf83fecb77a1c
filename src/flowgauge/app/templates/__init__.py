"""Workflows that come with the product, as files."""

from __future__ import annotations

from importlib import resources


def template_text(name: str) -> str:
    """The file of a template, as text."""
    return resources.files(__name__).joinpath(f"{name}.yaml").read_text(encoding="utf-8")
