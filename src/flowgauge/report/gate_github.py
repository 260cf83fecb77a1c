"""A comparison for GitHub Actions: the page of a step, and the lines that its log turns into annotations.

Text out; whoever runs the step writes it where GITHUB_STEP_SUMMARY says, and
prints the annotations where GITHUB_ACTIONS is set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from flowgauge.model.verdict import GateLine
from flowgauge.report import words
from flowgauge.report.compare_comment import pr_comment
from flowgauge.report.compare_lines import ranked_lines
from flowgauge.report.compare_sentences import is_open, verdict_sentence
from flowgauge.report.compare_source import CompareSource
from flowgauge.report.compare_words import in_words

MAX_SUMMARY_CHARS = 250_000
"""GitHub takes a mebibyte a step; a character has at most four bytes."""
MAX_OF_A_KIND = 10
"""GitHub shows no more of a kind and step, and says nothing about the rest."""
_KINDS = ("error", "warning", "notice")
_CALM = frozenset({"no_baseline", "self_baseline", "not_attempted"})
"""Nothing was compared, and nothing is wrong with that."""
_MESSAGE_CHARS = 1_000


def github_summary(source: CompareSource) -> str:
    """Markdown for the file that GITHUB_STEP_SUMMARY names: the comment, with more room."""
    return pr_comment(source, MAX_SUMMARY_CHARS)


def github_annotations(source: CompareSource) -> list[str]:
    """Lines for the log: what failed as errors, what is open as warnings, the verdict as a notice where nothing failed.

    Without a gate nothing fails the step, so regressions are warnings.
    """
    found = sorted(_annotations(source), key=lambda one: _KINDS.index(one[0]))
    return annotation_lines(found)


def annotation_lines(found: Iterable[tuple[str, str, str]]) -> list[str]:
    """Of any kind (error, warning, notice), title and message, those of a kind together: as GitHub's runner reads them from a log."""
    return [line for kind, group in groupby(found, key=lambda one: one[0]) for line in _of_kind(kind, [rest for _, *rest in group])]


def _annotations(source: CompareSource) -> Iterator[tuple[str, str, str]]:
    worst = "error" if source.gate is not None else "notice" if source.comparison.attempt in _CALM else "warning"
    lines = ranked_lines(source)
    for line in lines:
        if line.status != "passed":
            yield worst, _title(line), line.words
        elif is_open(line):
            yield "warning", _title(line), line.words
    if all(line.status == "passed" for line in lines):
        yield "notice", "Flowgauge", verdict_sentence(source)


def _title(line: GateLine) -> str:
    return f"{line.subject}: {in_words(line.verdict)}"


def _of_kind(kind: str, found: list[list[str]]) -> Iterable[str]:
    shown = found if len(found) <= MAX_OF_A_KIND else found[: MAX_OF_A_KIND - 1]
    for title, message in shown:
        yield f"::{kind} title={_property(title)}::{_data(message)}"
    if len(shown) < len(found):
        yield f"::{kind} title=Flowgauge::{len(found) - len(shown):,} more like these; the step's summary lists them."


def _data(value: str) -> str:
    """What stands behind the command: line ends would end it, and a percent sign means a code."""
    told = words.cut(value, _MESSAGE_CHARS).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return words.printable(told)


def _property(value: str) -> str:
    """What stands inside the command: colons and commas would end it, too."""
    return _data(value).replace(":", "%3A").replace(",", "%2C")
