"""The policy of a gate: a file or the defaults, with what the command line lays over it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from flowgauge.errors import UsageError
from flowgauge.model.gate import Policy

PolicySource = str | Path | Mapping[str, Any] | Policy | None


def policy_of(source: PolicySource, **over: Any) -> Policy:
    """`over` holds fields of Policy; None in it leaves the file's word. Raises BadFile with every mistake of a file."""
    base = _base(source)
    laid = {name: value for name, value in over.items() if value is not None}
    return _checked({**msgspec.structs.asdict(base), **laid}) if laid else base


def needs_no_baseline(policy: Policy) -> bool:
    """Does it ask anything that can be answered without one?"""
    return bool(policy.limits or policy.k_of_n or any(asked.history for asked in policy.metrics.values()))


def _base(source: PolicySource) -> Policy:
    if isinstance(source, str | Path):
        from flowgauge.compare.limits import read_limit
        from flowgauge.define.gate import load_policy

        return load_policy(source, read_limit)
    if isinstance(source, Policy):
        return source
    return _checked(dict(source or {}))


def _checked(values: dict[str, Any]) -> Policy:
    try:
        return msgspec.convert(values, Policy)
    except msgspec.ValidationError as error:
        raise UsageError(f"This is no policy of a gate: {error}.", remedy="See docs/gate.md for its fields.") from error
