"""The program in an empty folder, and a bundle that was really recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import flowgauge as flowgauge
from tests.perf.replay.episodes import STEADY, write_agent

from flowgauge.perf.replay.archive import read_files


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a bundle, as `flowgauge record` wrote them."""
    folder = tmp_path_factory.mktemp("recorded")
    write_agent(folder, STEADY)
    command = [sys.executable, "-m", "flowgauge", "record", "scenario.yaml", "-o", "bundle"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FLOWGAUGE_")}
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return read_files(folder / "bundle")


def put(folder: Path, files: dict[str, bytes]) -> Path:
    """As a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder
