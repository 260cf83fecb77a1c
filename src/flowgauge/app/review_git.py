"""A change as git sees it: revisions, their merge base, what differs, and a place to run another commit.

Asks real git; nothing that a caller names is ever an option of it: a revision is
refused by its look, resolved once, and only its hash goes on. The repository's
hooks, external diffs and text converters are not run. The work tree, its index
and its branches stay as they are; a commit that is not checked out gets a work
tree of its own in a temporary folder, which is removed however the review ends.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from flowgauge.errors import Failed, NotMeasured, UsageError
from flowgauge.nodes.program import Ended, Limits, run_program
from flowgauge.registry import stopping
from flowgauge.registry.review.changes import FileChange, read_changes
from flowgauge.store.filelock import locked

log = logging.getLogger(__name__)
PREFIX = "flowgauge-review-"
_TREE, _LOCK = "tree", ".lock"
_PATIENCE_S, _CHECKOUT_S = 120.0, 900.0
_MOST_BYTES = 200_000_000
_LONGEST_REV = 250
_REV = re.compile(r"[^-^:\s\x00-\x1f\x7f][^:\s\x00-\x1f\x7f]*")
_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SAFE = ("--no-optional-locks", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never")
_SUBMODULES = "--ignore-submodules=none"
"""Whatever .gitmodules and the configuration say."""
_DIFF = (
    "diff",
    "--raw",
    "--numstat",
    "-z",
    "-M",
    "--no-abbrev",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-relative",
    _SUBMODULES,
)
_OF_A_HOOK = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")
_OURS = ".flowgauge"
_BY_PRODUCT = "__pycache__"
_SEARCH = "^{/"
_DEEPER = "The clone is shallow: fetch the whole history (git fetch --unshallow; in GitHub Actions, fetch-depth: 0 for the checkout)."


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What is reviewed."""

    base_sha: str
    head_sha: str
    merge_base: str
    head: str | None
    """The commit to check out elsewhere; None: the work tree is what is reviewed."""
    dirty: bool = False
    """Files of the work tree differ from the commit."""


def environment() -> dict[str, str]:
    """This process' variables without those by which a hook of git names a repository."""
    return {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}


