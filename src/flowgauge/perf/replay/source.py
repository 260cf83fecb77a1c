"""What was run, as one hash: a workflow's content, or the files that hold a row's functions.

A loaded scenario of one row in, `sha256:…` out. Files are read, nothing is
imported. It tells a changed agent from an unsteady one; it proves nothing else.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from flowgauge.nodes.codec import write_workflow
from flowgauge.perf.loading import is_file, split_reference
from flowgauge.perf.model import Row
from flowgauge.perf.scenario import LoadedScenario


def source_of(loaded: LoadedScenario) -> str:
    """The same as long as nothing of it is edited."""
    digest = hashlib.sha256()
    for piece in _pieces(loaded):
        digest.update(hashlib.sha256(piece).digest())
    return f"sha256:{digest.hexdigest()}"


def _pieces(loaded: LoadedScenario) -> Iterator[bytes]:
    (row,) = loaded.scenario.rows
    played = loaded.workflows.get(0)
    if played is not None:
        yield write_workflow(played.workflow)
        yield from (write_workflow(other) for _, other in sorted(played.others.items()))
    for reference in _references(row):
        path = _file(reference, loaded.folder)
        yield path.read_bytes() if path is not None else b""


def _references(row: Row) -> Iterator[str]:
    yield from (reference for reference in (row.agent, row.environment, row.validator) if reference)


def _file(reference: str, folder: Path) -> Path | None:
    """None where there is no such file: built in, or not there at all."""
    place = split_reference(reference)[0]
    found = folder / place if is_file(reference) else _module(place, folder)
    return found if found is not None and found.is_file() else None


def _module(name: str, folder: Path) -> Path | None:
    """Found as the import system finds it, but without importing the packages around it."""
    top, *rest = name.split(".")
    spec = PathFinder.find_spec(top, [str(folder), *sys.path])
    for part in rest:
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = PathFinder.find_spec(part, spec.submodule_search_locations)
    return Path(spec.origin) if spec is not None and spec.origin else None
