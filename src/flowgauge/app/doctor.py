"""What is installed, which keys are set, is the store well: facts, no advice but where something is wrong."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from flowgauge._version import __version__
from flowgauge.errors import FlowgaugeError

_REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+).*?(?:extra\s*==\s*['\"]([a-z]+)['\"])?$")


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the examination."""

    area: str
    name: str
    ok: bool
    detail: str
    remedy: str = ""


def examine(db: str | None, environment: Mapping[str, str] = os.environ) -> list[Finding]:
    """Everything that can be seen without calling out."""
    return [*_program(), *_packages(), *_keys(environment), *_isolation(), *_prices(), *_store(db)]


def _program() -> list[Finding]:
    python = f"{platform.python_version()} at {sys.executable}"
    return [
        Finding(area="program", name="flowgauge", ok=True, detail=__version__),
        Finding(area="program", name="python", ok=sys.version_info >= (3, 11), detail=python),
    ]


def _packages() -> list[Finding]:
    found: dict[str, list[str]] = {}
    missing: dict[str, list[str]] = {}
    for requirement in importlib.metadata.requires("flowgauge") or ():
        match = _REQUIREMENT.match(requirement)
        if match is None or match[1] == "flowgauge" or match[2] == "all":
            continue
        extra = match[2] or "core"
        try:
            found.setdefault(extra, []).append(f"{match[1]} {importlib.metadata.version(match[1])}")
        except importlib.metadata.PackageNotFoundError:
            missing.setdefault(extra, []).append(match[1])
    rows = []
    for extra in dict.fromkeys([*found, *missing]):
        lacking = missing.get(extra, [])
        detail = ", ".join(found.get(extra, [])) if not lacking else f"not installed: {', '.join(lacking)}"
        remedy = f"pip install 'flowgauge[{extra}]' adds it." if lacking else ""
        rows.append(Finding(area="packages", name=extra, ok=not lacking, detail=detail, remedy=remedy))
    return rows


def _keys(environment: Mapping[str, str]) -> list[Finding]:
    from flowgauge.providers.wire.endpoints import ANTHROPIC, OPENAI_COMPATIBLE

    endpoints = {"anthropic": ANTHROPIC, **OPENAI_COMPATIBLE}
    variables = {endpoint.key_env: name for name, endpoint in endpoints.items() if endpoint.needs_key}
    is_set = {variable: bool(environment.get(variable)) for variable in variables}
    return [
        Finding(area="keys", name=variable, ok=is_set[variable], detail=f"{'set' if is_set[variable] else 'not set'} ({name})")
        for variable, name in variables.items()
    ]


def _isolation() -> list[Finding]:
    from flowgauge.sandbox import gaps, landlock_abi

    abi = landlock_abi()
    detail = f"landlock (kernel interface {abi})" if abi else "process only: faults are contained, secrets are not guarded"
    open_ways = gaps("landlock" if abi else "process")
    return [Finding(area="isolation", name="python nodes", ok=abi > 0, detail="; ".join((detail, *open_ways)))]


def _prices() -> list[Finding]:
    from flowgauge.providers.prices import table as prices

    try:
        return [Finding(area="prices", name="table", ok=True, detail=prices.table().label)]
    except FlowgaugeError as error:
        return [Finding(area="prices", name="table", ok=False, detail=error.message, remedy=error.remedy)]


def _writable(place: str) -> list[Finding]:
    """Of an SQLite file: can its folder be written to?"""
    if "://" in place:
        return []
    folder = Path(place).parent
    while not folder.exists():
        folder = folder.parent
    able = os.access(folder, os.W_OK)
    remedy = "" if able else "Use --db or FLOWGAUGE_DB for a place that can be written to."
    return [Finding(area="store", name="folder", ok=able, detail=f"{folder} {'can' if able else 'cannot'} be written to", remedy=remedy)]


def _store(db: str | None) -> list[Finding]:
    from flowgauge.app.workspace import opened_store

    try:
        with opened_store(db) as store:
            info = store.info()
    except FlowgaugeError as error:
        return [Finding(area="store", name="database", ok=False, detail=error.message, remedy=error.remedy)]
    engine = info.engine
    well = engine.check == "ok"
    where = info.place if info.exists else f"{info.place} (made by the first write)"
    bug = " (only one connection ever checkpoints, so its WAL-reset bug cannot bite)" if engine.wal_reset_bug else ""
    return [
        Finding(area="store", name="place", ok=True, detail=where),
        Finding(area="store", name=engine.backend, ok=True, detail=f"{engine.version}{bug}"),
        *_writable(info.place),
        Finding(area="store", name="check", ok=well, detail=engine.check, remedy="" if well else "Restore a backup."),
    ]
