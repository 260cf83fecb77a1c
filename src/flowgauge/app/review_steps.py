"""Lint and tests of a review: one program each, in the folder that is reviewed.

Each has a time limit, at which its whole process group is killed. Of what it
writes the last is kept, without secrets. What cannot be started, ends by a
signal, takes too long or finds no test has measured nothing.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from flowgauge.app.review_git import environment
from flowgauge.errors import Failed
from flowgauge.model.redaction import Redactor, secrets_of
from flowgauge.nodes.program import Limits, run_program
from flowgauge.registry import stopping
from flowgauge.registry.review.decision import Step
from flowgauge.registry.review.exits import meaning_of

if TYPE_CHECKING:
    from flowgauge.app.review_git import Repository

MOST_BYTES = 100_000_000
"""Of what a step may write; more is a flood."""
_HEARD_BYTES, _TAIL_CHARS = 65_536, 4_000
_PYTHON_FILES = ("ruff.toml", ".ruff.toml", "pyproject.toml", "setup.py", "setup.cfg")
ProgramStep = Literal["lint", "tests"]


class Place(msgspec.Struct, frozen=True):
    """Where the programs run."""

    folder: Path
    top: Path
    """Of the work tree."""
    temporary: bool
    """Checked out for the review: packages installed from the other work tree must not win over what is here."""

    def variables(self) -> dict[str, str]:
        """What the programs see."""
        known = {name: value for name, value in environment().items() if not _of_a_test_run(name)}
        return {**known, "PYTHONPATH": os.pathsep.join(self._paths(known))} if self.temporary else known

    def _paths(self, known: Mapping[str, str]) -> list[str]:
        here = [folder for root in dict.fromkeys((self.folder, self.top)) for folder in (root / "src", root) if folder.is_dir()]
        return [*map(str, here), *filter(None, [known.get("PYTHONPATH", "")])]


def lint_default(repository: Repository, folder: Path) -> tuple[str, ...]:
    """Ruff, where the project is one of Python; else nothing."""
    of_python = any((folder / name).is_file() for name in _PYTHON_FILES) or repository.has_files(folder, "*.py")
    return ("ruff", "check", ".") if of_python else ()


TESTS_DEFAULT = ("pytest",)


def run_step(name: ProgramStep, words: Sequence[str], place: Place, *, time_limit_s: float) -> Step:
    """Run it to its end, or to the end of its time."""
    variables = place.variables()
    argv = [_program(words[0], variables, place.folder), *words[1:]]
    limits = Limits(max_bytes=MOST_BYTES, timeout_s=time_limit_s)
    command, start = shlex.join(words), time.perf_counter()
    exit_code, tail = None, _Tail()
    try:
        ended = stopping.run(run_program(argv, b"", variables, limits, cwd=str(place.folder), heard=tail.add))
        exit_code = ended.exit_code
        status, reason = meaning_of(argv, exit_code)
    except Failed as error:
        status, reason = "not_measured", _in_words(words[0], error, time_limit_s)
    took_ms = (time.perf_counter() - start) * 1000
    return Step(name=name, status=status, reason=reason, command=command, exit_code=exit_code, duration_ms=took_ms, output=tail.text())


class _Tail:
    """The last of what was written."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, data: bytes) -> None:
        self._bytes += data
        if len(self._bytes) > 2 * _HEARD_BYTES:
            del self._bytes[:-_HEARD_BYTES]

    def text(self) -> str:
        """Secrets are taken out before it is cut, so that none is cut in half and shown."""
        redact = Redactor(secrets_of(os.environ))
        return redact(bytes(self._bytes).decode("utf-8", "replace")).strip()[-_TAIL_CHARS:]


def _program(name: str, variables: Mapping[str, str], folder: Path) -> str:
    """The one beside Flowgauge's own Python first: a project that installed both means that one. A path is taken from the folder."""
    if Path(name).name != name:
        return str(folder / name)
    beside = os.pathsep.join([str(Path(sys.executable).parent), variables.get("PATH", os.defpath)])
    return shutil.which(name, path=beside) or name


def _of_a_test_run(name: str) -> bool:
    """Of a pytest that this process itself runs in."""
    return name == "PYTEST_CURRENT_TEST" or name.startswith("PYTEST_XDIST_")


def _in_words(program: str, error: Failed, time_limit_s: float) -> str:
    told = {
        "timeout": f"it did not end within {time_limit_s:g} s and was stopped with all it had started",
        "invalid_output": f"it wrote more than {MOST_BYTES // 1_000_000} MB and was stopped",
        "command_failed": f"{program} cannot be started; is it installed and on PATH?",
    }
    return told.get(error.failure.kind, error.failure.message)
