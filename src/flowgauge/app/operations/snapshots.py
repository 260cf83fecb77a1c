"""Snapshots of versions, and whether one may take another's place."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from flowgauge.app.data_folder import data_folder
from flowgauge.app.operations.operation import Nothing, Operation, Params, about
from flowgauge.app.registry import Registry
from flowgauge.model.verdict import Comparison
from flowgauge.registry.adapter import Description, Tier
from flowgauge.registry.snapshot import AskedTier, Snapshot
from flowgauge.registry.stopping import in_thread
from flowgauge.registry.upgrade import TOLERANCE, UpgradeCheck

if TYPE_CHECKING:
    from flowgauge.app.host import Host

Version = Annotated[str, Meta(min_length=1, max_length=64, description="Letters, digits, - _ + and single dots.")]


class SnapshotCapture(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of which version, with which adapters."""

    version: Version
    git_sha: Annotated[str, Meta(max_length=100, description="The commit that is measured. Empty: the one checked out.")] = ""
    tier: Annotated[AskedTier, Meta(description="Which adapters run.")] = "fast"


class SnapshotGet(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which snapshot."""

    version: Version


class UpgradeChecked(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which versions."""

    old: Version
    new: Version
    strict: Annotated[bool, Meta(description="Do not let a first version through.")] = False


class SnapshotCompare(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which versions, by which metrics."""

    old: Version
    new: Version
    tier: Annotated[Tier, Meta(description="Which metrics.")] = "fast"
    tolerance: Annotated[float, Meta(ge=0, lt=1, description="Harm that is let pass: 0.05 is 5 %.")] = TOLERANCE


def _registry(host: Host) -> Registry:
    return Registry(host.store, data_folder(host.store.place))


async def snapshot_capture(host: Host, params: SnapshotCapture) -> Snapshot:
    """Runs adapters, which may take minutes: in a thread of its own, one capture at a time; the end of the server stops it."""
    registry = _registry(host)
    return await in_thread(lambda: registry.capture_snapshot(params.version, params.git_sha, params.tier, wait_s=0))


async def snapshot_get(host: Host, params: SnapshotGet) -> Snapshot:
    """Raises NotFound."""
    return await asyncio.to_thread(_registry(host).snapshots.get, params.version)


async def snapshot_list(host: Host, _: Nothing) -> tuple[Snapshot, ...]:
    """Those of files and store."""
    return tuple(await asyncio.to_thread(_registry(host).snapshots.list))


async def snapshot_compare(host: Host, params: SnapshotCompare) -> Comparison:
    """An unknown old version is an attempt that failed, and says so; an unknown new one is an error."""
    work = _registry(host).snapshots.compare
    with about("new"):
        return (await asyncio.to_thread(work, params.old, params.new, params.tier, params.tolerance)).comparison


async def upgrade_check(host: Host, params: UpgradeChecked) -> UpgradeCheck:
    """What is not safe is a result, not an error."""
    return await asyncio.to_thread(_registry(host).upgrade_check, params.old, params.new, strict=params.strict)


async def adapter_list(host: Host, _: Nothing) -> tuple[Description, ...]:
    """What each would miss where the server runs."""
    return tuple(await in_thread(_registry(host).list_benchmarks))


ROWS = (
    Operation(
        name="snapshot_capture",
        scope="run",
        params=SnapshotCapture,
        result=Snapshot,
        run=snapshot_capture,
        summary="Run the adapters of a tier and keep what they measure under a version.",
    ),
    Operation(name="snapshot_get", scope="read", params=SnapshotGet, result=Snapshot, run=snapshot_get, summary="One snapshot."),
    Operation(
        name="snapshot_list",
        scope="read",
        params=Nothing,
        result=tuple[Snapshot, ...],
        run=snapshot_list,
        summary="All snapshots, oldest first.",
    ),
    Operation(
        name="snapshot_compare",
        scope="read",
        params=SnapshotCompare,
        result=Comparison,
        run=snapshot_compare,
        summary="Hold the metrics of one version against another's, by bare thresholds.",
    ),
    Operation(
        name="upgrade_check",
        scope="read",
        params=UpgradeChecked,
        result=UpgradeCheck,
        run=upgrade_check,
        summary="Tell whether a version may take the place of another, by their fast-tier metrics.",
    ),
    Operation(
        name="adapter_list",
        scope="read",
        params=Nothing,
        result=tuple[Description, ...],
        run=adapter_list,
        summary="The adapters of the registry, and what each would miss.",
    ),
)
