"""Thresholds: what a run is held to, and whether it keeps it.

In: lines such as `max_wall_clock_s <= 15` that name a figure of the summary, or
one of the sentences, from flags and a file; and the run. Out: judgements. A
figure that is unknown keeps no threshold. A line that names nothing is refused.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from flowgauge.documents.document import scan_document
from flowgauge.documents.findings import Findings
from flowgauge.errors import UsageError
from flowgauge.lang.wording import did_you_mean
from flowgauge.perf.files import Judgement, Summary
from flowgauge.perf.trend import GROWTH_IS_LINEAR, SENTENCES, SLICE, SUCCESS_HOLDS, TAIL_HOLDS, Measured, had_failures, judge_trend
from flowgauge.report import words

NEW_REASONS = "no new failure_reasons"
SLICE_LINES = (
    "failure_count == 0",
    "max_wall_clock_s <= 15",
    "run_artifacts.total_bytes <= 2_000_000",
    "run_artifacts.avg_bytes <= 150_000",
    NEW_REASONS,
)
LONG_LINES = (
    "failure_count == 0",
    "run_artifacts.avg_bytes <= 150_000",
    NEW_REASONS,
    SUCCESS_HOLDS,
    GROWTH_IS_LINEAR,
    TAIL_HOLDS,
)
_ABOUT_SUCCESS = frozenset({"failure_count", "success_rate", "success_count", "summary.failed", "summary.passed"})
"""To say one of them is to say how often it may fail."""
_LINE = re.compile(r"\s*([a-z][a-z0-9_.]*)\s*(<=|>=|==|!=|<|>)\s*(-?[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)\s*")
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}


class Threshold(msgspec.Struct, frozen=True):
    """One line, read. `figure` is a way into the summary; empty: the line is a sentence."""

    text: str
    figure: str = ""
    sign: str = ""
    bound: float = 0.0


def read_threshold(text: str) -> Threshold:
    """Raises UsageError for a line that says nothing."""
    if (sentence := " ".join(text.split())) in (NEW_REASONS, *SENTENCES):
        return Threshold(sentence)
    found = _LINE.fullmatch(text)
    if found is None:
        raise UsageError(f"'{text}' is no threshold.", remedy="Write FIGURE<=NUMBER, such as max_wall_clock_s<=15.")
    figure, sign, number = found.groups()
    if figure not in figures():
        raise UsageError(f"There is no figure '{figure}' in the summary.", remedy=did_you_mean(figure, figures()))
    return Threshold(f"{figure} {sign} {number}", figure, sign, float(number))


def read_threshold_file(path: Path) -> tuple[Threshold, ...]:
    """A YAML or JSON file with a list of lines under `thresholds`. Raises BadFile with every mistake."""
    document = scan_document(path)
    findings = Findings(document.file, document.find)
    findings.problems.extend(document.problems)
    value = document.value
    lines = value.get("thresholds") if isinstance(value, dict) and set(value) == {"thresholds"} else None
    if not isinstance(lines, list):
        findings.add((), "Expected one key, `thresholds`, with a list.", "Write `thresholds:` and a `- max_wall_clock_s <= 15` a line.")
        findings.raise_any()
        return ()
    read: list[Threshold] = []
    for number, line in enumerate(lines):
        try:
            read.append(read_threshold(str(line)))
        except UsageError as error:
            findings.add(("thresholds", number), error.message, error.remedy)
    findings.raise_any()
    return tuple(read)


def chosen(
    episodes: int, from_file: Sequence[Threshold] | None, flags: Iterable[Threshold], reference: Summary | None = None
) -> tuple[Threshold, ...]:
    """A file stands instead of the defaults; a flag instead of every line about the same figure.

    A flag about success stands instead of all defaults about success. A long run that is held against one with failures may fail, too.
    """
    given = tuple(flags)
    named = {threshold.figure for threshold in given}
    base = _defaults(episodes, named, reference) if from_file is None else tuple(from_file)
    return (*(threshold for threshold in base if not threshold.figure or threshold.figure not in named), *given)


def _defaults(episodes: int, named: set[str], reference: Summary | None) -> tuple[Threshold, ...]:
    left_out: set[str] = set()
    if named & _ABOUT_SUCCESS:
        left_out = {"failure_count == 0", SUCCESS_HOLDS}
    elif episodes > SLICE and had_failures(reference):
        left_out = {"failure_count == 0"}
    return tuple(read_threshold(line) for line in (SLICE_LINES if episodes <= SLICE else LONG_LINES) if line not in left_out)


def judge(run: Measured, thresholds: Iterable[Threshold]) -> tuple[Judgement, ...]:
    """All of them, in their order."""
    values = _flat(run.summary)
    return tuple(
        _judged(threshold, values[threshold.figure]) if threshold.figure else _sentence(threshold.text, run) for threshold in thresholds
    )


def figures() -> list[str]:
    """All that a threshold can name."""
    return [name for name, _ in _leaves(Summary, "")]


def _leaves(struct: Any, prefix: str) -> Iterable[tuple[str, Any]]:
    for field in msgspec.structs.fields(struct):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from _leaves(field.type, f"{prefix}{field.name}.")
        elif field.name not in (
            "format",
            "stamp",
            "root",
            "provider",
            "available",
            "drift",
            "thresholds",
            "failure_reasons",
            "compared_with",
            "comparison",
        ):
            yield f"{prefix}{field.name}", field.type


def _flat(value: msgspec.Struct, prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in value.__struct_fields__:
        item = getattr(value, name)
        found |= _flat(item, f"{prefix}{name}.") if isinstance(item, msgspec.Struct) else {f"{prefix}{name}": item}
    return found


def _judged(threshold: Threshold, value: float | None) -> Judgement:
    if value is None:
        line = f"{threshold.text}: not measured"
        return Judgement(threshold=threshold.text, value=None, broken=True, line=line)
    broken = not _OPERATORS[threshold.sign](float(value), threshold.bound)
    shown = f"{value:,}" if isinstance(value, int) else words.number(value)
    return Judgement(threshold=threshold.text, value=float(value), broken=broken, line=f"{threshold.text}: it is {shown}")


def _sentence(text: str, run: Measured) -> Judgement:
    return _reasons(run) if text == NEW_REASONS else judge_trend(text, run)


def _reasons(run: Measured) -> Judgement:
    if run.reference is None:
        line = f"{NEW_REASONS}: no reference to hold them against"
        return Judgement(threshold=NEW_REASONS, value=None, broken=False, line=line)
    new = sorted(set(run.summary.failure_reasons) - set(run.reference.failure_reasons))
    line = f"{NEW_REASONS}: {', '.join(new) if new else 'none is new'}"
    return Judgement(threshold=NEW_REASONS, value=", ".join(new), broken=bool(new), line=line)
