"""The stored workflows that a bench's target names, held at the versions in use when it was defined.

They stand in the target's content, after the hash of its own version: a line
`HASH NAME` for each. So they are part of the definition's hash and of the key
of the cache, and they mean the same in a store where sids are others. A target
that names none has the content it always had.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.pins import pin, references
from flowgauge.define.overrides import override_workflow
from flowgauge.model.bench import Bench, Target
from flowgauge.model.ids import VERSION
from flowgauge.model.workflow import Workflow
from flowgauge.nodes.codec import read_workflow

if TYPE_CHECKING:
    from flowgauge.store.store import Store


def hold(store: Store, bench: Bench) -> Bench:
    """The bench with what its configurations name, held. Raises NotFound where one is not stored."""
    if bench.target.kind != "workflow":
        return bench
    named = {reference for workflow in overridden(store, bench).values() for reference in references(workflow)}
    hashes = {reference: store.get_version(sid).hash for reference, sid in pin(store, named).items()}
    return msgspec.structs.replace(bench, target=_holding(bench.target, hashes))


def held(store: Store, target: Target) -> dict[str, str]:
    """Name → sid of the version it is held at."""
    return {
        name: name if name.startswith(f"{VERSION}_") else store.get_version(digest, workflow=name).sid
        for name, digest in _held(target).items()
    }


def joined(old: Bench, new: Bench) -> tuple[Bench, Bench]:
    """Both holding what either holds; as they are where they hold one name at two versions."""
    mine, other = _held(old.target), _held(new.target)
    both = {**mine, **other}
    if both != {**other, **mine}:
        return old, new
    return (
        msgspec.structs.replace(old, target=_holding(old.target, both)),
        msgspec.structs.replace(new, target=_holding(new.target, both)),
    )


def overridden(store: Store, bench: Bench) -> dict[str, Workflow]:
    """The workflow as each configuration has it. Raises BadFile for an override that does not fit."""
    base = read_workflow(store.get_version(bench.target.reference).content)
    return {one.name: override_workflow(base, one.workflow_overrides, f"configuration {one.name}") for one in bench.configs}


def _held(target: Target) -> dict[str, str]:
    if target.kind != "workflow":
        return {}
    lines = [line.split(" ", 1) for line in target.content.split("\n")[1:]]
    return {name: digest for digest, name in lines}


def _holding(target: Target, hashes: Mapping[str, str]) -> Target:
    own = target.content.split("\n", 1)[0] if target.kind == "workflow" else target.content
    return msgspec.structs.replace(target, content="\n".join([own, *(f"{hashes[name]} {name}" for name in sorted(hashes))]))
