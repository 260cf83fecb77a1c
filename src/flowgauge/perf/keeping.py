"""Where a run's files go: run artifacts as episodes end, the four files at the end, each whole or not at all.

A run that is killed leaves the artifacts of all episodes that had ended. Where
a file cannot be written any more, `trouble` says so, and nothing half is left.
"""

from __future__ import annotations

import contextlib
import os
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from flowgauge.errors import NotMeasured, UsageError
from flowgauge.perf.files import SeriesRow, file_name
from flowgauge.perf.model import Episode, RunArtifact

MODE = 0o644


class CannotWrite(NotMeasured):
    """The disk is full, or the folder is gone."""


class Folder:
    """The output folder of one run, under its own stamp."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self.stamp, self.runs = _reserved(path)
        except OSError as error:
            raise UsageError(f"Nothing can be written to {path}: {error.strerror}.", remedy="Choose another --output-dir.") from error
        self.total_bytes = 0
        self.file_count = 0
        self.trouble = ""
        """Why no further file can be written; empty: they can."""

    def keep(self, episode: Episode, artifact: RunArtifact) -> SeriesRow:
        """Write the artifact of an episode; its row in the series, also where there is `trouble`.

        The bytes are with the system, not yet forced to the disk.
        """
        content = msgspec.json.encode(artifact) + b"\n"
        if not episode.repeat:
            name = f"episode-{episode.index + 1:06d}.json"
            with contextlib.suppress(CannotWrite), self._telling(name):
                _replace(self.runs / name, content, force=False)
                self.total_bytes += len(content)
                self.file_count += 1
        return series_row(episode, artifact, len(content))

    def give_up(self) -> None:
        """Nothing ran: leave no trace of it."""
        if not self.file_count:
            with contextlib.suppress(OSError):
                self.runs.rmdir()

    def write(self, word: str, content: bytes, ending: str = "json") -> str:
        """One of the run's files; its name. Raises CannotWrite."""
        name = file_name(word, self.stamp, ending)
        with self._telling(name):
            _replace(self.path / name, content, force=True)
        return name

    def write_bundle(self, name: str, names: tuple[str, ...]) -> None:
        """A zip of files that are final, byte for byte. Raises CannotWrite."""
        part = self.path / f".{name}.part"
        with self._telling(name), _gone_if_it_fails(part):
            with part.open("wb") as out:
                with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as bundle:
                    for each in names:
                        bundle.write(self.path / each, each)
                out.flush()
                os.fsync(out.fileno())
            part.replace(self.path / name)
            _force(self.path)

    @contextlib.contextmanager
    def _telling(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            told = CannotWrite(f"{name} cannot be written: {error.strerror}.", remedy=f"Make room in {self.path}, and run again.")
            self.trouble = self.trouble or str(told)
            raise told from error


def series_row(episode: Episode, artifact: RunArtifact, artifact_bytes: int) -> SeriesRow:
    """What the series says of an episode."""
    entries = artifact.llm_trace
    counted = [(entry.tokens_prompt, entry.tokens_completion) for entry in entries]
    known = all(tokens is not None for pair in counted for tokens in pair)
    return SeriesRow(
        episode=episode.index + 1,
        episode_index=episode.index,
        agent=artifact.agent,
        task_ref=artifact.task_ref,
        seed=artifact.seed,
        success=artifact.success,
        wall_clock_s=artifact.wall_clock_s,
        error=None if artifact.success else artifact.failure_reason or artifact.termination_reason,
        artifact_bytes=artifact_bytes,
        llm_trace_entries=len(entries),
        prompt_bytes=sum(len(entry.prompt.encode()) for entry in entries),
        completion_bytes=sum(len(entry.completion.encode()) for entry in entries),
        tokens_used=sum((prompt or 0) + (completion or 0) for prompt, completion in counted) if known else None,
        started_at=artifact.started_at,
        steps=artifact.steps,
        tool_calls=artifact.tool_calls,
        termination_reason=artifact.termination_reason,
        failure_type=artifact.failure_type,
        run_id=artifact.run_id,
        artifact_hash=artifact.artifact_hash,
    )


def _reserved(path: Path) -> tuple[str, Path]:
    """A stamp that no other run in this folder has, and the folder for its artifacts, which holds it."""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    for number in range(1, 10_000):
        stamp = moment if number == 1 else f"{moment}-{number}"
        runs = path / f"perf-runs-{stamp}"
        try:
            runs.mkdir()
        except FileExistsError:
            continue
        return stamp, runs
    raise UsageError(f"{path} holds too many runs of this second.", remedy="Try again.")


def _replace(path: Path, content: bytes, *, force: bool) -> None:
    """Whole or not at all: written beside, then put in its place."""
    part = path.parent / f".{path.name}.part"
    with _gone_if_it_fails(part):
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, MODE)
        try:
            left = memoryview(content)
            while left:
                left = left[os.write(descriptor, left) :]
            if force:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        part.replace(path)
    if force:
        _force(path.parent)


@contextlib.contextmanager
def _gone_if_it_fails(part: Path) -> Iterator[None]:
    """Nothing half is left."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def _force(folder: Path) -> None:
    """The folder's own entries, to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
