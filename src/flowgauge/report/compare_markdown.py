"""A comparison as Markdown: for a log, a file, a terminal that is none. The same as on a terminal, whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from flowgauge.report import compare_tables as tables
from flowgauge.report.compare_sentences import counts, verdict_sentence
from flowgauge.report.compare_source import CompareSource
from flowgauge.report.markdown import code, escape, section


def compare_markdown(source: CompareSource) -> str:
    """The whole report."""
    return "\n".join(_lines(source)).rstrip() + "\n"


def write_markdown(source: CompareSource, out: BinaryIO) -> None:
    """The same, as bytes."""
    out.write(compare_markdown(source).encode("utf-8", "replace"))


def _lines(source: CompareSource) -> Iterator[str]:
    comparison = source.comparison
    title = "Gate" if source.gate is not None else "Comparison"
    yield f"# {title}: {escape(comparison.candidate)}" + (f" against {escape(comparison.baseline)}" if comparison.baseline else "")
    yield from ("", f"**{escape(verdict_sentence(source))}**")
    yield from (f"\n{line}." for line in counts(comparison) if line)
    yield from section("Gate", tables.gate_lines(source))
    yield from section("Metrics", tables.metrics(comparison))
    yield from section("Pass rate", tables.pass_rate(comparison))
    yield from section("Cases that are not stable", tables.notable_rates(comparison))
    if tables.notable_rates(comparison) is None and tables.quiet_cases(comparison):
        yield from ("", *(f"- {escape(line)}" for line in tables.quiet_cases(comparison)))
    yield from section("Nodes that moved", tables.nodes(comparison))
    yield from section("Failures", tables.drift(comparison))
    yield from section("Not alike", tables.differences(comparison))
    if comparison.notes:
        yield from ("", "## Notes", "", *(f"- {escape(note)}" for note in comparison.notes))
    yield from section("How it was judged", tables.methods(comparison))
    yield from ("", *(f"- {name}: {code(value)}" for name, value in tables.facts(source)))
