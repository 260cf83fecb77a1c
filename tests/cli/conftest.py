"""The program in this process, in a folder of its own; and a real mock server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from flowgauge.cli.root import run

EXAMPLES = Path(__file__).parents[2] / "examples"


class Done(msgspec.Struct):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


Program = Callable[..., Done]


@pytest.fixture
def flowgauge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """Call the program as the shell would, in an empty folder, with no keys set."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("FLOWGAUGE_") or name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)

    def call(*arguments: str | Path) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Done(int(ended.value.code or 0), out, err)

    return call


@pytest.fixture(scope="session")
def mock_server() -> Iterator[str]:
    """`flowgauge mock-server` as a process of its own; its base URL."""
    process = subprocess.Popen(
        [sys.executable, "-m", "flowgauge", "mock-server", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    yield line.split()[3]
    process.terminate()
    process.wait()
