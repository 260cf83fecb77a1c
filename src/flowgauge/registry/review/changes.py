"""What changed between two states, and how large that is.

In: what `git diff --raw --numstat -z` writes. Out: one row a file. A binary file
has no number of lines: it is unknown, never zero, so a change that holds one is
never simple. Neither is one that moves a submodule: git counts one line for
whatever changed in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

Kind = Literal["added", "changed", "deleted", "renamed", "copied"]
Complexity = Literal["simple", "moderate", "complex"]
SIMPLE_FILES, SIMPLE_LINES = 3, 100
"""At most so many files, and fewer lines than that."""
MODERATE_FILES, MODERATE_LINES = 10, 500
_KINDS: dict[str, Kind] = {"A": "added", "D": "deleted", "R": "renamed", "C": "copied"}
_TWO_PATHS = ("R", "C")
_GITLINK = "160000"
"""The mode of a submodule."""
MOST_FILES_KEPT = 200
"""Of rows in a review; the numbers are over all."""


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """One file. `added` and `deleted` are lines, None where the file is binary or a submodule."""

    path: str
    kind: Kind
    added: int | None = None
    deleted: int | None = None
    old_path: str = ""
    """Of what was renamed or copied."""
    submodule: bool = False
    """Another repository's commit, before or after."""


class DiffStats(msgspec.Struct, frozen=True, kw_only=True):
    """The whole change."""

    files: int
    added: int
    deleted: int
    binary: int
    """Files without a number of lines."""
    submodules: int = 0
    """They have none, either."""
    renamed: int
    removed: int
    """Files that are gone."""
    complexity: Complexity
    changes: tuple[FileChange, ...] = ()
    """The first of them."""

    @property
    def lines(self) -> int:
        """Added and deleted ones."""
        return self.added + self.deleted


def complexity_of(files: int, lines: int, uncounted: int = 0) -> Complexity:
    """simple: ≤ 3 files and < 100 lines; moderate: ≤ 10 and < 500; else complex. What has no number of lines is not simple."""
    if files <= SIMPLE_FILES and lines < SIMPLE_LINES and not uncounted:
        return "simple"
    return "moderate" if files <= MODERATE_FILES and lines < MODERATE_LINES else "complex"


def stats_of(changes: list[FileChange]) -> DiffStats:
    """Sums and complexity."""
    added, deleted = (sum(getattr(each, side) or 0 for each in changes) for side in ("added", "deleted"))
    submodules = sum(each.submodule for each in changes)
    binary = sum(each.added is None for each in changes) - submodules
    return DiffStats(
        files=len(changes),
        added=added,
        deleted=deleted,
        binary=binary,
        submodules=submodules,
        renamed=sum(each.kind == "renamed" for each in changes),
        removed=sum(each.kind == "deleted" for each in changes),
        complexity=complexity_of(len(changes), added + deleted, binary + submodules),
        changes=tuple(changes[:MOST_FILES_KEPT]),
    )


class _Listed(NamedTuple):
    kind: Kind
    old_path: str
    submodule: bool


def read_changes(written: bytes) -> list[FileChange]:
    """Raises ValueError for what git does not write."""
    words = iter(written.decode("utf-8", "replace").split("\0")[:-1])
    kinds: dict[str, _Listed] = {}
    found: list[FileChange] = []
    for word in words:
        if word.startswith(":"):
            letter = word.rpartition(" ")[2][:1]
            old, path = _paths(words, two=letter in _TWO_PATHS)
            kinds[path] = _Listed(_KINDS.get(letter, "changed"), old, _GITLINK in word[1:].split(" ")[:2])
        else:
            found.append(_counted(word, words, kinds))
    if len(found) != len(kinds):
        raise ValueError(f"{len(kinds)} files were listed and {len(found)} counted")
    return found


def _counted(word: str, words: Iterator[str], kinds: dict[str, _Listed]) -> FileChange:
    added, deleted, path = word.split("\t", 2)
    if not path:
        _, path = _paths(words, two=True)
    kind, old, submodule = kinds[path]
    lines = (None, None) if submodule else (_lines(added), _lines(deleted))
    return FileChange(path=path, kind=kind, added=lines[0], deleted=lines[1], old_path=old, submodule=submodule)


def _paths(words: Iterator[str], *, two: bool) -> tuple[str, str]:
    first = next(words, "")
    return (first, next(words, "")) if two else ("", first)


def _lines(said: str) -> int | None:
    return None if said == "-" else int(said)
