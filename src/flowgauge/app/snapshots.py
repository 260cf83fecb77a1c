"""Snapshots in files and in the store.

Each tier of a snapshot is also a stored benchmark of kind `snapshot`: subject
`registry`, the tier as its configuration, the version as a tag. So compare, gate
and trend work on it unchanged. Several machines may share the store, each with
files of its own: of each tier the capture that is the latest counts, whether it
is in the file here or in the store. A file that cannot be read is refused where
its version is asked for; lists and the next capture do without it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from flowgauge.aggregate.measured import measured
from flowgauge.app.comparing import Compared
from flowgauge.app.provenance import commit_here, machine_class
from flowgauge.compare.comparison import compare, not_compared
from flowgauge.errors import BadFile, NotFound
from flowgauge.model.benchmark import Benchmark, Fingerprint
from flowgauge.model.gate import Policy
from flowgauge.model.ids import BENCHMARK, new_sid
from flowgauge.model.redaction import Redactor, secrets_of
from flowgauge.registry import snapshot as files
from flowgauge.registry.snapshot import ASKED, AskedTier, Part, Snapshot, Taken
from flowgauge.registry.upgrade import UpgradeCheck, check_upgrade

if TYPE_CHECKING:
    from flowgauge.model.metric import Measured
    from flowgauge.registry.adapter import Outcome, Tier
    from flowgauge.store.store import Store

KIND: Literal["snapshot"] = "snapshot"
SUBJECT = "registry"
_ASK_FOR: dict[str, AskedTier] = {"fast": "fast", "heavy": "heavy", "dynamic": "all"}
"""Which tier to ask a capture for, to have one."""
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
            old = files.newest(self._file(version), _snapshot(version, self._of_version(version)))
            outcomes = tuple(map(_redacted(), run(old.outside(ASKED[tier]) if old else {})))
            taken = Taken(
                outcomes=outcomes,
                git_sha=git_sha or commit_here(),
                machine=machine_class(),
                moment=_after(old),
                tiers=ASKED[tier],
            )
            made = files.merged(old, version, taken)
            self._keep(made, [each for each, part in made.tiers.items() if part.captured_at == files.spelled(taken.moment)])
        return made

    def list(self) -> list[Snapshot]:
        """Oldest first; those of the store too. Of `damaged` files what the store has."""
        stored = self._all_stored()
        versions = {*files.versions(self._data), *stored}
        found = (files.newest(self._file(version), _snapshot(version, stored.get(version, {}))) for version in versions)
        return sorted(filter(None, found), key=lambda each: (each.captured_at, each.version))

    def versions(self) -> frozenset[str]:
        """Of all that are kept, also in files that cannot be read."""
        return frozenset({*files.versions(self._data), *self._all_stored()})

    def damaged(self) -> dict[str, str]:
        """By version: what is wrong with its file here."""
        return {version: why for version in files.versions(self._data) if (why := files.damage(self._data, version))}

    def latest(self) -> Snapshot | None:
        """None where there is none."""
        return next(reversed(self.list()), None)

    def get(self, version: str) -> Snapshot:
        """Raises NotFound that names the nearest."""
        return self.find(version) or files.read(self._data, version)

    def find(self, version: str) -> Snapshot | None:
        """None where neither file nor store has it. Raises BadFile where there is a file that cannot be read."""
        return files.newest(files.find(self._data, version), _snapshot(version, self._of_version(version)))

    def upgrade_check(self, old: str, new: str, *, strict: bool = False) -> UpgradeCheck:
        """See `flowgauge.registry.upgrade`."""
        return check_upgrade(old, self.find(old), new, self.find(new), known=self.versions(), strict=strict)

    def compare(self, old: str, new: str, tier: Tier, tolerance: float) -> Compared:
        """One tier of two versions. An old version that is not there is an attempt that failed, not an error."""
        policy = Policy(rule="threshold", tolerance=tolerance, rates="ignore")
        candidate = self._side(new, tier)
        try:
            baseline = candidate if old == new else self._side(old, tier)
        except NotFound as error:
            return Compared(comparison=not_compared(candidate, "no_baseline", str(error), baseline=old), candidate=candidate, baseline=None)
        return Compared(comparison=compare(candidate, baseline, policy=policy), candidate=candidate, baseline=baseline)

    def _side(self, version: str, tier: Tier) -> Measured:
        """Raises NotFound."""
        found = self.get(version)
        if tier not in found.tiers:
            how = f"flowgauge snapshot capture {version} --tier {_ASK_FOR[tier]}"
            raise NotFound(f"The snapshot of {version!r} has no {tier} tier.", remedy=f"Take it: {how}")
        return measured(self._benchmark(found, tier), version)

    def _keep(self, made: Snapshot, fresh: Sequence[Tier]) -> None:
        """In file and store, or in neither."""
        rows = [self._benchmark(made, tier) for tier in fresh]
        before = files.content(self._data, made.version)
        files.write(self._data, made)
        try:
            self._store.put_benchmarks(rows)
        except BaseException:
            files.put_back(self._data, made.version, before)
            raise

    def _file(self, version: str) -> Snapshot | None:
        """None also where it cannot be read."""
        try:
            return files.find(self._data, version)
        except BadFile:
            return None

    def _all_stored(self) -> dict[str, dict[str, Benchmark]]:
        """By version and tier."""
        found: dict[str, dict[str, Benchmark]] = {}
        for each in self._store.iter_benchmarks(kind=KIND, subject=SUBJECT):
            if "version" in each.tags:
                found.setdefault(each.tags["version"], {})[each.config] = each
        return found

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


def _snapshot(version: str, found: Mapping[str, Benchmark]) -> Snapshot | None:
    """What the store has of a version, by tier."""
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


def _after(old: Snapshot | None) -> datetime:
    """Now, or a moment after what is there: what was captured last counts, also where the clock of another machine is ahead."""
    now = datetime.now(UTC)
    return max(now, datetime.fromisoformat(old.captured_at) + timedelta(milliseconds=1)) if old else now


def _moment(part: Part) -> datetime:
    return datetime.fromisoformat(part.captured_at)


def _redacted() -> Callable[[Outcome], Outcome]:
    """What an adapter says when it fails may hold a secret."""
    redact = Redactor(secrets_of(os.environ))
    return lambda outcome: msgspec.structs.replace(outcome, reason=redact(outcome.reason))
