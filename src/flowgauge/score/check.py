"""What a type of check declares: its options, what it makes of them, and what it finds.

A type is one file in `checks/` that ends with a `Check(…)`, and one row in the
table `CHECKS`. The file check, the scorer and the docs' test all read the row.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from flowgauge.model.bench import CheckResult, CheckSpec
from flowgauge.model.play import Usage
from flowgauge.model.workflow import Json
from flowgauge.nodes.kind import Complaint

if TYPE_CHECKING:
    from flowgauge.model.bench import Answer
    from flowgauge.nodes.context import Services


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of every struct that declares the options of a type."""


class Finding(msgspec.Struct, frozen=True):
    """What a check says. `passed` None: it only measures."""

    passed: bool | None
    score: float | None = None
    reason: str = ""
    votes: tuple[float, ...] = ()
    usage: Usage | None = None
    label: Json = None
    gold: Json = None


PASSED = Finding(True)


def wrong(reason: str) -> Finding:
    """Not passed, and why."""
    return Finding(False, None, reason)


class Evidence:
    """One answer with what was asked and what is right; `results` are those of the checks made before."""

    __slots__ = ("answer", "expected", "inputs", "results", "services")

    def __init__(self, answer: Answer, expected: Mapping[str, Json], inputs: Mapping[str, Json], services: Services) -> None:
        self.answer = answer
        self.expected = expected
        self.inputs = inputs
        self.services = services
        self.results: Mapping[str, CheckResult] = {}

    def scope(self) -> dict[str, Json]:
        """What templates may name."""
        return {"expected": self.expected, "inputs": self.inputs, "output": self.answer.output, "nodes": self.answer.nodes}


Measure = Callable[[Json, Evidence], "Finding | Awaitable[Finding]"]
"""(what stands at the path, the evidence) → a finding, at once where nothing outside is asked. Raises errors.Failed."""


def no_complaint(_spec: CheckSpec, _options: Any) -> Iterable[Complaint]:
    """For types whose options say it all."""
    return ()


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table."""

    options: type[Options]
    prepare: Callable[[Any, Json], Measure]
    """(options, value), templates filled in → the measure: made once a bench or case, used for every trial."""
    summary: str
    value: Literal["required", "optional", "unused"] = "required"
    looks: bool = True
    """Does it look at `path`? Else the path is not followed."""
    scores: bool = False
    """May it give a score, so that `threshold` has a meaning?"""
    finds_missing: bool = False
    """Is it handed a path that leads nowhere, or is that not passed before it is asked?"""
    last: bool = False
    """Is it made after all others, with their results, and at once?"""
    literal: tuple[str, ...] = ()
    """Options that are never templates."""
    failure: Literal["check_error", "judge_error"] = "check_error"
    problems: Callable[[CheckSpec, Any], Iterable[Complaint]] = no_complaint
    """What is wrong with a spec whose options have the right names and types; templates are not filled in yet."""
