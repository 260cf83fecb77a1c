"""Changes between two runs in words, for a terminal.

Changes in, lines out. Values are JSON on one line, cut around the place where
they part; characters that a terminal would obey are spelled out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from flowgauge.model.workflow import Json
from flowgauge.perf.model import RunArtifact
from flowgauge.perf.replay.differences import Area, Change
from flowgauge.report import words

TITLES: Mapping[Area, str] = {
    "subject": "what was run",
    "taxonomy": "how it ended",
    "steps": "steps",
    "budget": "budget",
    "io": "I/O",
    "models": "model calls",
}
MOST_LINES = 40
_WHOLE = 70
_AROUND = 20
_SHOWN = 3
_MARKS = {"added": "+ ", "removed": "- ", "changed": ""}
_NOTHING: Any = object()


def run_line(run: RunArtifact) -> str:
    """One run, short."""
    calls = "unknown" if run.tool_calls is None else f"{run.tool_calls:,}"
    steps = "unknown" if run.steps is None else f"{run.steps:,}"
    end = run.termination_reason if run.failure_type in (None, run.termination_reason) else f"{run.termination_reason} ({run.failure_type})"
    subject = words.one_line(f"{run.agent} · {run.task_ref} · seed {run.seed}", 200)
    return f"{subject} · {end} · steps {steps} · tool calls {calls} · {words.duration(run.wall_clock_s * 1000)}"


def first_step(changes: Iterable[Change]) -> str:
    """` from step 3 on`, or nothing where no step differs."""
    steps = [change.step for change in changes if change.step is not None]
    return f" from step {min(steps)} on" if steps else ""


def sections(changes: Iterable[Change]) -> Iterator[tuple[str, list[str]]]:
    """A title and its lines, for every area that differs."""
    listed = list(_without_echoes(changes))
    for area, title in TITLES.items():
        lines = [line for change in listed if change.area == area for line in change_lines(change)]
        if len(lines) > MOST_LINES:
            lines[MOST_LINES:] = [f"and {len(lines) - MOST_LINES} more (--json shows all)"]
        if lines:
            yield title, lines


def _without_echoes(changes: Iterable[Change]) -> Iterator[Change]:
    """What a step sees is mostly what the step before gave: told once."""
    result: tuple[Json, Json] | None = None
    for change in changes:
        if change.field == "result":
            result = change.before, change.after
        if change.field != "observation" or (change.before, change.after) != result:
            yield change


def change_lines(change: Change) -> Iterator[str]:
    """`step 3 · action: {"type":"look"} → {"type":"take"}`; long values by the parts that differ."""
    name = change.field if change.step is None else f"step {change.step} · {change.field}"
    mark = _MARKS[change.kind]
    if change.kind != "changed":
        yield f"{mark}{name}: {_cut(_json(change.after if change.kind == 'added' else change.before), 2 * _WHOLE)}"
        return
    before, after = _json(change.before), _json(change.after)
    if len(before) <= _WHOLE and len(after) <= _WHOLE:
        yield f"{name}: {before} → {after}"
        return
    parts = list(islice(_leaves(change.before, change.after, name), _SHOWN + 1))
    yield from parts[:_SHOWN]
    if len(parts) > _SHOWN:
        yield f"{name}: and more (--json shows all)"


def _leaves(before: Json, after: Json, path: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            yield from _leaves(before.get(key, _NOTHING), after.get(key, _NOTHING), f"{path}.{_plain(key)}")
    elif isinstance(before, list) and isinstance(after, list):
        for index in range(max(len(before), len(after))):
            yield from _leaves(_at(before, index), _at(after, index), f"{path}[{index}]")
    elif before is _NOTHING or after is _NOTHING or _json(before) != _json(after):
        yield f"{path}: {' → '.join(_around(before, after))}"


def _at(items: list[Json], index: int) -> Json:
    return items[index] if index < len(items) else _NOTHING


def _around(before: Json, after: Json) -> tuple[str, str]:
    """Both texts, from shortly before the place where they part."""
    one, other = ("(nothing)" if value is _NOTHING else _json(value) for value in (before, after))
    same = next((at for at, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs), min(len(one), len(other)))
    start = max(0, same - _AROUND) if max(len(one), len(other)) > _WHOLE else 0
    ellipsis = "…" if start else ""
    return f"{ellipsis}{_cut(one[start:], _WHOLE)}", f"{ellipsis}{_cut(other[start:], _WHOLE)}"


def _json(value: Json) -> str:
    return _plain(msgspec.json.encode(value).decode())


def _plain(text: str) -> str:
    """What cannot be seen, spelled out: two values that differ must not look the same."""
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)


def _cut(text: str, limit: int) -> str:
    return words.cut(text, limit)
