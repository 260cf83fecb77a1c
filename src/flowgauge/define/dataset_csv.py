"""CSV and TSV: a row is a case, a column an input, `expected.*` gold, `tag.*` tags, `name` or `id` the case's name.

In: a path. Out: rows, one by one; nothing is kept. Cells are typed by the
declarations of the workflow; other cells are read as JSON where they are a
number, true, false, an object or an array, else as text. `:string` and the like
after a column's name say otherwise. An empty cell is not given.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from flowgauge.define.dataset_rows import DatasetSource, Declared, Row, naming_column, nest
from flowgauge.define.inputs import read_json
from flowgauge.lang.wording import did_you_mean, shown
from flowgauge.model.bench import Case
from flowgauge.model.workflow import Json
from flowgauge.nodes.inputs import FITS

DELIMITERS = (",", ";", "\t", "|")
LARGEST_CELL = 16_000_000
_SAMPLE = 65_536
_SAMPLE_ROWS = 20
_LARGEST_INTEGER = 2**63
_INPUT, _EXPECTED, _TAG, _NAME, _IGNORED = range(5)


class Misread(ValueError):
    """A cell that is not of its column's type."""


class _Column(msgspec.Struct, frozen=True):
    part: int
    keys: tuple[str, ...]
    read: Callable[[str], Json] | None
    """None: the text as it is."""


def read_csv(path: Path, declared: Declared, source: DatasetSource) -> Iterator[Row]:
    """The rows of a file; raises OSError, UnicodeDecodeError, csv.Error."""
    csv.field_size_limit(max(csv.field_size_limit(), LARGEST_CELL))
    with path.open(encoding="utf-8-sig", newline="") as file:
        sample = file.read(_SAMPLE)
        file.seek(0)
        delimiter = "\t" if path.suffix.lower() == ".tsv" else sniff(sample)
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        header = next((cells for cells in reader if cells), [])
        columns = _columns(header, declared, reader.line_num, source)
        if not source.count:
            yield from _rows(reader, columns, reader.line_num, source)


def sniff(sample: str) -> str:
    """The delimiter. Only what stands in the header outside quotes can be it; of several, the one that cuts all rows alike."""
    rows = {mark: _first_rows(sample, mark) for mark in DELIMITERS}
    found = [mark for mark in DELIMITERS if rows[mark] and len(rows[mark][0]) > 1]
    if len(found) < 2:
        return found[0] if found else ","
    alike = [mark for mark in found if len({len(cells) for cells in rows[mark]}) == 1]
    return max(alike or found, key=lambda mark: len(rows[mark][0]))


def _first_rows(sample: str, delimiter: str) -> list[list[str]]:
    """The last of a full sample may be cut off and is left out; so is what comes after a quote that does not close."""
    found: list[list[str]] = []
    try:
        for cells in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, strict=True):
            found += [cells] if cells else []
            if len(found) > _SAMPLE_ROWS:
                break
    except csv.Error:
        return found
    return found[:-1] if len(found) > 1 and len(sample) >= _SAMPLE else found


def _rows(reader: Any, columns: list[_Column], line: int, source: DatasetSource) -> Iterator[Row]:
    width = len(columns)
    try:
        for cells in reader:
            at, line = line + 1, reader.line_num
            if len(cells) > width and any(cells[width:]):
                source.add(
                    at, "", f"There are {len(cells)} cells, and {width} columns.", "Put a cell that contains the delimiter in quotes."
                )
            elif any(cells) or (cells and width == 1):
                yield Row(at, _case(cells, columns, at, source))
    except csv.Error as error:
        source.add(line + 1, "", f"This is not CSV: {error}.", "Close every quote, and double a quote inside quotes.")


