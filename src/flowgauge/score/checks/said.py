"""What a check of the user's own may answer: true or false, a number, or {passed, score, reason}."""

from __future__ import annotations

import math
from collections.abc import Mapping

from flowgauge.errors import Failed
from flowgauge.lang.path import kind_of
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import fail
from flowgauge.score.check import Evidence, Finding
from flowgauge.score.words import cut, shown

KEYS = ("passed", "score", "reason")


def finding_of(said: Json, who: str) -> Finding:
    """Read an answer; Failed where it is none."""
    if isinstance(said, bool):
        return Finding(said)
    if isinstance(said, int | float):
        return Finding(None, _score(said, who))
    if isinstance(said, dict):
        return _from_object(said, who)
    raise _unusable(f"{who} answered with {kind_of(said)}")


def _from_object(said: Mapping[str, Json], who: str) -> Finding:
    unknown = [key for key in said if key not in KEYS]
    passed, score, reason = (said.get(key) for key in KEYS)
    if unknown:
        raise _unusable(f"{who} answered with an unknown key '{cut(str(unknown[0]), 40)}'")
    if passed is None and score is None:
        raise _unusable(f"{who} answered with neither passed nor score")
    if passed is not None and not isinstance(passed, bool):
        raise _unusable(f"{who} answered with passed: {shown(passed)}")
    return Finding(passed, None if score is None else _score(score, who), cut("" if reason is None else str(reason)))


def _score(score: Json, who: str) -> float:
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise _unusable(f"{who} answered with score: {shown(score)}")
    try:
        number = float(score)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _unusable(f"{who} answered with a score that is not finite")
    return number


def _unusable(what: str) -> Failed:
    return fail("invalid_output", f"{what}. Answer with true or false, a number, or {{passed, score, reason}}.")


def told(found: Json, value: Json, evidence: Evidence) -> dict[str, Json]:
    """What a check of the user's own is told, by name."""
    answer = evidence.answer
    numbers = ("duration_ms", "first_token_ms", "queue_ms", "retries", "tokens_prompt", "tokens_completion", "cost_usd", "model", "scores")
    return {
        "output": found,
        "value": value,
        "expected": evidence.expected,
        "inputs": evidence.inputs,
        "nodes": answer.nodes,
        "answer": {name: getattr(answer, name) for name in numbers},
    }


TOLD = ("output", "value", "expected", "inputs", "nodes", "answer")
