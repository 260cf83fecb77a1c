"""Earlier runs in the same folder: whose memory, failures and recoveries a run can be held against.

Reads files that people may have edited or moved: what cannot be read as a run
is passed over. Only runs of the same scenario on the same class of machine count.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from flowgauge.errors import UsageError
from flowgauge.perf.files import Manifest, Series, SeriesRow, Summary, file_name

Read = TypeVar("Read")
MOST_RUNS = 20
"""The newest of them."""


class EarlierRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is on disk as a whole."""

    manifest: Manifest
    summary: Summary
    folder: Path

    def rows(self) -> tuple[SeriesRow, ...]:
        """Its episodes. Raises UsageError where they cannot be read."""
        return _read(self.folder / file_name("series", self.manifest.stamp), Series).rows


def read_run(path: Path) -> EarlierRun:
    """A run by its manifest, or by the folder that holds just one. Raises UsageError."""
    if path.is_dir():
        found = sorted(path.glob(file_name("manifest", "*")))
        if len(found) != 1:
            raise UsageError(f"{path} holds {len(found)} runs.", remedy="Name the manifest of one: perf-manifest-<stamp>.json.")
        path = found[0]
    manifest = _read(path, Manifest)
    return EarlierRun(manifest=manifest, summary=_read(path.parent / file_name("summary", manifest.stamp), Summary), folder=path.parent)


def earlier_runs(folder: Path, this: Manifest) -> list[EarlierRun]:
    """Oldest first."""
    runs: list[EarlierRun] = []
    for path in sorted(folder.glob(file_name("manifest", "*")), reverse=True):
        try:
            run = read_run(path)
        except UsageError:
            continue  # not a run, or not one of this version: it cannot be held against
        if run.manifest.stamp != this.stamp and is_alike(run.manifest, this):
            runs.append(run)
        if len(runs) == MOST_RUNS:
            break
    return runs[::-1]


def is_alike(run: Manifest, this: Manifest) -> bool:
    """The same work on the same class of machine: figures of one say something about the other."""
    return (run.scenario.hash, run.host.machine, run.workers) == (this.scenario.hash, this.host.machine, this.workers)


def _read(path: Path, struct: type[Read]) -> Read:
    try:
        return msgspec.json.decode(path.read_bytes(), type=struct)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", remedy="Keep the files of a run together.") from error
    except msgspec.MsgspecError as error:
        raise UsageError(f"{path} is no file of a perf run: {error}.", remedy="Name a perf-manifest-<stamp>.json.") from error
