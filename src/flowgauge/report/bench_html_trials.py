"""Trials as the compact JSON that the HTML page reads: arrays instead of objects, long text cut.

Streams: one trial at a time in, its row out. A page with too many rows opens
slowly, so above a limit it gets every failure and a share of the successes;
the page says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import msgspec

from flowgauge.model.bench import CheckResult, Trial
from flowgauge.report import words
from flowgauge.report.bench_source import Source, text_of, why

MAX_ROWS = 20_000
TEXT_BUDGET = 6_000_000
"""Characters of output on one page, about."""
LEAST_CHARS, MOST_CHARS = 200, 4_000


class Index:
    """Names met so far: each is written once, rows hold its number."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}

    def of(self, name: str) -> int:
        """The name's number; -1 for no name."""
        return self.names.setdefault(name, len(self.names)) if name else -1


class Rows:
    """The rows of one page, and what was left out of them."""

    def __init__(self, source: Source) -> None:
        total = max(1, source.summary.trials)
        self.source = source
        self.text_chars = max(LEAST_CHARS, min(MOST_CHARS, TEXT_BUDGET // min(total, MAX_ROWS)))
        self.stride = -(-2 * total // MAX_ROWS) if total > MAX_ROWS else 1
        self.configs, self.cases, self.categories, self.models, self.checks = (Index() for _ in range(5))
        self.written = self.cut = 0

    def chosen(self) -> Iterator[Trial]:
        """Every trial, or where there are too many: failures up to half of the room, and every n-th success."""
        failures = successes = 0
        for trial in self.source.trials():
            failed = not trial.ok
            failures, successes = failures + failed, successes + (not failed)
            if self.stride == 1 or (failures <= MAX_ROWS // 2 if failed else successes % self.stride == 0):
                self.written += 1
                yield trial

    def row(self, trial: Trial) -> list[Any]:
        """In the order of FIELDS."""
        return [show(self, trial) for show in FIELDS.values()]

    def clip(self, text: str) -> str:
        """Cut, and counted where it was."""
        if len(text) <= self.text_chars:
            return text
        self.cut += 1
        return words.cut(text, self.text_chars)

    def check(self, result: CheckResult) -> list[Any]:
        """Name, passed, score, reason."""
        return [self.checks.of(result.name or result.type), result.passed, result.score, self.clip(result.error or result.reason)]

    def names(self) -> dict[str, Any]:
        """What the numbers in the rows stand for; complete only when all rows are written."""
        known = {case.name: case for case in self.source.summary.bench.definition.cases}
        cases = []
        for name in self.cases.names:
            case = known.get(name)
            inputs, expected = (self.clip(text_of(part or None)) for part in ((case.inputs, case.expected) if case else ({}, {})))
            cases.append({"name": name, "inputs": inputs, "expected": expected})
        return {
            "fields": list(FIELDS),
            "configs": list(self.configs.names),
            "cases": cases,
            "categories": list(self.categories.names),
            "models": list(self.models.names),
            "checks": list(self.checks.names),
        }


FIELDS: dict[str, Callable[[Rows, Trial], Any]] = {
    "run_id": lambda _, trial: trial.run_id,
    "config": lambda rows, trial: rows.configs.of(trial.config),
    "case": lambda rows, trial: rows.cases.of(trial.case),
    "repetition": lambda _, trial: trial.repetition,
    "status": lambda _, trial: trial.answer.status,
    "ok": lambda _, trial: int(trial.ok),
    "category": lambda rows, trial: rows.categories.of(trial.failure_category),
    "duration_ms": lambda _, trial: round(trial.answer.duration_ms, 3),
    "first_token_ms": lambda _, trial: None if trial.answer.first_token_ms is None else round(trial.answer.first_token_ms, 3),
    "queue_ms": lambda _, trial: round(trial.answer.queue_ms, 3),
    "backoff_ms": lambda _, trial: round(trial.answer.backoff_ms, 3),
    "retries": lambda _, trial: trial.answer.retries,
    "tokens_prompt": lambda _, trial: trial.answer.tokens_prompt,
    "tokens_completion": lambda _, trial: trial.answer.tokens_completion,
    "cost_usd": lambda _, trial: trial.answer.cost_usd,
    "cost_source": lambda _, trial: trial.answer.cost_source,
    "model": lambda rows, trial: rows.models.of(trial.answer.model or "–"),
    "cached": lambda _, trial: int(trial.answer.cached),
    "play_sid": lambda _, trial: trial.answer.play_sid,
    "output": lambda rows, trial: rows.clip(text_of(trial.answer.output)),
    "why": lambda rows, trial: rows.clip(why(trial)) if trial.failure_category or not trial.ok else "",
    "trace": lambda rows, trial: rows.clip(trial.answer.error.detail) if trial.answer.error else "",
    "checks": lambda rows, trial: [rows.check(result) for result in trial.checks],
}


def safe_json(value: Any) -> bytes:
    """JSON that can stand in a script element: nothing in it can close the element or open a comment."""
    return msgspec.json.encode(value).replace(b"<", b"\\u003c")


def write_rows(rows: Rows, out: BinaryIO) -> None:
    """The object that the page reads; names come last, when they are all known."""
    out.write(b'{"rows":[')
    before = b""
    for trial in rows.chosen():
        out.write(before + safe_json(rows.row(trial)))
        before = b",\n"
    out.write(b"]," + safe_json(rows.names())[1:])
