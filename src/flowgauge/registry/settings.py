"""The settings of adapters, from a small YAML file; every mistake with its line.

    time_limit_s: 600
    workflows: [ticket-triage]
    adapters:
      guardrail:
        files: {prompts/system.txt: 9f86d0…}

Built-in adapters have fields of their own; what stands under any other name is
handed to that adapter as keyword arguments.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from flowgauge.define.fields import field_names
from flowgauge.define.shape import check_shape
from flowgauge.documents.document import scan_document
from flowgauge.documents.findings import Findings
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.workflow import Value
from flowgauge.registry.adapters.table import BUILT_IN

FILE = "registry.yaml"
TIME_LIMIT_S = 600.0


class Settings(Value, frozen=True):
    """What the file says."""

    time_limit_s: Annotated[float, Meta(gt=0, le=86_400, description="For each adapter.")] = TIME_LIMIT_S
    workflows: Annotated[tuple[str, ...], Meta(description="Stored workflows, benches or subjects; each is an adapter.")] = ()
    adapters: Annotated[dict[str, dict[str, Any]], Meta(description="By adapter: its settings.")] = {}

    def of(self, name: str) -> dict[str, Any]:
        """What was said of one adapter."""
        return self.adapters.get(name, {})


_KEYS = tuple(field_names(Settings))


def load_settings(path: Path, known: Collection[str] = ()) -> Settings:
    """`known`: adapters that are not built in. Raises BadFile with every mistake."""
    document = scan_document(path)
    findings = Findings(document.file, document.find)
    findings.problems.extend(document.problems)
    value = document.value
    if not isinstance(value, dict):
        findings.add((), "The settings must be a mapping.", "Begin with `adapters:`.")
        findings.raise_any()
    for key in value:
        if key not in _KEYS:
            findings.add((key,), f"Unknown key '{key}'.", did_you_mean(key, _KEYS))
    check_shape(Settings, {key: part for key, part in value.items() if key in _KEYS}, (), findings)
    sections = value.get("adapters")
    for name, section in sections.items() if isinstance(sections, dict) else ():
        _check_section(name, section, findings, known)
    findings.raise_any()
    return msgspec.convert(value, Settings)


def _check_section(name: str, section: Any, findings: Findings, known: Collection[str]) -> None:
    way = ("adapters", name)
    if findings.has_fault(way):
        return
    if name in BUILT_IN:
        check_shape(BUILT_IN[name].settings, section, way, findings)
    elif name not in known:
        names = [*BUILT_IN, *known]
        findings.add(way, f"There is no adapter '{name}'.", did_you_mean(name, names))
