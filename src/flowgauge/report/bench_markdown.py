"""A bench as Markdown: for a terminal's scrollback, a pull request, a wiki.

What models and users wrote is escaped, so that it can neither leave its cell
nor become markup, a picture or a mention.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from flowgauge.report import bench_tables
from flowgauge.report.bench_source import Source, first_errors
from flowgauge.report.markdown import code, escape, section


def bench_markdown(source: Source) -> str:
    """The whole report."""
    return "\n".join(_lines(source)).rstrip() + "\n"


def write_markdown(source: Source, out: BinaryIO) -> None:
    """The same, as bytes."""
    out.write(bench_markdown(source).encode("utf-8", "replace"))


def _lines(source: Source) -> Iterator[str]:
    summary = source.summary
    yield f"# Bench {escape(summary.bench.bench_id)}"
    yield ""
    yield f"{bench_tables.headline(summary)}."
    yield from section("", bench_tables.comparison(summary))
    yield from _winners(source)
    examples = first_errors(source)
    yield from section("Failures", bench_tables.failures(source, examples))
    yield from section("By case", bench_tables.cases(summary))
    yield from section("By node", bench_tables.nodes(summary))
    yield from section("Agreement with human labels", bench_tables.agreement(summary))
    if summary.notes:
        yield from ("", "## Notes", "", *(f"- {escape(note)}" for note in summary.notes))
    yield from ("", "## How to repeat it", "")
    yield from (f"- {name}: {code(value)}" for name, value in bench_tables.facts(source))


def _winners(source: Source) -> Iterator[str]:
    found = bench_tables.winners(source.summary)
    if found:
        yield from ("", "## Winners", "")
    for winner in found:
        mark = "" if winner.significant or winner.tie else " (?)"
        yield f"- **{winner.title}{mark}**: {escape(winner.config)}, {winner.value} – {escape(winner.rest)}"
    if source.summary.pareto:
        front = ", ".join(escape(name) for name in source.summary.pareto)
        yield f"- **Pareto front** (no other is better in quality, cost and latency at once): {front}"
