"""A small Python project in a real git repository, for reviews."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.app.git_folder import GitFolder, git_environment

CALC = "def add(a: int, b: int) -> int:\n    return a + b\n"
TESTS = "from calc import add\n\n\ndef test_add() -> None:\n    assert add(1, 2) == 3\n"
IGNORED = "__pycache__/\n.pytest_cache/\n.ruff_cache/\n.flowgauge/\n"


class Project(GitFolder):
    """`main` has a sum and its test; `feature` is checked out and changes nothing yet."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.write({"calc.py": CALC, "test_calc.py": TESTS, "pyproject.toml": "[tool.pytest.ini_options]\n", ".gitignore": IGNORED})
        self.commit("a sum")
        self.git("checkout", "--quiet", "-b", "feature")

    def write(self, files: dict[str, str | bytes | None]) -> None:
        """None removes a file."""
        for name, content in files.items():
            place = self.path / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                place.unlink()
            elif isinstance(content, bytes):
                place.write_bytes(content)
            else:
                place.write_text(content, encoding="utf-8")

    def change(self, files: dict[str, str | bytes | None]) -> str:
        """Written and committed; its hash."""
        self.write(files)
        return self.commit()

    def state(self) -> tuple[str, str, str, list[str]]:
        """All that a review must leave as it is."""
        tracked = "".join((self.path / name).read_text(encoding="utf-8") for name in ("calc.py", "test_calc.py"))
        return self.git("rev-parse", "--abbrev-ref", "HEAD"), self.git("status", "--porcelain"), tracked, self.trees()

    def trees(self) -> list[str]:
        listed = self.git("worktree", "list", "--porcelain").splitlines()
        return [line for line in listed if line.startswith("worktree ")]


def serve_reviews(path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """What a server in this process reviews: where it runs, with programs that pass at once."""
    project = Project(path)
    project.change(SIMPLE)
    monkeypatch.chdir(path)
    data.mkdir(parents=True, exist_ok=True)
    (data / "review.yaml").write_text("lint: git --version\ntests: git --version\n", encoding="utf-8")
    return project


SIMPLE: dict[str, str | bytes | None] = {"calc.py": CALC + "\n\ndef double(a: int) -> int:\n    return add(a, a)\n"}


def started(project: Project, *arguments: str, temporary: Path, **variables: str) -> subprocess.Popen[str]:
    """The program itself."""
    temporary.mkdir(exist_ok=True)
    environment = {**git_environment(), "TMPDIR": str(temporary), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **variables}
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS", "PYTEST_CURRENT_TEST"):
        if name not in variables:
            environment.pop(name, None)
    command = [sys.executable, "-m", "flowgauge", "review", *arguments]
    return subprocess.Popen(command, cwd=project.path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def called(project: Project, *arguments: str, temporary: Path, **variables: str) -> tuple[int, str, str]:
    """To its end: exit code, stdout, stderr."""
    with started(project, *arguments, temporary=temporary, **variables) as process:
        out, err = process.communicate(timeout=100)
    return process.returncode, out, err


def review_of(project: Project, *arguments: str, temporary: Path, **variables: str) -> dict[str, Any]:
    """What --json says; its exit code must be that of the process."""
    code, out, err = called(project, *arguments, "--json", temporary=temporary, **variables)
    assert out, err
    found: dict[str, Any] = json.loads(out)
    assert found["exit_code"] == code
    return found


def is_gone(pid: int) -> bool:
    """Or waits to be buried."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True
