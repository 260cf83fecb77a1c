"""Trials as CSV (RFC 4180) that is safe to open in a spreadsheet.

A cell of text that a spreadsheet would take for a formula gets an apostrophe
in front. Numbers stay numbers; what is not known is empty.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

from flowgauge.model.bench import Trial, judge_cost_usd
from flowgauge.report import words
from flowgauge.report.bench_source import Source, text_of, why
from flowgauge.report.bench_tables import check_names, score_names

_FORMULA = re.compile("[ \u00a0\ufeff]*[=+\\-@\t\r\n\uff1d\ufe66\uff0b\ufe62\uff0d\ufe63\uff20\ufe6b]")
"""How a formula may begin: also behind blanks, and in the wide and small forms of the signs."""
CELL_CHARS = 32_000
"""A spreadsheet's cell holds 32,767."""

COLUMNS: dict[str, Callable[[Trial], Any]] = {
    "run_id": lambda trial: trial.run_id,
    "position": lambda trial: trial.position,
    "config": lambda trial: trial.config,
    "case": lambda trial: trial.case,
    "repetition": lambda trial: trial.repetition,
    "status": lambda trial: trial.answer.status,
    "ok": lambda trial: int(trial.ok),
    "passed": lambda trial: None if trial.passed is None else int(trial.passed),
    "failure_category": lambda trial: trial.failure_category,
    "error": why,
    "started_at": lambda trial: trial.answer.started_at,
    "duration_ms": lambda trial: trial.answer.duration_ms,
    "queue_ms": lambda trial: trial.answer.queue_ms,
    "backoff_ms": lambda trial: trial.answer.backoff_ms,
    "score_ms": lambda trial: trial.score_ms,
    "first_token_ms": lambda trial: trial.answer.first_token_ms,
    "retries": lambda trial: trial.answer.retries,
    "tokens_prompt": lambda trial: trial.answer.tokens_prompt,
    "tokens_completion": lambda trial: trial.answer.tokens_completion,
    "cost_usd": lambda trial: trial.answer.cost_usd,
    "cost_source": lambda trial: trial.answer.cost_source,
    "judge_cost_usd": lambda trial: judge_cost_usd(trial.checks),
    "model": lambda trial: trial.answer.model,
    "cached": lambda trial: int(trial.answer.cached),
    "play_sid": lambda trial: trial.answer.play_sid,
    "output": lambda trial: text_of(trial.answer.output),
}


def safe_cell(value: Any) -> Any:
    """Text that cannot be a formula, and fits its cell."""
    if not isinstance(value, str):
        return value
    text = value.replace("\x00", "")
    return words.cut("'" + text if _FORMULA.match(text) else text, CELL_CHARS)


def write_csv(source: Source, out: BinaryIO) -> None:
    """A row a trial; a column for every score and check."""
    scores, checks = score_names(source.summary), check_names(source.summary)
    text = io.TextIOWrapper(out, encoding="utf-8", errors="replace", newline="", write_through=False)
    rows = csv.writer(text, quoting=csv.QUOTE_MINIMAL, lineterminator="\r\n")
    head = [*COLUMNS, *(f"score.{name}" for name in scores), *(f"check.{name}" for name in checks)]
    rows.writerow([safe_cell(name) for name in head])
    rows.writerows(_row(trial, scores, checks) for trial in source.trials())
    text.flush()
    text.detach()


def write_csv_for_excel(source: Source, out: BinaryIO) -> None:
    """With the mark by which Excel knows UTF-8."""
    out.write(b"\xef\xbb\xbf")
    write_csv(source, out)


def _row(trial: Trial, scores: Sequence[str], checks: Sequence[str]) -> list[Any]:
    results = {check.name or check.type: check for check in trial.checks}
    cells = [safe_cell(show(trial)) for show in COLUMNS.values()]
    cells += [trial.scores.get(name) for name in scores]
    for name in checks:
        result = results.get(name)
        cells.append(None if result is None or result.passed is None else int(result.passed))
    return cells
