"""Scores answers with the real scorer, sandbox, gateway and mock provider."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from tests.stage import Stage, StillClock, on_stage

from flowgauge.model.bench import Answer, Case, CheckResult, CheckSpec
from flowgauge.model.workflow import Json
from flowgauge.providers.mock.profiles import Profile, Script, Turn
from flowgauge.score.scorer import Scored, Scorer


def spec(kind: str, /, value: Json = None, **fields: Any) -> CheckSpec:
    """A check; what is no field of CheckSpec is one of its options."""
    own = {name: fields.pop(name) for name in ("name", "path", "weight", "required", "threshold") if name in fields}
    return CheckSpec(type=kind, value=value, options=fields, **own)


def ran(output: Json = None, **fields: Any) -> Answer:
    return Answer(status="success", output=output, **fields)


def score_all(
    checks: Sequence[CheckSpec],
    answers: Sequence[Answer],
    *,
    case: Case | None = None,
    inputs: Mapping[str, Json] | None = None,
    said: Sequence[str] = (),
    profiles: Mapping[str, Profile] | None = None,
) -> tuple[list[Scored], Stage]:
    """Answers of one case, one after the other; `said` is what mock/default says, in turn."""

    async def work() -> tuple[list[Scored], Stage]:
        script = [Script(match="", turns=tuple(Turn(text=text) for text in said))] if said else []
        async with on_stage(answers=script, profiles=profiles, clock=StillClock()) as stage:
            scorer = Scorer(checks, stage.services)
            of = case or Case(name="c")
            return [await scorer.score(answer, of, of.inputs if inputs is None else inputs) for answer in answers], stage

    return asyncio.run(work())


def score(
    checks: CheckSpec | Sequence[CheckSpec], answer: Answer, *, expected: Mapping[str, Json] | None = None, **settings: Any
) -> Scored:
    """One answer."""
    listed = [checks] if isinstance(checks, CheckSpec) else checks
    case = settings.pop("case", None) or Case(name="c", expected=dict(expected or {}))
    (scored,), _ = score_all(listed, [answer], case=case, **settings)
    return scored


def result(check: CheckSpec, output: Json, **settings: Any) -> CheckResult:
    """What one check says of an output; it can be stored, whatever it says."""
    (found,) = score(check, ran(output), **settings).checks
    assert msgspec.json.decode(msgspec.json.encode(found), type=CheckResult) == found
    return found
