"""What the exit code of a lint or test program means: passed, failed, or nothing was measured.

A table by program. Of a program that is in none, 0 passed, a signal ended it
before it could tell, and everything else failed. A shell tells of a signal by a
number above 128.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from flowgauge.registry.review.decision import StepStatus

Meaning = tuple[StepStatus, str]
_PYTEST: Mapping[int, Meaning] = {
    1: ("failed", "tests fail"),
    2: ("failed", "tests could not be collected, or were interrupted"),
    3: ("not_measured", "pytest itself failed"),
    4: ("not_measured", "pytest cannot be used like that"),
    5: ("not_measured", "no tests were collected"),
}
_RUFF: Mapping[int, Meaning] = {1: ("failed", "lint found mistakes"), 2: ("not_measured", "ruff itself failed")}
_SHELL: Mapping[int, Meaning] = {
    126: ("not_measured", "the command cannot be executed"),
    127: ("not_measured", "the command was not found"),
}
_SHELLS = ("sh", "bash", "dash", "ash", "ksh", "zsh")
_SIGNALLED = 128
_PROGRAMS: Mapping[str, Mapping[int, Meaning]] = {
    "pytest": _PYTEST,
    "py.test": _PYTEST,
    "ruff": _RUFF,
    **dict.fromkeys(_SHELLS, _SHELL),
}


def meaning_of(argv: Sequence[str], exit_code: int) -> Meaning:
    """The status, and why where it did not pass."""
    if exit_code == 0:
        return "passed", ""
    program = _program(argv)
    if exit_code < 0:
        return "not_measured", f"it was ended by {_signal(-exit_code)}"
    if program in _SHELLS and exit_code - _SIGNALLED in signal.valid_signals():
        return "not_measured", f"what the shell ran was ended by {_signal(exit_code - _SIGNALLED)}"
    return _PROGRAMS.get(program, {}).get(exit_code, ("failed", f"it ended with exit code {exit_code}"))


def _program(argv: Sequence[str]) -> str:
    """pytest, for python -m pytest too."""
    name = Path(argv[0]).name
    if name.startswith("python") and "-m" in argv[1:-1]:
        return argv[argv.index("-m", 1) + 1]
    return name


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
