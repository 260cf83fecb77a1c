"""`--env-file`: NAME=value lines into the environment of this process."""

from __future__ import annotations

import os
from pathlib import Path

from flowgauge.documents.document import read_text
from flowgauge.errors import BadFile
from flowgauge.model.problem import Problem


def load_env_file(path: Path) -> list[str]:
    """Set what is not set already; the names. Comments, blank lines, `export` and quotes are understood."""
    names, problems = [], []
    for number, raw in enumerate(read_text(path).splitlines(), 1):
        line = raw.strip().removeprefix("export ").strip()
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not equals or not name.strip().isidentifier():
            problems.append(Problem(number, "", "This is no assignment.", "Write NAME=value."))
            continue
        names.append(name.strip())
        os.environ.setdefault(name.strip(), _unquoted(value.strip()))
    if problems:
        raise BadFile(str(path), problems)
    return names


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value.split(" #", 1)[0].rstrip()
