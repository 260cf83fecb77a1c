"""The commits behind the merge base of this branch and another: where a baseline may have been measured.

In: a branch and a folder of a git repository. Out: whole hashes, newest first,
as `provenance` stores them for a clean working folder. Asks git, changes
nothing, fetches nothing. What git cannot tell is a UsageError with what to do.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from flowgauge.errors import UsageError
from flowgauge.lang.wording import did_you_mean

_PATIENCE_S = 30
_BRANCH = re.compile(r"[^-^\s\x00-\x1f\x7f][^\s\x00-\x1f\x7f]*\Z")
"""No option, no exclusion, nothing that git would not take for a name. What names no commit is refused later."""
_DEEPER = "This clone is shallow: fetch the whole history (git fetch --unshallow; in GitHub Actions, fetch-depth: 0 for the checkout)."


def ancestors_of_merge_base(branch: str, folder: Path, limit: int = 500) -> tuple[str, ...]:
    """The merge base of HEAD and the branch, then what came before it, newest first; at most `limit`.

    A branch that is not here but at `origin` is taken from there, since CI checks out one branch only.
    """
    _git(folder, "rev-parse", "--git-dir", failing=f"{folder} is in no git repository")
    here = _commit(folder, "HEAD")
    if here is None:
        raise UsageError(f"The repository of {folder} has no commit yet.", remedy="Commit first, or name a benchmark as the baseline.")
    there = _branch(folder, branch)
    base = _ask(folder, "merge-base", here, there)
    if base.returncode == 1:
        remedy = _DEEPER if is_shallow(folder) else "Name a branch that this one comes from."
        raise UsageError(f"HEAD and '{branch}' have no common ancestor here.", remedy=remedy)
    _refuse_failed(base, f"The merge base of HEAD and '{branch}' cannot be found")
    listed = _git(folder, "rev-list", f"--max-count={limit}", base.stdout.strip(), failing="The commits before it cannot be listed")
    return tuple(listed.split())


def is_shallow(folder: Path) -> bool:
    """Does the clone leave out older commits?"""
    return _ask(folder, "rev-parse", "--is-shallow-repository").stdout.strip() == "true"


def _branch(folder: Path, branch: str) -> str:
    if not _BRANCH.match(branch):
        raise UsageError(f"{branch!r} is no branch.", remedy="Write merge-base:main, with the name of a branch.")
    found = _commit(folder, branch) or _commit(folder, f"origin/{branch}")
    if found is not None:
        return found
    known = _ask(folder, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes").stdout.split()
    hint = f" {_DEEPER}" if is_shallow(folder) else f" Or fetch it: git fetch origin {branch}"
    raise UsageError(f"There is no branch '{branch}' here, nor at origin.", remedy=did_you_mean(branch, known) + hint)


def _commit(folder: Path, name: str) -> str | None:
    """The commit that a name stands for; None where it stands for none. What begins with a dash must be kept out before."""
    done = _ask(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    return done.stdout.strip() if done.returncode == 0 else None


def _git(folder: Path, *arguments: str, failing: str) -> str:
    done = _ask(folder, *arguments)
    _refuse_failed(done, failing)
    return done.stdout.strip()


def _refuse_failed(done: subprocess.CompletedProcess[str], failing: str) -> None:
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[0].removeprefix("fatal: ")
        raise UsageError(f"{failing}: {said}.", remedy="Run it inside a clone that git can read, or name a benchmark as the baseline.")


def _ask(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`-C` and not the working folder, so that a folder that is not there is git's own complaint. Messages in English, for ours."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        return subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_PATIENCE_S,
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
    except OSError as error:
        raise UsageError(f"git cannot be started: {error.strerror}.", remedy="Install git, or name a benchmark as the baseline.") from None
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"git {arguments[0]} gave no answer in {_PATIENCE_S} s.", remedy="Try it by hand, or name a benchmark as the baseline."
        ) from None
