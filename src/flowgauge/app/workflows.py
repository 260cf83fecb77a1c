"""Workflows from files or from the store: load, save, find."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from flowgauge.errors import NotFound
from flowgauge.model.ids import content_hash
from flowgauge.model.workflow import Workflow, WorkflowRecord, WorkflowVersion
from flowgauge.nodes.codec import write_workflow

if TYPE_CHECKING:
    from flowgauge.store.store import Store

FILE_ENDINGS = (".yaml", ".yml", ".json")


class Saved(msgspec.Struct, frozen=True):
    """A workflow as the store has it. `created` is False where this very content was there before."""

    record: WorkflowRecord
    version: WorkflowVersion
    created: bool
    warnings: tuple[str, ...] = ()


def save_workflow(store: Store, workflow: Workflow, *, make_current: bool, warnings: tuple[str, ...] = ()) -> Saved:
    """A version of this content: a new one, or the one that is there."""
    content = write_workflow(workflow)
    record, version, created = store.save_version(
        workflow.name, workflow.description, content, content_hash(content), make_current=make_current
    )
    return Saved(record, version, created, warnings)


def save_file(store: Store, path: Path, *, make_current: bool) -> Saved:
    """Load a file and save it. Raises BadFile."""
    from flowgauge.define.workflow import load_workflow

    loaded = load_workflow(path)
    warnings = tuple(f"{path}:{problem}" for problem in loaded.warnings)
    return save_workflow(store, loaded.workflow, make_current=make_current, warnings=warnings)


def find_target(store: Store, target: str, version: str = "") -> Saved:
    """What `run` is to run: a file, or a stored workflow by name or sid with the version asked for.

    A file that is run is kept as a version, but does not become the one in use.
    """
    path = Path(target)
    if not version and (path.suffix in FILE_ENDINGS or path.is_file()):
        if not path.exists():
            raise NotFound(f"There is no file {target}.", remedy="Check the path; `flowgauge workflow list` shows what is stored.")
        return save_file(store, path, make_current=False)
    record = store.get_workflow(target)
    return Saved(record, find_version(store, record.sid, version), created=False)


def find_version(store: Store, workflow: str, version: str = "") -> WorkflowVersion:
    """A version by number (3 or v3), sid or hash; by default the one in use. Raises NotFound."""
    if not version:
        return store.current_version(workflow)
    number = version.removeprefix("v")
    return store.get_version((workflow, int(number)) if number.isdigit() and len(number) < 7 else version, workflow=workflow)
