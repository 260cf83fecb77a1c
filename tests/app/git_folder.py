"""Real git repositories for tests, apart from the settings of whoever runs them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

WHO = ("AUTHOR", "COMMITTER")
IDENTITY = {f"GIT_{role}_{key}": value for role in WHO for key, value in (("NAME", "Ann"), ("EMAIL", "ann@example.org"))}


def git_environment() -> dict[str, str]:
    """The process's own, without what a hook or a user has set for git."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**plain, **IDENTITY, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


class GitFolder:
    """A folder with a repository in it."""

    def __init__(self, path: Path, *, clone_of: GitFolder | None = None, options: tuple[str, ...] = ()) -> None:
        self.path = path
        self._moment = 1_700_000_000
        path.mkdir(parents=True, exist_ok=True)
        if clone_of is None:
            self.git("init", "--quiet", "--initial-branch=main", *options)
        else:
            self.git("clone", "--quiet", *options, clone_of.path.as_uri(), ".")

    def git(self, *arguments: str) -> str:
        """What git says."""
        stamps = {f"GIT_{role}_DATE": f"{self._moment} +0000" for role in WHO}
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=self.path, env={**git_environment(), **stamps}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, message: str = "change") -> str:
        """A commit of all there is, a minute after the last; its hash."""
        self._moment += 60
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")
