"""What a bench file may say: its structs, and the forms in which people write the same thing.

In: a file's value, or what a Python program hands over as `configs`. Out: one
form, which `define.bench` checks. Nothing is judged here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from flowgauge.define.fields import field_names
from flowgauge.documents.tree import plain
from flowgauge.model.bench import Case, CheckSpec, Configuration
from flowgauge.model.workflow import Json, Positive, Value

AtLeastOne = Annotated[int, Meta(ge=1)]


class StateVariant(Value, frozen=True):
    """Inputs under a name. Without other cases each is a case; with them it is laid over every one."""

    name: str
    state: Annotated[dict[str, Json], Meta(description="Input values.")] = {}
    expected: Annotated[dict[str, Json], Meta(description="What is right; checks name it as {{ expected.… }}.")] = {}
    checks: tuple[CheckSpec, ...] = ()
    runs: AtLeastOne | None = None
    tags: dict[str, str] = {}


class BenchFile(Value, frozen=True):
    """One target × configurations × cases × runs."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._/-]{0,127}$", description="By default the target's.")] = ""
    runs: Annotated[AtLeastOne, Meta(description="How often each configuration runs each case.")] = 1
    max_concurrent_runs: Annotated[AtLeastOne, Meta(description="Trials at once.")] = 5
    configs: Annotated[tuple[Configuration, ...], Meta(description="What is compared; by default the target as it is.")] = ()
    state_variants: tuple[StateVariant, ...] = ()
    cases: tuple[Case, ...] = ()
    dataset: Annotated[tuple[str, ...], Meta(description="Paths of CSV, TSV, JSONL, JSON or YAML files; a row is a case.")] = ()
    checks: Annotated[tuple[CheckSpec, ...], Meta(description="What makes a run right.")] = ()
    scorers: Annotated[tuple[CheckSpec, ...], Meta(description="Checks that only measure.")] = ()
    seed: Annotated[int, Meta(description="Of the order of the trials.")] = 0
    timeout_s: Annotated[Positive, Meta(description="One trial at the most.")] | None = None
    budget_usd: Annotated[Positive, Meta(description="The bench stops before it would spend more.")] | None = None
    cache: Annotated[bool, Meta(description="Keep answers, by repetition, and use them again.")] = False
    tags: Annotated[dict[str, str], Meta(description="Stored with the results.")] = {}
    limit: Annotated[AtLeastOne, Meta(description="Take only the first so many cases.")] | None = None


BENCH_KEYS = frozenset(field_names(BenchFile))
CHECK_KEYS = frozenset(field_names(CheckSpec))


def bench_value(configs: Any) -> Any:
    """The value of a bench file for what a program hands over: a whole one, a list of configurations, or overrides by name.

    Structs become mappings, dates text. Raises TypeError for what JSON cannot hold.
    """
    value = plain(msgspec.to_builtins(configs, str_keys=True))
    if value is None:
        return {}
    if isinstance(value, list):
        return {"configs": value}
    if isinstance(value, dict) and value and not BENCH_KEYS & value.keys() and all(isinstance(one, dict) for one in value.values()):
        return {"configs": [_named(name, overrides) for name, overrides in value.items()]}
    return value


def normal_value(value: Mapping[str, Any]) -> dict[str, Any]:
    """One data set as a list of one, and every check with its settings under `options`."""
    result = dict(value)
    if isinstance(value.get("dataset"), str):
        result["dataset"] = [value["dataset"]]
    for key in ("checks", "scorers"):
        if key in value:
            result[key] = normal_checks(value[key])
    if isinstance(result.get("scorers"), list):
        result["scorers"] = [{"required": False, **one} if isinstance(one, dict) else one for one in result["scorers"]]
    for key in ("cases", "state_variants"):
        if isinstance(value.get(key), list):
            result[key] = [_with_normal_checks(one) for one in value[key]]
    return result


def normal_checks(value: Any) -> Any:
    """Checks as the struct has them: what is no field of it is one of its options."""
    return [_normal_check(one) for one in value] if isinstance(value, list) else value


def _named(name: str, overrides: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, **overrides} if "workflow_overrides" in overrides else {"name": name, "workflow_overrides": overrides}


def _normal_check(value: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(value.get("options", {}), dict):
        return value
    flat = {key: setting for key, setting in value.items() if key not in CHECK_KEYS}
    if not flat:
        return value
    known = {key: setting for key, setting in value.items() if key in CHECK_KEYS}
    return {**known, "options": {**value.get("options", {}), **flat}}


def _with_normal_checks(value: Any) -> Any:
    return {**value, "checks": normal_checks(value["checks"])} if isinstance(value, dict) and "checks" in value else value
