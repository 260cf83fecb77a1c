"""A gate as JUnit XML: one suite, a test case a line of the gate.

What failed is a `failure`, what was not measured an `error`. What is undecided
is `skipped`, with what would decide it: neither a pass nor a failure. A
comparison without a gate is told the same way, by its verdicts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

from flowgauge.model.verdict import GateLine
from flowgauge.report import words
from flowgauge.report.compare_lines import ranked_lines
from flowgauge.report.compare_sentences import is_open, verdict_sentence
from flowgauge.report.compare_source import CompareSource
from flowgauge.report.xml_text import quoted, text

_TAGS = {"failed": "failure", "not_measured": "error"}
_COUNTED = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def write_junit(source: CompareSource, out: BinaryIO) -> None:
    """The whole file."""
    out.writelines(part.encode("utf-8", "replace") for part in _parts(source))


def _parts(source: CompareSource) -> Iterator[str]:
    lines = ranked_lines(source)
    counts = Counter(_COUNTED[tag] for tag in map(_tag, lines) if tag)
    attributes = f'tests="{len(lines)}" failures="{counts["failures"]}" errors="{counts["errors"]}" skipped="{counts["skipped"]}" time="0"'
    name = f"{'gate' if source.gate is not None else 'comparison'}: {source.comparison.candidate}"
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="flowgauge" {attributes}>\n'
    yield f"  <testsuite name={quoted(name)} {attributes}>\n"
    yield f'    <properties>\n      <property name="baseline" value={quoted(source.comparison.baseline)}/>\n'
    yield f'      <property name="commit" value={quoted(source.short_commit)}/>\n    </properties>\n'
    yield from (_case(line) for line in lines)
    yield f"    <system-out>{text(verdict_sentence(source))}</system-out>\n  </testsuite>\n</testsuites>\n"


def _tag(line: GateLine) -> str:
    return "skipped" if is_open(line) else _TAGS.get(line.status, "")


def _case(line: GateLine) -> str:
    head = f'    <testcase classname={quoted(f"gate.{line.rule}".rstrip("."))} name={quoted(line.subject)} time="0"'
    tag = _tag(line)
    if not tag:
        return f"{head}><system-out>{text(line.words)}</system-out></testcase>\n"
    kind = "" if tag == "skipped" else f" type={quoted(line.verdict)}"
    message = quoted(words.one_line(line.words, 400))
    return f"{head}><{tag}{kind} message={message}>{text(line.words)}</{tag}></testcase>\n"
