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

from msgspec import Meta

from flowgauge.define.shape import check_shape
from flowgauge.documents.findings import Findings
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.workflow import Value
from flowgauge.registry.adapters.table import BUILT_IN
from flowgauge.registry.settings_file import load_settings_file

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


def load_settings(path: Path, known: Collection[str] = ()) -> Settings:
    """`known`: adapters that are not built in. Raises BadFile with every mistake."""

    def check(value: dict[str, Any], findings: Findings) -> None:
        sections = value.get("adapters")
        for name, section in sections.items() if isinstance(sections, dict) else ():
            _check_section(name, section, findings, known)

    return load_settings_file(path, Settings, "`adapters:`", check)


def _check_section(name: str, section: Any, findings: Findings, known: Collection[str]) -> None:
    way = ("adapters", name)
    if findings.has_fault(way):
        return
    if name in BUILT_IN:
        check_shape(BUILT_IN[name].settings, section, way, findings)
    elif name not in known:
        names = [*BUILT_IN, *known]
        findings.add(way, f"There is no adapter '{name}'.", did_you_mean(name, names))
