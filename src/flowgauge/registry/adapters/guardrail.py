"""guardrail: are the files that must not change unchanged? By SHA-256, as 1 or 0.

A file that is gone or differs makes it 0: that is a measurement, not an error.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from flowgauge.model.figure import Metric
from flowgauge.model.workflow import Value
from flowgauge.registry.adapters.built_in import BuiltIn, Context

Sha256 = Annotated[str, Meta(pattern="^[0-9a-fA-F]{64}$")]


class Settings(Value, frozen=True):
    """The files and what they must be."""

    files: Annotated[dict[str, Sha256], Meta(description="SHA-256 in hex, by path; `sha256sum FILE` prints it.")] = {}


def run(settings: Settings, _: Context) -> Mapping[str, Metric]:
    """`guardrail_integrity`: 1 where every file is what it must be."""
    intact = all(_hash(Path(path)) == wanted.lower() for path, wanted in settings.files.items())
    return {"guardrail_integrity": Metric(value=float(intact), direction="higher", unit="bool")}


def _hash(path: Path) -> str:
    """Empty for what is no file."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _missing(settings: Settings) -> str:
    return "" if settings.files else "no files are named: set adapters.guardrail.files in registry.yaml"


ROW = BuiltIn(name="guardrail", tier="fast", settings=Settings, run=run, missing=_missing)
