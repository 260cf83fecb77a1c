"""Results files become nouns, or one BadFile that lists every mistake.

In: a path, and the format where it is known; else the content says it. Out:
every subject in the file. Refuses a file of no known format, and two subjects
of one name. A file without any result is not measured, which is no mistake.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flowgauge.define.ingest.format import Format, Found
from flowgauge.define.ingest.ingested import Ingested, thinned
from flowgauge.define.ingest.results_file import ResultsFile
from flowgauge.define.ingest.table import FORMATS
from flowgauge.documents.document import Way, spell_way
from flowgauge.documents.findings import Findings
from flowgauge.errors import BadFile, NotMeasured, UsageError
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.problem import Problem


def read_results(
    path: str | Path,
    format: str | None = None,  # noqa: A002 - the name that the command line has for it
) -> tuple[Ingested, ...]:
    """Everything that a file measures. Raises BadFile, and NotMeasured where it holds nothing."""
    if format is not None and format not in FORMATS:
        raise UsageError(f"There is no format '{format}'.", remedy=did_you_mean(format, FORMATS))
    results = ResultsFile(path, _expected())
    chosen = FORMATS[format] if format else _detected(results.value, results.file)
    findings = Findings(results.file, results.locate)
    found = [(way, thinned(each)) for way, each in chosen.read(results.value, findings)]
    _refuse_twins(found, findings)
    findings.raise_any()
    if not found:
        raise NotMeasured(f"{results.file} holds no result.", remedy="See whether every benchmark failed.")
    return tuple(each for _, each in found)


def _expected() -> str:
    return "Expected is one of: " + "; ".join(f"{each.name} ({each.made_by})" for each in FORMATS.values()) + "."


def _detected(value: Any, file: str) -> Format:
    for each in FORMATS.values():
        if each.looks_like(value):
            return each
    if value == []:
        raise NotMeasured(f"{file} holds no result.", remedy=_expected())
    raise BadFile(file, [Problem(0, "", "These are no results that can be read.", _expected())])


def _refuse_twins(found: list[Found], findings: Findings) -> None:
    first: dict[str, Way] = {}
    for way, each in found:
        before = first.setdefault(each.subject, way)
        if before is not way:
            where = spell_way(before)
            findings.add(way, f"'{each.subject}' was measured already: {where}.", "Give each a name of its own; hyperfine does so with -n.")
