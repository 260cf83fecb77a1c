"""A perf run as one HTML file that needs nothing else: the verdict first, then what it was made of, with pictures.

No script at all, and no request leaves the page, by its own policy. Everything
that an agent, a model or a user wrote is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from flowgauge.perf.charts import not_drawn, perf_charts
from flowgauge.perf.files import Finding, Manifest, Metrics, Series, Summary
from flowgauge.perf.words import compared_mark, failures, metrics_grid, seconds, threshold_mark
from flowgauge.report import html_parts as html
from flowgauge.report import words
from flowgauge.report.grid import Grid

MOST_TOLD = 2
_STATES = {"steady": "✓ steady", "drifting": "✗ drifting", "not_measured": "– not measured"}
_TONES = {"✓ steady": "good", "✗ drifting": "bad", "– not measured": "dim", "✓ kept": "good", "✗ broken": "bad", "? undecided": "warn"}
_FOUND = {"✓": "✓ kept", "✗": "✗ broken", "–": "– not measured", "?": "? undecided"}


def page_html(manifest: Manifest, summary: Summary, metrics: Metrics, series: Series) -> str:
    """The whole page."""
    return "".join(_parts(manifest, summary, metrics, series))


def _parts(manifest: Manifest, summary: Summary, metrics: Metrics, series: Series) -> Iterator[str]:
    title = f"{manifest.scenario.name}: {summary.episodes:,} episodes"
    yield html.head(title, html.page_part("bench.css") + html.page_part("compare.css"))
    yield from _header(manifest, summary, title)
    yield _cards(summary)
    yield html.section("Tasks", html.grid_table(metrics_grid(metrics)) + _tasks_legend(manifest))
    yield _lines("Thresholds", [(line.line, _FOUND[threshold_mark(line)]) for line in summary.thresholds])
    if failed := failures(series.rows):
        yield html.section("Failures", html.bullets(failed, "plain"))
    yield from html.figures(lambda width: perf_charts(series, width))
    if missing := not_drawn(series):
        yield html.section("Pictures", html.bullets(missing, "plain"))
    yield _lines("Drift", [(finding.line, _STATES[finding.state]) for finding in summary.drift])
    yield _lines(f"Against {summary.compared_with}", [(line.line, _FOUND[compared_mark(line)]) for line in summary.comparison])
    yield html.section("How to repeat it", html.facts(list(_facts(manifest, summary))))
    yield "</main>\n</body>\n</html>\n"


def _header(manifest: Manifest, summary: Summary, title: str) -> Iterator[str]:
    under = f"{words.moment(_milliseconds(manifest.generated_at))} · {words.plural(manifest.workers, 'worker')} · {manifest.host.machine}"
    yield f'<header><h1>{html.safe(title)}</h1><p class="under">{html.safe(under)}</p>'
    if manifest.interrupted:
        yield f'<p class="alert">Interrupted: {summary.episodes:,} of {manifest.episodes:,} episodes had ended.</p>'
    yield "</header>\n"
    broken = [line.line for line in summary.thresholds if line.broken]
    worse = [line.line for line in summary.comparison if line.status == "failed"]
    mark, tone = ("✗", "bad") if broken or worse else ("✓", "good")
    counted = (f"{words.plural(len(broken), 'threshold')} broken" if broken else "", f"{len(worse)} worse than before" if worse else "")
    head = ", ".join(filter(None, counted)) or _kept(summary)
    told = "; ".join(_first([*broken, *worse])) or _drift_told(summary.drift)
    yield f'<div class="verdict {tone}" role="status"><span class="mark" aria-hidden="true">{mark}</span>'
    yield f"<h2>{html.safe(head)}</h2><p>{html.safe(told)}</p></div>\n"


def _kept(summary: Summary) -> str:
    """What measured nothing was not kept."""
    unmeasured = sum(line.value is None for line in summary.thresholds)
    kept = len(summary.thresholds) - unmeasured
    return f"{words.plural(kept, 'threshold')} kept, {unmeasured} not measured" if unmeasured else "All thresholds kept"


def _first(lines: Sequence[str]) -> list[str]:
    """Enough to know where to look; the rest stands below."""
    return [*lines[:MOST_TOLD], *([f"and {len(lines) - MOST_TOLD} more"] if len(lines) > MOST_TOLD else [])]


def _drift_told(drift: Sequence[Finding]) -> str:
    drifting = [finding.line for finding in drift if finding.state == "drifting"]
    if drifting:
        return "But look at: " + "; ".join(drifting)
    measured = sum(finding.state != "not_measured" for finding in drift)
    return f"{measured} of {len(drift)} questions about drift could be answered, and none is a worry."


def _cards(summary: Summary) -> str:
    counts, system = summary.summary, summary.system_samples
    cards = (
        (
            "Succeeded",
            words.percent(summary.success_rate),
            f"{counts.passed:,} of {counts.total:,} episodes, {_rate(summary.episodes_per_s)}",
        ),
        (
            "Wall clock",
            seconds(counts.p50_wall_clock_s),
            f"median; p95 {seconds(counts.p95_wall_clock_s)}, most {seconds(summary.max_wall_clock_s)}",
        ),
        ("Start-up", seconds(summary.start_up.total_s), f"in no episode's time; {summary.start_up.workers_replaced} workers replaced"),
        ("Memory", _size(system.process_rss_bytes), "at the most, with all workers"),
        ("Artifacts", words.size(summary.run_artifacts.total_bytes), f"{_size(summary.run_artifacts.avg_bytes)} an episode"),
    )
    parts = (
        f'<div><span class="title">{html.safe(title)}</span><b class="value">{html.safe(value)}</b><small>{html.safe(small)}</small></div>'
        for title, value, small in cards
    )
    return f'<div class="cards">{"".join(parts)}</div>\n'


def _tasks_legend(manifest: Manifest) -> str:
    again = (
        f"Repeats: {manifest.repeats} seeds of every row were run once more, and how many of them gave the same."
        if manifest.repeats
        else ""
    )
    return html.bullets([line for line in (again, "Steps and tools: medians.") if line], "legend")


def _lines(title: str, lines: Sequence[tuple[str, str]]) -> str:
    """A table of sentences and what was found; nothing where there is none."""
    if not lines:
        return ""
    grid = Grid(("found", "in words"), frozenset(), tuple((found, line) for line, found in lines))
    return html.section(title, html.grid_table(grid, {"found": _TONES}))


def _facts(manifest: Manifest, summary: Summary) -> Iterator[tuple[str, str]]:
    host = manifest.host
    yield "command", manifest.command
    yield "scenario", f"{manifest.scenario.file} ({manifest.scenario.hash[:12]})"
    yield "strict spec", "yes" if manifest.strict_spec else "no"
    yield "time limit", f"{manifest.timeout:g} s an episode"
    yield "machine", f"{host.cpu}, {words.plural(host.cores, 'core')}, {words.size(host.memory_bytes)}"
    yield "system", f"{host.os}, {host.python}"
    yield "versions", ", ".join(f"{name} {version}" for name, version in host.versions.items())
    yield "commit", host.git or "unknown"
    yield "run artifacts", f"{summary.run_artifacts.root}/, {words.plural(summary.run_artifacts.file_count, 'file')}"


def _milliseconds(moment: str) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


def _rate(value: float | None) -> str:
    return "unknown" if value is None else f"{words.number(value)}/s"


def _size(value: float | None) -> str:
    return "unknown" if value is None else words.size(value)
