"""A perf run as text, for a terminal and for a log."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from io import StringIO

from rich.console import Console

from flowgauge.perf.files import BUILT_IN, Compared, Judgement, Manifest, Metrics, MetricsRow, Series, SeriesRow, Summary
from flowgauge.report import words
from flowgauge.report.fitting import Fitting
from flowgauge.report.grid import Grid

WIDTH = 140
MOST_FAILURES = 12
NUMBERS = ("runs", "success", "repeats", "p50", "p95", "steps", "tools", "tokens", "artifacts")
_MARKS = {"steady": "✓", "drifting": "✗", "not_measured": "–"}


def text(manifest: Manifest, summary: Summary, metrics: Metrics, series: Series, folder: str, width: int = WIDTH) -> str:
    """All that a person wants to know at the end of a run."""
    parts = [
        headline(manifest, summary),
        _table(metrics_grid(metrics), width),
        *_titled("Failures", [*failures(series.rows), *record_hint(manifest, series.rows)]),
        *_titled("Drift", [f"{_MARKS[finding.state]} {finding.line}" for finding in summary.drift]),
        *_titled("Thresholds", [f"{threshold_mark(judgement)} {judgement.line}" for judgement in summary.thresholds]),
        *_titled(f"Against {summary.compared_with}", [f"{compared_mark(line)} {line.line}" for line in summary.comparison]),
        *_titled("Written", _written(manifest, summary, folder)),
    ]
    return "\n".join(parts)


def headline(manifest: Manifest, summary: Summary) -> str:
    """The run in two lines."""
    counts, start = summary.summary, summary.start_up
    first = [
        manifest.scenario.name,
        f"{counts.passed:,} of {counts.total:,} episodes succeeded",
        words.plural(counts.workers, "worker"),
        words.duration(summary.duration_s * 1000),
    ]
    second = [
        f"p50 {seconds(counts.p50_wall_clock_s)}, p95 {seconds(counts.p95_wall_clock_s)}, most {seconds(summary.max_wall_clock_s)}",
        f"{words.size(summary.run_artifacts.total_bytes)} of artifacts",
        f"start-up {seconds(start.total_s)}, in no episode's time",
    ]
    if start.workers_replaced:
        second.append(f"{words.plural(start.workers_replaced, 'worker')} replaced")
    if summary.mean_time_to_recovery_s is not None:
        second.append(f"mean time to recovery {seconds(summary.mean_time_to_recovery_s)}")
    return " · ".join(first) + "\n" + " · ".join(second)


def metrics_grid(metrics: Metrics) -> Grid:
    """A row for each task and agent."""
    return Grid(("task", "agent", *NUMBERS), frozenset(NUMBERS), tuple(map(_cells, metrics.rows)))


def failures(rows: Sequence[SeriesRow]) -> list[str]:
    """What went wrong, on which task, how often; the words of the first of each."""
    groups: dict[tuple[str, str, str], list[SeriesRow]] = defaultdict(list)
    for row in rows:
        if not row.success:
            groups[row.task_ref, row.agent, row.termination_reason].append(row)
    told = [_failure(group) for group in groups.values()]
    return told[:MOST_FAILURES] + ([f"… and {len(told) - MOST_FAILURES} more kinds"] if len(told) > MOST_FAILURES else [])


def record_hint(manifest: Manifest, rows: Sequence[SeriesRow]) -> list[str]:
    """How to keep the first failure that left a trace, for a replay."""
    first = next((row for row in rows if not row.success and row.steps is not None), None)
    if first is None:
        return []
    target = [] if manifest.scenario.file == BUILT_IN else [manifest.scenario.file]
    command = ["flowgauge", "record", *target, "--episode", str(first.episode), "-o", f"episode-{first.episode}.zip"]
    return [f"to keep one for a replay: {shlex.join(command)}"]


def broken_lines(summary: Summary) -> list[str]:
    """Why a run does not pass."""
    broken = [f"threshold: {judgement.line}" for judgement in summary.thresholds if judgement.broken]
    return broken + [f"compare: {line.line}" for line in summary.comparison if line.status != "passed"]


def seconds(value: float | None) -> str:
    """A length of time, or that it is unknown."""
    return "unknown" if value is None else words.duration(value * 1000)


def _cells(row: MetricsRow) -> tuple[str, ...]:
    tokens = "unknown" if row.tokens_used_total is None else f"{row.tokens_used_total:,}" if row.tokens_used_total else "–"
    return (
        row.task_ref,
        row.agent,
        f"{row.run_count:,}",
        words.percent(row.success_rate),
        "–" if row.reproducibility_rate is None else words.percent(row.reproducibility_rate),
        seconds(row.p50_wall_clock_s),
        seconds(row.p95_wall_clock_s),
        _count(row.steps_p50),
        _count(row.tool_calls_p50),
        tokens,
        words.size(row.artifact_bytes_total),
    )


def _written(manifest: Manifest, summary: Summary, folder: str) -> list[str]:
    artifacts = [f"{summary.run_artifacts.root}/"] if summary.run_artifacts.file_count else []
    return [f"{folder}/{name}" for name in (*manifest.artifact_set, *artifacts)]


def _failure(rows: Sequence[SeriesRow]) -> str:
    first = rows[0]
    where = f"episode {first.episode}, seed {first.seed}" + (f", and {len(rows) - 1} more" if len(rows) > 1 else "")
    return f"{first.task_ref} · {first.agent}: {first.termination_reason}: {words.one_line(first.error or '', 200)} ({where})"


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def threshold_mark(judgement: Judgement) -> str:
    """What measured nothing is not shown as kept."""
    return "✗" if judgement.broken else "–" if judgement.value is None else "✓"


def compared_mark(line: Compared) -> str:
    """What is undecided is not shown as passed."""
    return "?" if line.verdict == "inconclusive" else {"passed": "✓", "failed": "✗"}.get(line.status, "–")


def _titled(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"\n{title}"
        yield from (f"  {line}" for line in lines)


def _table(grid: Grid, width: int) -> str:
    table = Fitting(*grid.columns, right=NUMBERS, spare=("artifacts", "tokens", "tools", "steps"))
    for row in grid.rows:
        table.add_row(*row)
    out = StringIO()
    Console(file=out, width=width, color_system=None).print(table)
    return "\n" + out.getvalue().rstrip("\n")
