"""Is the output right? What the row expects, what the environment says, what the validator says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from flowgauge.model.workflow import Json
from flowgauge.perf.model import Row, Termination

_SHOWN_CHARS = 200
Validate = Callable[[Json], Any]


def judged(row: Row, output: Json, validators: Mapping[str, Validate]) -> tuple[Termination, str]:
    """How the episode ended. `validators` by what they are called in a message."""
    expects = row.expect is not msgspec.UNSET
    if output is None and (validators or (expects and row.expect is not None)):
        return "no_answer", "It ended without an answer."
    if expects and output != row.expect:
        return "wrong_answer", f"Expected {_shown(row.expect)}, got {_shown(output)}."
    for name, validate in validators.items():
        verdict = validate(output)
        if verdict is True:
            continue
        if verdict is False:
            return "wrong_answer", f"The {name} says no to {_shown(output)}."
        if isinstance(verdict, str) and verdict:
            return "wrong_answer", verdict
        return "error", f"The {name} answered {_shown(verdict)}: it must answer true, false, or in words why not."
    return "completed", ""


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
