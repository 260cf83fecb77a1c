"""A review for people: lines for a terminal, a comment for a pull request, annotations for a log of GitHub Actions.

The comment begins with a hidden mark, by which the next run finds it and puts its
own in its place. What programs, files and revisions say is escaped: it can
neither leave its place nor become markup, a link or a mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.text import Text

from flowgauge.registry.review.decision import Decision, Review, Step, StepStatus
from flowgauge.report import words
from flowgauge.report.markdown import cell, code, escape

MARK = "<!-- flowgauge-review -->"
"""The first line of the comment."""
MAX_CHARS = 65_536
"""What GitHub takes for the body of a comment."""
_OUTPUT_CHARS, _FILES_SHOWN, _WORDS_CHARS = 4_000, 30, 1_000
_MARKS: dict[StepStatus, tuple[str, str]] = {
    "passed": ("✓", "green"),
    "failed": ("✗", "red"),
    "not_measured": ("?", "yellow"),
    "left_out": ("–", "dim"),
}
_DECISIONS: dict[Decision, tuple[str, str, str]] = {
    "approve": ("approved", "green", "TIP"),
    "steward": ("for a steward", "yellow", "IMPORTANT"),
    "reject": ("rejected", "red", "CAUTION"),
    "not_measured": ("not measured", "yellow", "WARNING"),
}
_ANNOTATED: dict[StepStatus, str] = {"failed": "error", "not_measured": "warning"}


def in_words(status: str) -> str:
    """not_measured → not measured."""
    return status.replace("_", " ")


def size_words(review: Review) -> str:
    """3 files, +40 −2 lines, 1 renamed: simple."""
    diff = review.diff
    if diff is None:
        return "its size is not known"
    parts = [words.plural(diff.files, "file"), f"+{diff.added:,} −{diff.deleted:,} lines"]
    counted = ((diff.renamed, "renamed"), (diff.removed, "deleted"), (diff.binary, "binary"))
    parts += [f"{count} {noun}" for count, noun in counted if count]
    parts += [words.plural(diff.submodules, "submodule")] if diff.submodules else []
    return f"{', '.join(parts)}: {diff.complexity}"


def step_lines(step: Step) -> Iterator[Text]:
    """One line a step, one a check, and the end of what a program wrote where it did not pass."""
    mark, style = _MARKS[step.status]
    took = f"  {words.duration(step.duration_ms)}" if step.command else ""
    command = f"  {words.one_line(step.command, 120)}" if step.command else ""
    told = f"  {in_words(step.status)}: {words.one_line(step.reason, 500)}" if step.reason and not step.checks else ""
    yield Text.assemble((f"{mark} {step.name}", style), command, took, told or ("  left out" if step.status == "left_out" else ""))
    for check in step.checks:
        mark, style = _MARKS[check.status]
        yield Text.assemble((f"    {mark} {check.subject}", style), f"  {words.one_line(check.words, 500)}")
    if step.status != "passed" and step.output:
        yield from (Text(f"    {words.printable(line)}", style="dim") for line in step.output.splitlines()[-20:])


def decision_lines(review: Review) -> Iterator[Text]:
    """The size, notes, and what was decided."""
    yield Text(f"{_range(review)}: {size_words(review)}")
    yield from (Text(note, style="dim") for note in review.notes)
    told, style, _ = _DECISIONS[review.decision]
    yield Text.assemble((told, f"bold {style}"), f": {review.reason}")


def comment(review: Review, max_chars: int = MAX_CHARS) -> str:
    """Markdown for the pull request; what programs wrote is left out where it would be too long."""
    for outputs in (True, False):
        told = "".join(_comment(review, outputs=outputs))
        if len(told) <= max_chars:
            return told
    return told[:max_chars].rpartition("\n")[0]


def annotated(review: Review) -> list[tuple[str, str, str]]:
    """Kind, title and message: errors first, the decision as a notice where nothing stands against it."""
    found = [(_ANNOTATED[each.status], f"review, {each.step}: {in_words(each.status)}", each.words) for each in review.findings]
    found.sort(key=lambda one: one[0])
    return found or [("notice", f"review: {_DECISIONS[review.decision][0]}", f"{size_words(review)}. {review.reason}")]


def _range(review: Review) -> str:
    head = review.head_sha[:12] + ("+" if review.head_sha.endswith("+") else "")
    return f"{review.merge_base[:12]}..{head}"


def _comment(review: Review, *, outputs: bool) -> Iterator[str]:
    told, _, alert = _DECISIONS[review.decision]
    yield f"{MARK}\n### Flowgauge review {code(_range(review))}: {told}\n"
    yield f"\n> [!{alert}]\n> {escape(review.reason)}\n"
    yield f"\nAgainst {code(words.cut(review.base, 100))}: {escape(size_words(review))}.\n"
    yield "\n| step | result | |\n|---|---|---|\n"
    for step in review.steps:
        yield _row(step.name, step.status, step.reason if not step.checks else "")
        yield from (_row(f"{step.name}: {each.subject}", each.status, each.words) for each in step.checks)
    yield from (f"\n{escape(note)}\n" for note in review.notes)
    for step in review.steps:
        if outputs and step.output and step.status != "passed":
            yield from _output(step)
    yield from _files(review)


def _row(what: str, status: StepStatus, told: str) -> str:
    return f"| {cell(what, 200)} | {_MARKS[status][0]} {in_words(status)} | {cell(told, _WORDS_CHARS)} |\n"


def _output(step: Step) -> Iterator[str]:
    """In a block that nothing in it can close."""
    said = words.printable(step.output[-_OUTPUT_CHARS:])
    longest = max((len(run) for run in re.findall("`+", said)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"\n<details><summary>{step.name}</summary>\n\n{code(words.cut(step.command, 300))}\n\n"
    yield f"{fence}text\n{said}\n{fence}\n\n</details>\n"


def _files(review: Review) -> Iterator[str]:
    if review.diff is None or not review.diff.changes:
        return
    yield f"\n<details><summary>{words.plural(review.diff.files, 'file')}</summary>\n\n| file | | lines |\n|---|---|---:|\n"
    for each in review.diff.changes[:_FILES_SHOWN]:
        name = f"{each.old_path} → {each.path}" if each.old_path else each.path
        uncounted = "submodule" if each.submodule else "binary"
        lines = uncounted if each.added is None else f"+{each.added:,} −{each.deleted or 0:,}"
        yield f"| {cell(name, 200)} | {each.kind} | {lines} |\n"
    if review.diff.files > _FILES_SHOWN:
        yield f"\n… and {review.diff.files - _FILES_SHOWN:,} more.\n"
    yield "\n</details>\n"
