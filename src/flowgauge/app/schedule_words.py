"""What is said of a schedule's moments: in words, and as JSON for a webhook."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.schedule_moments import MOST_COUNTED
from flowgauge.model.workflow import Json
from flowgauge.report import words

if TYPE_CHECKING:
    from flowgauge.app.schedule_gate import Judged
    from flowgauge.model.service import Schedule
    from flowgauge.model.verdict import GateResult

LATE_MS = 60_000
"""What is late by less is in time."""
MOST_LINES = 50


def in_utc(moment_ms: int) -> str:
    """2026-01-31T03:00:00Z."""
    return datetime.datetime.fromtimestamp(moment_ms / 1000, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def late_words(moment_ms: int, now_ms: int, missed: int) -> str:
    """Where nobody was there when it was due."""
    if now_ms - moment_ms < LATE_MS and not missed:
        return ""
    before = f"; {'at least ' * (missed >= MOST_COUNTED)}{words.plural(missed, 'moment')} before it passed unseen" if missed else ""
    return f"It was due at {in_utc(moment_ms)}, and no server was there before {in_utc(now_ms)}{before}."


def skipped_words(count: int) -> str:
    """Where moments came while it ran."""
    return f"{words.plural(count, 'moment')} came while it was running, and passed." if count else ""


def news_of(schedule: Schedule, judged: Judged) -> dict[str, Json]:
    """For a webhook: what happened, bounded in size."""
    return {
        "event": "schedule_finished",
        "schedule": schedule.name,
        "moment": in_utc(schedule.running_at),
        "status": judged.status,
        "words": judged.words,
        "bench_id": judged.bench_id,
        "workflow": schedule.request.get("workflow_sid"),
        "baseline": schedule.baseline,
        "gates": [_gate(gate) for gate in judged.gates[:MOST_LINES]],
    }


def _gate(gate: GateResult) -> dict[str, Json]:
    """Only the lines that did not pass."""
    bad = [msgspec.to_builtins(line) for line in gate.lines if line.status != "passed"]
    compared = gate.comparison
    return {"candidate": compared.candidate, "baseline": compared.baseline, "status": gate.status, "lines": bad[:MOST_LINES]}
