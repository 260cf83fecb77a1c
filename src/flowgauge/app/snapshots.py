"""Snapshots in files and in the store.

Each tier of a snapshot is also a stored benchmark of kind `snapshot`: subject
`registry`, the tier as its configuration, the version as a tag. So compare, gate
and trend work on it unchanged. Where a version's file is not here, as on a CI
machine that shares the store alone, it is read from the store.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from flowgauge.app.comparing import Compared
from flowgauge.app.provenance import commit_here, machine_class
from flowgauge.app.sides import Side, load_side
from flowgauge.compare.comparison import compare, not_compared
from flowgauge.errors import NotFound
from flowgauge.model.benchmark import Benchmark, Fingerprint
from flowgauge.model.gate import Policy
from flowgauge.model.ids import BENCHMARK, new_sid
from flowgauge.model.redaction import Redactor, secrets_of
from flowgauge.registry import snapshot as files
from flowgauge.registry.snapshot import ASKED, AskedTier, Part, Snapshot, Taken
from flowgauge.registry.upgrade import UpgradeCheck, check_upgrade

if TYPE_CHECKING:
    from flowgauge.registry.adapter import Outcome, Tier
    from flowgauge.store.store import Store

KIND: Literal["snapshot"] = "snapshot"
SUBJECT = "registry"
Run = Callable[[Mapping[str, str]], tuple["Outcome", ...]]
"""Handed the metrics that other tiers of the snapshot gave."""


class Snapshots:
    """What can be asked of them."""

    def __init__(self, store: Store, data: Path) -> None:
        self._store = store
        self._data = data

    def capture(self, version: str, git_sha: str, tier: AskedTier, run: Run, *, wait_s: float = files.WAIT_S) -> Snapshot:
        """Merged into what the version has already. Raises UsageError for a version that is no file name.

        Conflict where another capture does not end within `wait_s`.
        """
        files.check_version(version)
        with files.writing(self._data, wait_s):
            old = self.find(version)
            outcomes = tuple(map(_redacted(), run(old.outside(ASKED[tier]) if old else {})))
            taken = Taken(outcomes=outcomes, git_sha=git_sha or commit_here(), machine=machine_class(), moment=datetime.now(UTC))
            made = files.merged(old, version, taken)
            fresh = [each for each in made.tiers if any(outcome.tier == each for outcome in outcomes)]
            self._store.put_benchmarks([self._benchmark(made, each) for each in fresh])
            files.write(self._data, made)
        return made

    def list(self) -> list[Snapshot]:
        """Oldest first; those of the store too."""
        here = {each.version: each for each in files.read_all(self._data)}
        elsewhere = {each.tags["version"] for each in self._store.iter_benchmarks(kind=KIND, subject=SUBJECT) if "version" in each.tags}
        found = [*here.values(), *(self.get(version) for version in elsewhere - set(here))]
        return sorted(found, key=lambda each: (each.captured_at, each.version))

    def latest(self) -> Snapshot | None:
        """None where there is none."""
        return next(reversed(self.list()), None)

    def get(self, version: str) -> Snapshot:
        """Raises NotFound that names the nearest."""
        return self.find(version) or files.read(self._data, version)

    def find(self, version: str) -> Snapshot | None:
        """None where neither file nor store has it."""
        return files.find(self._data, version) or self._stored(version)

    def benchmark_of(self, version: str, tier: Tier) -> Benchmark:
        """The stored benchmark of one tier. Raises NotFound."""
        found = self._of_version(version)
        if tier not in found:
            raise NotFound(f"The store has no {tier} tier of {version!r}.", remedy=f"Take it: flowgauge snapshot capture {version}")
        return found[tier]

    def upgrade_check(self, old: str, new: str, *, strict: bool = False) -> UpgradeCheck:
        """See `flowgauge.registry.upgrade`."""
        return check_upgrade(old, self.find(old), new, self.find(new), strict=strict)

    def compare(self, old: str, new: str, tier: Tier, tolerance: float) -> Compared:
        """One tier of two versions, as stored. An old version that is not there is an attempt that failed, not an error."""
        policy = Policy(rule="threshold", tolerance=tolerance, rates="ignore")
        candidate = load_side(self._store, Side(self.benchmark_of(new, tier), new))
        try:
            baseline = load_side(self._store, Side(self.benchmark_of(old, tier), old))
        except NotFound as error:
            return Compared(comparison=not_compared(candidate, "no_baseline", str(error), baseline=old), candidate=candidate, baseline=None)
        return Compared(comparison=compare(candidate, baseline, policy=policy), candidate=candidate, baseline=baseline)

    def _of_version(self, version: str) -> dict[str, Benchmark]:
        """By tier."""
        tags = {"version": files.check_version(version)}
        return {each.config: each for each in self._store.iter_benchmarks(kind=KIND, subject=SUBJECT, tags=tags)}

    def _benchmark(self, snapshot: Snapshot, tier: Tier) -> Benchmark:
        """Takes the place of the one that the version and tier have already."""
        part = snapshot.tiers[tier]
        before = self._of_version(snapshot.version).get(tier)
        moment = int(_moment(part).timestamp() * 1000)
        return Benchmark(
            sid=before.sid if before else new_sid(BENCHMARK, now_ms=moment),
            bench_uid="",
            bench_id="",
            config=tier,
            subject=SUBJECT,
            created_at=moment,
            metrics=snapshot.of_tier(tier),
            notes=msgspec.json.encode({"skipped": part.skipped, "errors": part.errors}).decode(),
            fingerprint=Fingerprint(machine=part.machine),
            tags={"version": snapshot.version, "tier": tier},
            commit=part.git_sha,
            kind=KIND,
        )

    def _stored(self, version: str) -> Snapshot | None:
        found = self._of_version(version)
        parts: dict[Tier, Part] = {tier: _part(each) for tier, each in found.items()}  # type: ignore[misc]
        figures = {name: metric for each in found.values() for name, metric in each.metrics.items()}
        return files.whole(version, parts, figures) if parts else None


class _Notes(msgspec.Struct):
    """What a stored tier says beside its metrics."""

    skipped: dict[str, str] = {}
    errors: dict[str, str] = {}


def _part(stored: Benchmark) -> Part:
    notes = msgspec.json.decode(stored.notes, type=_Notes)
    return Part(
        captured_at=files.spelled(datetime.fromtimestamp(stored.created_at / 1000, UTC)),
        git_sha=stored.commit,
        machine=stored.fingerprint.machine,
        metrics=tuple(stored.metrics),
        skipped=notes.skipped,
        errors=notes.errors,
    )


def _moment(part: Part) -> datetime:
    return datetime.fromisoformat(part.captured_at)


def _redacted() -> Callable[[Outcome], Outcome]:
    """What an adapter says when it fails may hold a secret."""
    redact = Redactor(secrets_of(os.environ))
    return lambda outcome: msgspec.structs.replace(outcome, reason=redact(outcome.reason))
