"""A bench as JUnit XML: a test suite a configuration, a test case a trial.

`failure` is the target's: a wrong answer, a crash, a time-out of its own.
`error` is not: the provider, the network, the machine, a check that broke.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import IO, BinaryIO

from flowgauge.model.bench import Trial
from flowgauge.report import words
from flowgauge.report.bench_source import NOT_THE_TARGET, Source, text_of, why
from flowgauge.report.xml_text import quoted, text

SPOOL_BYTES = 1_000_000


class _Suite:
    """One configuration's cases, written aside until its counts are known."""

    def __init__(self, name: str, cases: IO[bytes]) -> None:
        self.name = name
        self.cases = cases
        self.counts: Counter[str] = Counter()
        self.seconds = 0.0

    def add(self, bench: str, trial: Trial) -> None:
        verdict = _verdict(trial)
        self.counts.update(["tests", verdict])
        self.seconds += trial.answer.duration_ms / 1000
        self.cases.write(_case(bench, trial, verdict).encode("utf-8", "replace"))

    def attributes(self) -> str:
        return _counts(self.counts, self.seconds)


def write_junit(source: Source, out: BinaryIO) -> None:
    """One pass over the trials; each configuration's part goes through a file of its own where it is large."""
    bench = source.summary.bench
    with ExitStack() as spools:
        suites: dict[str, _Suite] = {}
        for trial in source.trials():
            if trial.config not in suites:
                suites[trial.config] = _Suite(trial.config, spools.enter_context(tempfile.SpooledTemporaryFile(SPOOL_BYTES)))
            suites[trial.config].add(bench.name, trial)
        total = sum((suite.counts for suite in suites.values()), Counter[str]())
        seconds = sum(suite.seconds for suite in suites.values())
        out.write(
            f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name={quoted(bench.bench_id)} {_counts(total, seconds)}>\n'.encode()
        )
        for suite in suites.values():
            out.write(f"  <testsuite name={quoted(suite.name)} {suite.attributes()}{_timestamp(bench.created_at)}>\n".encode())
            suite.cases.seek(0)
            shutil.copyfileobj(suite.cases, out)
            out.write(b"  </testsuite>\n")
        out.write(b"</testsuites>\n")


def _verdict(trial: Trial) -> str:
    if trial.ok and not trial.failure_category:
        return "passed"
    return "errors" if trial.failure_category in NOT_THE_TARGET else "failures"


def _counts(counts: Counter[str], seconds: float) -> str:
    return f'tests="{counts["tests"]}" failures="{counts["failures"]}" errors="{counts["errors"]}" skipped="0" time="{seconds:.3f}"'


def _timestamp(milliseconds: int) -> str:
    if not milliseconds:
        return ""
    return f' timestamp="{datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")}"'


def _case(bench: str, trial: Trial, verdict: str) -> str:
    name = f"{trial.case} #{trial.repetition + 1}"
    head = f"    <testcase classname={quoted(f'{bench}.{trial.config}')} name={quoted(name)}"
    lines = [f'{head} time="{trial.answer.duration_ms / 1000:.6f}">']
    lines.append(f'      <properties><property name="run_id" value={quoted(trial.run_id)}/></properties>')
    if verdict != "passed":
        lines += _failure(trial, "error" if verdict == "errors" else "failure")
    lines.append("    </testcase>\n")
    return "\n".join(lines)


def _failure(trial: Trial, tag: str) -> list[str]:
    message = why(trial) or trial.failure_category or trial.answer.status
    detail = trial.answer.error.detail if trial.answer.error else ""
    kind = quoted(trial.failure_category or trial.answer.status)
    lines = [f"      <{tag} type={kind} message={quoted(words.one_line(message, 400))}>{text(detail or message)}</{tag}>"]
    output = text_of(trial.answer.output)
    if output:
        lines.append(f"      <system-out>{text(output)}</system-out>")
    return lines
