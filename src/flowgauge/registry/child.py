"""An adapter in a process of its own: a request in, its answer out.

One that takes longer than its time is killed with all its children; one that
dies, floods its output or answers what is no JSON has failed. None of that
reaches the process that asked.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from flowgauge.errors import Failed
from flowgauge.nodes.program import Ended, Limits
from flowgauge.registry import guest
from flowgauge.registry.programs import run_guarded

MAX_BYTES = 10_000_000
"""Of what it may print; more is a flood."""
_TAIL = 300
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "CUDA_VISIBLE_DEVICES")


class AdapterFailed(Exception):
    """The adapter did not answer, or answered that it failed."""


class Home(msgspec.Struct, frozen=True, kw_only=True):
    """Where a guest runs."""

    python: str
    isolated: bool
    """With Python's -I, and without this process' environment: for what was installed from a repository."""
    env: tuple[str, ...] = ()
    """Names of further variables that an isolated one is given."""

    def environment(self) -> dict[str, str]:
        """What it sees of this process' variables."""
        if not self.isolated:
            return dict(os.environ)
        return {name: os.environ[name] for name in (*_PASSED_ON, *self.env) if name in os.environ}

    def argv(self, *arguments: str) -> list[str]:
        """The guest's command line."""
        return [self.python, *(["-I"] if self.isolated else []), str(Path(guest.__file__).absolute()), *arguments]


def ask(home: Home, request: Mapping[str, Any], *, time_limit_s: float) -> dict[str, Any]:
    """Start it, wait, read what it answered. Raises AdapterFailed. Not from within an event loop."""
    with tempfile.TemporaryDirectory(prefix="flowgauge-adapter-") as folder:
        asked, answered = Path(folder, "request.json"), Path(folder, "answer.json")
        asked.write_text(json.dumps(request), encoding="utf-8")
        argv = home.argv(str(asked), str(answered))
        try:
            ended = run_guarded(argv, home.environment(), Limits(max_bytes=MAX_BYTES, timeout_s=time_limit_s))
        except Failed as error:
            raise AdapterFailed(_in_words(error, time_limit_s)) from None
        return _read(answered, ended)


def _in_words(error: Failed, time_limit_s: float) -> str:
    told = {
        "timeout": f"it did not end within {time_limit_s:g} s and was stopped",
        "invalid_output": f"it printed more than {MAX_BYTES // 1_000_000} MB and was stopped",
    }
    return told.get(error.failure.kind, error.failure.message)


def _read(file: Path, ended: Ended) -> dict[str, Any]:
    try:
        answer = json.loads(_text(file))
    except FileNotFoundError:
        said = ended.stderr.decode(errors="replace").strip()[-_TAIL:]
        raise AdapterFailed(f"it ended with exit code {ended.exit_code} before it answered{f': {said}' if said else ''}") from None
    except (ValueError, RecursionError):
        raise AdapterFailed("its answer is no JSON") from None
    if not isinstance(answer, dict):
        raise AdapterFailed("its answer is no object")
    if "error" in answer:
        raise AdapterFailed(str(answer["error"]))
    return answer


def _text(file: Path) -> str:
    """An adapter can write the file by itself, and so anything."""
    if file.stat().st_size > MAX_BYTES:
        raise AdapterFailed(f"its answer is longer than {MAX_BYTES // 1_000_000} MB")
    return file.read_text(encoding="utf-8")
