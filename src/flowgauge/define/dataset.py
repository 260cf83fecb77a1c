"""Data set files become rows: CSV, TSV, JSONL, JSON, YAML, by the ending of the name.

In: a path and the inputs that the workflow declares. Out: rows, read one by one
where the format allows it. What is wrong is told to the source: a file that
cannot be read, and each row that does not fit.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from flowgauge.define.bench_file import normal_checks
from flowgauge.define.dataset_csv import read_csv
from flowgauge.define.dataset_rows import DatasetSource, Declared, Enough, Row, converted, misfits, row_case
from flowgauge.documents.document import Way, scan_document
from flowgauge.documents.findings import Findings
from flowgauge.errors import BadFile
from flowgauge.lang.wording import did_you_mean

Reader = Callable[[Path, Declared, DatasetSource], Iterator[Row]]
_BOM = b"\xef\xbb\xbf"


def read_dataset(folder: Path, reference: str, declared: Declared, findings: Findings, way: Way) -> Iterator[tuple[Row, DatasetSource]]:
    """The rows of one file that `way` names, each with the source to complain to."""
    ending = Path(reference).suffix.lower()
    source = DatasetSource(findings, way, reference, has_lines=ending != ".json")
    if ending not in READERS:
        findings.add(way, f"'{reference}' is no data set: its name ends in '{ending}'.", did_you_mean(ending, READERS))
        return
    count = 0
    try:
        for row in READERS[ending](folder / reference, declared, source):
            count += 1
            yield row, source
    except Enough:
        return
    except BadFile as error:
        for problem in error.problems:
            findings.add(way, f"{reference}:{problem}")
        return
    except (OSError, UnicodeDecodeError, csv.Error, msgspec.DecodeError, RecursionError) as error:
        findings.add(way, f"{reference}: {_in_words(error)}", _REMEDIES.get(type(error), "Check the file."))
        return
    if not count and not source.count:
        findings.add(way, f"{reference}: There are no rows in it.", "Add rows, or remove the data set.")


def _read_jsonl(path: Path, declared: Declared, source: DatasetSource) -> Iterator[Row]:
    decoder = msgspec.json.Decoder()
    with path.open("rb") as file:
        for at, raw in enumerate(file, 1):
            line = raw.removeprefix(_BOM).strip() if at == 1 else raw.strip()
            if not line:
                continue
            try:
                value = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                source.add(at, "", f"This is not JSON: {error}.", "Write one object a line.")
                continue
            yield from _row(value, at, declared, source)


def _read_json(path: Path, declared: Declared, source: DatasetSource) -> Iterator[Row]:
    yield from _listed(msgspec.json.decode(path.read_bytes().removeprefix(_BOM)), lambda number: number, declared, source)


def _read_yaml(path: Path, declared: Declared, source: DatasetSource) -> Iterator[Row]:
    document = scan_document(path)
    if document.problems:
        raise BadFile(document.file, document.problems)
    yield from _listed(document.value, lambda number: document.line_of((number,)), declared, source)


def _listed(value: Any, place: Callable[[int], int], declared: Declared, source: DatasetSource) -> Iterator[Row]:
    if not isinstance(value, list):
        source.findings.add(source.way, f"{source.reference}: Expected a list of rows.", "Write [{…}, {…}], or one `- ` a row.")
        raise Enough
    for number, item in enumerate(value):
        yield from _row(item, place(number), declared, source)


def _row(value: Any, at: int, declared: Declared, source: DatasetSource) -> Iterator[Row]:
    if not isinstance(value, dict):
        source.add(at, "", "A row must be a mapping of inputs to values.", 'Write {"input": value}.')
        return
    case = row_case(value, declared)
    if "checks" in case:
        case["checks"] = normal_checks(case["checks"])
    found = converted(case, at, source)
    if found is None:
        return
    for name, message, remedy in misfits(found.inputs, declared):
        source.add(at, name, message, remedy)
    yield Row(at, found)


def _in_words(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "There is no such file."
    if isinstance(error, OSError):
        return f"The file cannot be read: {error.strerror}."
    if isinstance(error, UnicodeDecodeError):
        return f"The file is not UTF-8: byte {error.object[error.start]:#04x}."
    if isinstance(error, csv.Error):
        return f"This is not CSV: {error}."
    return f"This is not JSON: {error}."


READERS: dict[str, Reader] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".json": _read_json,
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
}
_REMEDIES: dict[type[Exception], str] = {
    FileNotFoundError: "Check the path; it is looked for beside the bench file.",
    UnicodeDecodeError: "Save it as UTF-8.",
    csv.Error: "Close every quote, and double quotes inside quotes.",
}
