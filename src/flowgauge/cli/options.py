"""Options that several commands share, and how they print."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from flowgauge.errors import BadFile

Command = TypeVar("Command", bound=Callable[..., Any])


class Finite(click.FloatRange):
    """A number in a range. click lets nan and inf pass every range: here they are refused."""

    name = "float range"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """As click does it, and finite."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return number


def db_option(command: Command) -> Command:
    """--db, with the environment variable that everything honours."""
    words = "The store: a path or a URL. Default: .flowgauge/flowgauge.db here."
    return click.option("--db", envvar="FLOWGAUGE_DB", metavar="PATH|URL", help=words)(command)


def json_option(command: Command) -> Command:
    """--json, for machines."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for machines.")(command)


def limit_option(command: Command) -> Command:
    """--limit, for lists."""
    return click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="Rows at the most.")(command)


REPORTS = ("markdown", "html", "json", "jsonl", "csv", "csv-excel", "junit", "svg", "png")


def report_options(command: Command) -> Command:
    """--report and --out, for what ends in a report."""
    path = click.Path(dir_okay=False, path_type=Path)
    command = click.option("--out", "-o", "outs", multiple=True, type=path, help="Write a report; repeat for more.")(command)
    words = "What to print, or to write to --out. Default: markdown, or by --out's extension."
    return click.option("--report", "report_format", type=click.Choice(REPORTS), help=words)(command)


def now_ms() -> int:
    """The moment a command prints."""
    return time.time_ns() // 1_000_000


def print_json(value: Any) -> None:
    """Plain JSON on stdout, indented; times and keys as the records have them."""
    click.echo(msgspec.json.format(msgspec.json.encode(plain(value)), indent=2).decode())


def plain(value: Any) -> Any:
    """Records with every field, defaults too; bytes that hold JSON as that JSON."""
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, bytes):
        return msgspec.json.decode(value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def read_inputs_file(path: Path) -> dict[str, Any]:
    """An object of input values from a YAML or JSON file."""
    from flowgauge.documents.document import read_document
    from flowgauge.model.problem import Problem

    value = read_document(path).value
    if not isinstance(value, dict):
        raise BadFile(str(path), [Problem(1, "", "An input file holds one object of names and values.", "Write name: value, a line each.")])
    return value
