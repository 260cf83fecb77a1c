"""What a project always reviews with, from a small YAML file; every mistake with its line.

    lint: ruff check src
    tests: [python, -m, pytest, -q]
    time_limit_s: 1800

A command is one line, split as a shell would and run without one, or a list of
its words. The JSON Schema is made of the same struct.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from flowgauge.define.schema import DIALECT
from flowgauge.documents.findings import Findings
from flowgauge.errors import UsageError
from flowgauge.model.workflow import Value
from flowgauge.registry.settings_file import load_settings_file

FILE = "review.yaml"
TIME_LIMIT_S = 1800.0
LONGEST_S = 86_400.0
Left = Literal["lint", "baseline"]
Command = str | tuple[str, ...]


class ReviewSettings(Value, frozen=True):
    """What the file says."""

    lint: Annotated[Command, Meta(description="One line, run without a shell, or a list of words. Default: ruff, for Python.")] = ""
    tests: Annotated[Command, Meta(description="The same for tests. Default: pytest.")] = ""
    time_limit_s: Annotated[float, Meta(gt=0, le=LONGEST_S, description="For lint, and for tests.")] = TIME_LIMIT_S
    without: Annotated[tuple[Left, ...], Meta(description="Steps that are left out: lint, baseline.")] = ()


def load_review_settings(path: Path) -> ReviewSettings:
    """Raises BadFile with every mistake."""
    return load_settings_file(path, ReviewSettings, "`tests:` or `lint:`", _check_commands)


def _check_commands(value: dict[str, Any], findings: Findings) -> None:
    for key in ("lint", "tests"):
        if key not in value or findings.has_fault((key,)):
            continue
        try:
            words_of(value[key], key)
        except UsageError as error:
            findings.add((key,), error.message, error.remedy)


def words_of(command: Command, what: str) -> tuple[str, ...]:
    """The words of a command line. Raises UsageError."""
    try:
        words = tuple(shlex.split(command)) if isinstance(command, str) else tuple(command)
    except ValueError as error:
        raise UsageError(f"The command for {what} cannot be read: {error}.", remedy="Close its quotes.") from None
    if not words or not words[0] or any("\0" in word for word in words):
        raise UsageError(f"The command for {what} is empty.", remedy="Name a program.")
    return words


def review_json_schema() -> dict[str, Any]:
    """For editors: `flowgauge schema review` prints it."""
    _, parts = msgspec.json.schema_components([ReviewSettings], ref_template="#/$defs/{name}")
    return {**parts["ReviewSettings"], "$schema": DIALECT, "title": "Flowgauge review"}
