"""Workflows that come with the product, as files: one row each, a file of the same name beside this one.

They are workflows like any other: to run one, store it first.
"""

from __future__ import annotations

from importlib import resources

from flowgauge.errors import NotFound
from flowgauge.lang.wording import did_you_mean

TEMPLATES = ("benchmark_flow", "service_agent", "ticket-triage")


def template_text(name: str) -> str:
    """The file of a template, as text. Raises NotFound."""
    if name not in TEMPLATES:
        raise NotFound(f"There is no template '{name}'. {did_you_mean(name, TEMPLATES)}".rstrip(), remedy="See: flowgauge template list")
    return resources.files(__name__).joinpath(f"{name}.yaml").read_text(encoding="utf-8")
