"""Rows and samples of a run become its summary. Pure; thresholds are judged on what comes out of here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from flowgauge.perf.drift import findings
from flowgauge.perf.files import Counts, RunArtifacts, Sample, SeriesRow, StartUp, Summary, Verbosity
from flowgauge.perf.metrics import tokens_total
from flowgauge.perf.recovery import mean_time_to_recovery_s
from flowgauge.perf.sampling import system_summary
from flowgauge.stats.describe import describe


def summarise(
    stamp: str,
    rows: Sequence[SeriesRow],
    *,
    workers: int,
    duration_s: float,
    samples: list[Sample],
    start_up: StartUp,
    run_artifacts: RunArtifacts,
    recovered: Sequence[SeriesRow],
    earlier_rss_bytes: Sequence[int],
) -> Summary:
    """`recovered`: repeats and rows of earlier runs, in which a failure of this scenario may have come right again."""
    times = describe([row.wall_clock_s for row in rows], (0.5, 0.95))[0] if rows else None
    passed = sum(row.success for row in rows)
    return Summary(
        stamp=stamp,
        summary=Counts(
            total=len(rows),
            passed=passed,
            failed=len(rows) - passed,
            workers=workers,
            p50_wall_clock_s=times.quantiles[0] if times else None,
            p95_wall_clock_s=times.quantiles[1] if times else None,
        ),
        episodes=len(rows),
        success_count=passed,
        failure_count=len(rows) - passed,
        success_rate=passed / len(rows) if rows else None,
        max_wall_clock_s=times.high if times else None,
        duration_s=duration_s,
        episodes_per_s=len(rows) / duration_s if rows and duration_s > 0 else None,
        failure_reasons=dict(sorted(Counter(row.termination_reason for row in rows if not row.success).items())),
        run_artifacts=run_artifacts,
        system_samples=system_summary(samples),
        telemetry_verbosity=_verbosity(rows),
        start_up=start_up,
        mean_time_to_recovery_s=mean_time_to_recovery_s([*rows, *recovered]),
        drift=findings(rows, samples, earlier_rss_bytes),
        thresholds=(),
    )


def _verbosity(rows: Sequence[SeriesRow]) -> Verbosity:
    total = sum(row.artifact_bytes for row in rows)
    entries = sum(row.llm_trace_entries for row in rows)
    return Verbosity(
        artifact_bytes_total=total,
        artifact_bytes_avg=total / len(rows) if rows else None,
        artifact_bytes_max=max((row.artifact_bytes for row in rows), default=None),
        llm_trace_entries_total=entries,
        llm_trace_entries_avg=entries / len(rows) if rows else None,
        prompt_bytes_total=sum(row.prompt_bytes for row in rows),
        completion_bytes_total=sum(row.completion_bytes for row in rows),
        tokens_used_total=tokens_total(rows),
    )
