"""What is installed, which keys are set, is the store well: facts, no advice but where something is wrong."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Mapping

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
        if match is None or match[1] == "flowgauge":
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
    from flowgauge.providers.endpoints import key_variables

    rows = []
    for variable, providers in key_variables().items():
        is_set = bool(environment.get(variable))
        rows.append(Finding(area="keys", name=variable, ok=is_set, detail=f"{'set' if is_set else 'not set'} ({', '.join(providers)})"))
    return rows


def _isolation() -> list[Finding]:
    from flowgauge.sandbox import landlock_abi

    abi = landlock_abi()
    detail = f"landlock (kernel interface {abi})" if abi else "process only: faults are contained, secrets are not guarded"
    return [Finding(area="isolation", name="python nodes", ok=abi > 0, detail=detail)]


def _prices() -> list[Finding]:
    from flowgauge.providers import prices

    try:
        return [Finding(area="prices", name="table", ok=True, detail=prices.table().label)]
    except FlowgaugeError as error:
        return [Finding(area="prices", name="table", ok=False, detail=error.message, remedy=error.remedy)]


def _store(db: str | None) -> list[Finding]:
    from flowgauge.app.workspace import opened_store

    try:
        with opened_store(db) as store:
            info = store.info()
    except FlowgaugeError as error:
        return [Finding(area="store", name="database", ok=False, detail=error.message, remedy=error.remedy)]
    return [Finding(area="store", name=name.replace("_", " "), ok=True, detail=str(getattr(info, name))) for name in info.__struct_fields__]