def _case(cells: Iterable[str], columns: list[_Column], at: int, source: DatasetSource) -> Case:
    parts: tuple[dict[str, Json], ...] = ({}, {}, {}, {}, {})
    for cell, column in zip(cells, columns, strict=False):
        if not cell:
            continue
        try:
            value = cell if column.read is None else column.read(cell)
        except Misread as error:
            source.add(at, ".".join(column.keys), str(error), "Correct the cell.")
            continue
        if len(column.keys) == 1:
            parts[column.part][column.keys[0]] = value
        else:
            nest(parts[column.part], column.keys, value)
    return Case(name=parts[_NAME].get("name", ""), inputs=parts[_INPUT], expected=parts[_EXPECTED], tags=parts[_TAG])


def _columns(header: list[str], declared: Declared, at: int, source: DatasetSource) -> list[_Column]:
    names = [name.strip() for name in header]
    naming = naming_column([name.partition(":")[0] for name in names], declared or {})
    found: list[_Column] = []
    for number, name in enumerate(names):
        bare, _, kind = name.partition(":")
        if not name:
            source.warn(f"Column {number + 1} has no name and is left out.", "Give it one, or remove it.")
        elif name in names[:number]:
            source.add(at, name, "The column is there twice.", "Keep one of them.")
        if kind and kind not in _READERS:
            source.add(at, name, f"There is no type '{kind}'.", did_you_mean(kind, _READERS))
        found.append(_column(bare, kind, naming, declared))
        _check_column(found[-1], bare, declared, at, source)
    _check_nesting(found, at, source)
    return found


def _column(name: str, kind: str, naming: str, declared: Declared) -> _Column:
    if not name:
        return _Column(_IGNORED, ("",), None)
    if name == naming:
        return _Column(_NAME, ("name",), None)
    if name.startswith("tag."):
        return _Column(_TAG, (name[4:],), None)
    if name.startswith("expected."):
        return _Column(_EXPECTED, tuple(name.split(".")[1:]), _READERS.get(kind, _guess))
    name = name.removeprefix("inputs.")
    item = (declared or {}).get(name)
    return _Column(_INPUT, (name,), _READERS.get(kind or (item.type if item else ""), _guess))


def _check_column(column: _Column, name: str, declared: Declared, at: int, source: DatasetSource) -> None:
    """Is an input's column declared?"""
    if column.part == _INPUT and (column.keys[0] not in declared if declared is not None else name == "expected"):
        if name == "expected":
            source.add(at, name, "What is expected needs a name.", "Write expected.label, and {{ expected.label }} in a check.")
            return
        remedy = f"{did_you_mean(name, declared or ())} Gold is called expected.{name}; what only sorts cases, tag.{name}."
        source.add(at, name, "The workflow has no such input.", remedy)
    elif not all(column.keys) and column.part != _IGNORED:
        source.add(at, name, "The name ends in a dot, or two follow each other.", "Write expected.label or tag.language.")


def _check_nesting(columns: list[_Column], at: int, source: DatasetSource) -> None:
    gold = {column.keys for column in columns if column.part == _EXPECTED}
    for keys in sorted(gold):
        if any(keys[:length] in gold for length in range(1, len(keys))):
            source.add(at, f"expected.{'.'.join(keys)}", "It lies inside another column's value.", "Rename one of them.")


def _guess(cell: str) -> Json:
    """Numbers, true, false, objects and arrays as JSON has them; all else is text, also what is too large for a number."""
    if cell[0] not in "-0123456789{[tf":
        return cell
    value = read_json(cell)
    if isinstance(value, int) and not -_LARGEST_INTEGER <= value < _LARGEST_INTEGER:
        return cell
    return value


def _typed(kind: str) -> Callable[[str], Json]:
    fits = FITS[kind]

    def read(cell: str) -> Json:
        text = cell.strip()
        value = read_json(text.lower() if kind == "boolean" else text)
        if not fits(value):
            raise Misread(f"{shown(cell)} is no {kind}.")
        return int(value) if kind == "integer" else value

    return read


_READERS: dict[str, Callable[[str], Json] | None] = {
    "string": None,
    **{kind: _typed(kind) for kind in FITS if kind != "string"},
    "json": _guess,
}
