"""Stored workflows for perf scenarios: by NAME or NAME@VERSION, with the workflows that they name."""

from __future__ import annotations

from flowgauge.app.pins import pin, pinned, references
from flowgauge.app.workflows import find_version
from flowgauge.app.workspace import opened_store
from flowgauge.nodes.codec import read_workflow
from flowgauge.perf.scenario import PlayedWorkflow


def stored_workflow(db: str, reference: str) -> PlayedWorkflow:
    """Raises NotFound. The store is opened only where a scenario names one."""
    name, _, version = reference.partition("@")
    with opened_store(db or None) as store:
        workflow = read_workflow(find_version(store, store.get_workflow(name).sid, version).content)
        return PlayedWorkflow(workflow=workflow, others=pinned(store, pin(store, references(workflow))))
