"""A small YAML file of settings → a struct; every mistake with its line. Refuses what is no mapping, and unknown keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from flowgauge.define.fields import field_names
from flowgauge.define.shape import check_shape
from flowgauge.documents.document import scan_document
from flowgauge.documents.findings import Findings
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.workflow import Value

S = TypeVar("S", bound=Value)


def load_settings_file(path: Path, kind: type[S], begin: str, check: Callable[[dict[str, Any], Findings], None]) -> S:
    """`begin`: what such a file begins with, for one that is none; `check` finds what a shape cannot say. Raises BadFile."""
    document = scan_document(path)
    findings = Findings(document.file, document.find)
    findings.problems.extend(document.problems)
    value = document.value
    if not isinstance(value, dict):
        findings.add((), "The settings must be a mapping.", f"Begin with {begin}.")
        findings.raise_any()
    keys = tuple(field_names(kind))
    for key in value:
        if key not in keys:
            findings.add((key,), f"Unknown key '{key}'.", did_you_mean(key, keys))
    check_shape(kind, {key: part for key, part in value.items() if key in keys}, (), findings)
    check(value, findings)
    findings.raise_any()
    return msgspec.convert(value, kind)