class Repository:
    """The one that a folder is in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        found = self._ask("rev-parse", "--show-toplevel", at=self.folder)
        if found.exit_code:
            raise UsageError(f"{folder} is in no work tree of git: {_said(found)}.", remedy="Start the review inside a clone.")
        self.top = Path(found.stdout.decode("utf-8", "surrogateescape").removesuffix("\n"))

    def change(self, base: str, head: str | None) -> Change:
        """Raises UsageError for a revision that is none, or two without a common ancestor."""
        base_sha = self._commit(base)
        here = self._commit("HEAD")
        head_sha = here if head is None else self._commit(head)
        dirty = self._dirty() if head_sha == here else False
        elsewhere = head is not None and (head_sha != here or dirty or self.untracked() > 0)
        return Change(
            base_sha=base_sha,
            head_sha=head_sha,
            merge_base=self._merge_base(base_sha, head_sha, base),
            head=head_sha if elsewhere else None,
            dirty=dirty and not elsewhere,
        )

    def changes(self, change: Change) -> list[FileChange]:
        """From the merge base to the head: as committed, or as the work tree is. Raises NotMeasured."""
        sides = [change.merge_base, *([] if change.dirty else [change.head_sha])]
        done = self._ask(*_DIFF, *sides, "--")
        if done.exit_code:
            raise NotMeasured(f"git diff failed (exit code {done.exit_code}): {_said(done)}")
        try:
            return read_changes(done.stdout)
        except (ValueError, KeyError) as error:
            raise NotMeasured(f"git diff answered what cannot be read: {error}") from None

    def untracked(self) -> int:
        """Files of the work tree that git does not know, without our own."""
        done = self._ask("ls-files", "--others", "--exclude-standard", "-z")
        return sum(bool(name) and Path(name).parts[0] != _OURS for name in done.stdout.decode("utf-8", "replace").split("\0"))

    def ignored(self) -> list[str]:
        """What git is told to ignore, folders as one; without our own, hidden things and what Python makes by itself."""
        done = self._ask("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
        paths = [Path(name) for name in done.stdout.decode("utf-8", "replace").split("\0") if name]
        return [str(each) for each in paths if each.name != _BY_PRODUCT and not any(part.startswith(".") for part in each.parts)]

    @property
    def part(self) -> str:
        """The folder that we are in, seen from the top; empty at the top."""
        found = self.folder.resolve().relative_to(self.top.resolve())
        return "" if found == Path() else str(found)

    def has_files(self, folder: Path, pattern: str) -> bool:
        """Does git know files of that pattern below the folder?"""
        return bool(self._ask("ls-files", "-z", "--", pattern, at=folder).stdout)

    @contextlib.contextmanager
    def checked_out(self, sha: str) -> Iterator[tuple[Path, Path]]:
        """The commit in a temporary work tree: the folder in it that answers to the one we are in, and its top. Raises NotMeasured."""
        self._sweep()
        home = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
        try:
            with locked(home / _LOCK):
                self._add_tree(home / _TREE, sha)
                yield home / _TREE / self.part, home / _TREE
        finally:
            self._remove_tree(home)

    def _commit(self, name: str) -> str:
        if len(name) > _LONGEST_REV or not _REV.fullmatch(name) or ".." in name or _SEARCH in name:
            raise UsageError(f"{name[:_LONGEST_REV]!r} is no revision.", remedy="Give a branch, a tag or a commit.")
        for spelled in (name, f"origin/{name}"):
            found = self._ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{spelled}^{{commit}}")
            said = found.stdout.decode("ascii", "replace").strip()
            if found.exit_code == 0 and _SHA.fullmatch(said):
                return said
        hint = _DEEPER if self._shallow() else f"Fetch it first: git fetch origin {name}"
        raise UsageError(f"There is no commit {name!r} here, nor at origin.", remedy=hint)

    def _merge_base(self, base_sha: str, head_sha: str, base: str) -> str:
        found = self._ask("merge-base", base_sha, head_sha)
        said = found.stdout.decode("ascii", "replace").strip()
        if found.exit_code == 0 and _SHA.fullmatch(said):
            return said
        remedy = _DEEPER if self._shallow() else "Name a revision that the head comes from."
        raise UsageError(f"{base!r} and the head have no common ancestor here.", remedy=remedy)

    def _shallow(self) -> bool:
        return self._ask("rev-parse", "--is-shallow-repository").stdout.strip() == b"true"

    def _dirty(self) -> bool:
        return bool(self._ask("status", "--porcelain", "--untracked-files=no", _SUBMODULES, "-z").stdout)

    def _ask(self, *arguments: str, at: Path | None = None) -> Ended:
        """Raises NotMeasured where git cannot be started or does not end."""
        argv = ["git", *_SAFE, "-C", str(at or self.top), *arguments]
        spoken = {**environment(), "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
        try:
            return stopping.run(run_program(argv, b"", spoken, Limits(max_bytes=_MOST_BYTES, timeout_s=_PATIENCE_S)))
        except Failed as error:
            raise NotMeasured(f"git {arguments[0]} failed: {error.failure.message}") from None

    def _add_tree(self, place: Path, sha: str) -> None:
        """Git takes back what it made when it is asked to end, so it is asked, and not killed."""
        argv = self._plain("worktree", "add", "--detach", str(place), sha)
        with subprocess.Popen(
            argv, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        ) as adding:
            try:
                _, said = adding.communicate(timeout=_CHECKOUT_S)
            except BaseException as error:
                adding.terminate()
                if isinstance(error, subprocess.TimeoutExpired):
                    raise NotMeasured(f"git worktree add did not end within {_CHECKOUT_S:g} s") from None
                raise
        if adding.returncode:
            raise NotMeasured(f"{sha[:12]} cannot be checked out: {said.decode(errors='replace').strip()[-300:]}")

    def _remove_tree(self, home: Path) -> None:
        remove = self._plain("worktree", "remove", "--force", "--force", str(home / _TREE))
        _quiet(remove)
        _delete(home)
        if home / _TREE in self._trees():
            _quiet(remove)
        if home.exists():
            log.warning("the temporary work tree %s could not be removed", home)

    def _sweep(self) -> None:
        """What a killed review left: the lock of a living one is held."""
        for place in self._trees():
            home = place.parent
            ours = home.name.startswith(PREFIX) and home.parent == Path(tempfile.gettempdir()).resolve()
            if ours and _is_left(home):
                self._remove_tree(home)

    def _trees(self) -> list[Path]:
        listed = subprocess.run(
            self._plain("worktree", "list", "--porcelain"), env=environment(), capture_output=True, timeout=_PATIENCE_S, check=False
        )
        lines = os.fsdecode(listed.stdout).splitlines()
        return [Path(line.removeprefix("worktree ")) for line in lines if line.startswith("worktree ")]

    def _plain(self, *arguments: str) -> list[str]:
        return ["git", *_SAFE, "-C", str(self.top), *arguments]


def _is_left(home: Path) -> bool:
    """Its review is over; what cannot be looked at is another user's."""
    try:
        with locked(home / _LOCK) as had:
            return had
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _quiet(argv: list[str]) -> None:
    """In a session of its own: an interrupt from the keyboard must not reach what tidies up."""
    subprocess.run(argv, env=environment(), capture_output=True, timeout=_PATIENCE_S, check=False, start_new_session=True)


def _delete(home: Path) -> None:
    """With folders that nobody may change, which tests may leave. Touches nothing outside, nor what a link points to."""
    for folder, below, _ in os.walk(home):
        for place in (Path(folder, name) for name in below):
            if not place.is_symlink():
                with contextlib.suppress(OSError):
                    place.chmod(stat.S_IRWXU)
    shutil.rmtree(home, ignore_errors=True)


def _said(done: Ended) -> str:
    lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
    return lines[0].removeprefix("fatal: ").rstrip(".")
