"""Gate files become policies, or one BadFile that lists every mistake with its line.

In: a file, and what reads a limit (the language of limits stands elsewhere).
Out: a Policy with every default filled in. What no benchmark can decide yet,
as whether a metric of that name exists, is left to the gate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from flowgauge.define.fields import field_names
from flowgauge.define.shape import check_shape
from flowgauge.documents.document import scan_document
from flowgauge.documents.findings import Findings
from flowgauge.errors import UsageError
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.benchmark import Fingerprint
from flowgauge.model.gate import Policy

ReadLimit = Callable[[str], object]
"""Raises UsageError for what is no limit."""

POLICY_KEYS = frozenset(field_names(Policy))
DIFFERENCES = tuple(field_names(Fingerprint))
"""What `allow` may name."""
LISTS = ("limits", "fail_on", "only", "allow")
"""Where one word stands for a list of one."""


def load_policy(path: str | Path, read_limit: ReadLimit) -> Policy:
    """Read and check a gate file. Raises BadFile."""
    document = scan_document(path)
    findings = Findings(document.file, document.find)
    findings.problems.extend(document.problems)
    if not isinstance(document.value, dict):
        findings.add((), "A gate must be a mapping.", "Begin with `rule:`, `metrics:` or `limits:`.")
        findings.raise_any()
    value = _normal(document.value)
    for key in value:
        if key not in POLICY_KEYS:
            findings.add((key,), f"Unknown key '{key}'.", did_you_mean(key, sorted(POLICY_KEYS)))
    check_shape(Policy, {key: part for key, part in value.items() if key in POLICY_KEYS}, (), findings)
    for check in (_check_limits, _check_allowed, _check_k_of_n, _check_metrics):
        check(value, findings, read_limit)
    findings.raise_any()
    return msgspec.convert(value, Policy)


def _normal(value: Mapping[str, Any]) -> dict[str, Any]:
    """One limit, one tier, one name: each as a list of one."""
    return {key: [part] if key in LISTS and isinstance(part, str) else part for key, part in value.items()}


def _check_limits(value: Mapping[str, Any], findings: Findings, read_limit: ReadLimit) -> None:
    for place, rule in _texts(value.get("limits")):
        try:
            read_limit(rule)
        except UsageError as error:
            findings.add(("limits", place), error.message, error.remedy)


def _check_allowed(value: Mapping[str, Any], findings: Findings, _: ReadLimit) -> None:
    for place, name in _texts(value.get("allow")):
        if name not in DIFFERENCES:
            findings.add(("allow", place), f"Benchmarks do not differ by '{name}'.", did_you_mean(name, DIFFERENCES))


def _check_k_of_n(value: Mapping[str, Any], findings: Findings, _: ReadLimit) -> None:
    if value.get("k_of_n") is None or findings.has_fault(("k_of_n",)):
        return
    asked = value["k_of_n"]
    if asked.get("n") is not None and asked["k"] > asked["n"]:
        findings.add(("k_of_n", "k"), f"{asked['k']} of {asked['n']} runs cannot pass.", "Ask for at most as many as there are.")


def _check_metrics(value: Mapping[str, Any], findings: Findings, _: ReadLimit) -> None:
    """What fits by itself and not together."""
    metrics = value.get("metrics")
    for name, asked in metrics.items() if isinstance(metrics, dict) else ():
        way = ("metrics", name)
        if findings.has_fault(way):
            continue
        history = asked.get("history") or {}
        if history.get("method") == "t" and history.get("bound") is not None and not 0.5 < history["bound"] < 1:
            findings.add((*way, "history", "bound"), f"{history['bound']} is no level.", "Write 0.95, or take `method: z` for sigmas.")
        if asked.get("rule") == "ignore":
            for key in asked:
                if key != "rule":
                    findings.add((*way, key), f"'{name}' is ignored, so `{key}` says nothing.", "Take one of the two out.")
            if name in (other for _, other in _texts(value.get("only"))):
                findings.add((*way, "rule"), f"'{name}' is ignored here and asked for under `only`.", "Take one of the two out.")


def _texts(part: Any) -> list[tuple[int, str]]:
    """Of a list that may hold anything: its texts with their places. What is no text was found already."""
    return [(place, one) for place, one in enumerate(part) if isinstance(one, str)] if isinstance(part, list) else []
