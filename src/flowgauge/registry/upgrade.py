"""May a version take the place of another? Fast-tier metrics, bare thresholds, 5 %.

Pure: snapshots in, an answer out. A first version has nothing to be held against
and is let through, saying so; a version that was not measured is not safe; what
vanished, could not be measured or failed is not measured, and never safe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from flowgauge.aggregate.measured import measured
from flowgauge.compare.comparison import compare
from flowgauge.compare.gate import judge
from flowgauge.model.benchmark import Benchmark, Fingerprint
from flowgauge.model.gate import Policy
from flowgauge.model.metric import Measured
from flowgauge.model.verdict import GateLine, GateStatus
from flowgauge.registry.adapter import Tier
from flowgauge.registry.snapshot import Snapshot

TOLERANCE = 0.05
TIER: Tier = "fast"
_POLICY = Policy(rule="threshold", tolerance=TOLERANCE, rates="ignore")
_EXIT: dict[GateStatus, Literal[0, 1, 3]] = {"passed": 0, "failed": 1, "not_measured": 3}


class UpgradeCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The answer, with what it was made of."""

    old: str
    new: str
    safe: bool
    reason: str
    exit_code: Literal[0, 1, 3]
    """0 safe, 1 regressed, 3 not measured."""
    first: bool = False
    """There was no old snapshot."""
    lines: tuple[GateLine, ...] = ()


def check_upgrade(old_name: str, old: Snapshot | None, new_name: str, new: Snapshot | None, *, strict: bool = False) -> UpgradeCheck:
    """`strict`: a first version is not measured instead of let through."""
    if new is None or TIER not in new.tiers:
        what = "no snapshot" if new is None else "no fast tier in the snapshot"
        reason = f"There is {what} of {new_name}, so nothing is known of it; capture one: flowgauge snapshot capture {new_name}"
        return UpgradeCheck(old=old_name, new=new_name, safe=False, reason=reason, exit_code=3)
    if old_name == new_name:
        reason = f"{new_name} is held against itself, which tells nothing; name the version before it."
        return UpgradeCheck(old=old_name, new=new_name, safe=False, reason=reason, exit_code=3)
    lines = [*_failures(new), *_nothing(new)]
    if old is not None:
        lines += _compared(old, new)
    status: GateStatus = _status(lines) if lines else "passed"
    first = old is None
    if first and status == "passed":
        return _first(old_name, new_name, strict=strict)
    reason = _reason(old_name, new_name, status, lines)
    return UpgradeCheck(
        old=old_name, new=new_name, safe=status == "passed", reason=reason, exit_code=_EXIT[status], first=first, lines=tuple(lines)
    )


def _first(old_name: str, new_name: str, *, strict: bool) -> UpgradeCheck:
    reason = f"There is no snapshot of {old_name}: {new_name} is the first version, with nothing to be held against"
    told = f"{reason}; it is let through." if not strict else f"{reason}; --strict does not let it through."
    return UpgradeCheck(old=old_name, new=new_name, safe=not strict, reason=told, exit_code=3 if strict else 0, first=True)


def _compared(old: Snapshot, new: Snapshot) -> Sequence[GateLine]:
    candidate, baseline = _side(new), _side(old)
    return judge(compare(candidate, baseline, policy=_POLICY), candidate, _POLICY).lines


def _side(snapshot: Snapshot) -> Measured:
    part = snapshot.tiers.get(TIER)
    benchmark = Benchmark(
        sid=snapshot.version,
        bench_uid="",
        bench_id="",
        config=TIER,
        kind="snapshot",
        metrics=snapshot.of_tier(TIER),
        fingerprint=Fingerprint(machine=part.machine if part else ""),
    )
    return measured(benchmark, snapshot.version)


def _failures(new: Snapshot) -> Iterator[GateLine]:
    """An adapter that failed may have had anything to say."""
    for name, why in new.tiers[TIER].errors.items():
        told = f"The adapter {name} failed: {why}; mend it, and capture the snapshot again."
        yield GateLine(subject=name, status="not_measured", rule="threshold", verdict="error", words=told)


def _nothing(new: Snapshot) -> Iterator[GateLine]:
    if not any(metric.value is not None for metric in new.of_tier(TIER).values()):
        told = f"No fast-tier metric of {new.version} was measured; see what was skipped: flowgauge snapshot show {new.version}"
        yield GateLine(subject="metrics", status="not_measured", rule="threshold", verdict="nothing_measured", words=told)


def _status(lines: Sequence[GateLine]) -> GateStatus:
    found = {line.status for line in lines}
    return "failed" if "failed" in found else "not_measured" if "not_measured" in found else "passed"


def _reason(old_name: str, new_name: str, status: GateStatus, lines: Sequence[GateLine]) -> str:
    if status == "passed":
        count = f"{len(lines)} metric{'' if len(lines) == 1 else 's'}"
        return f"{new_name} is no worse than {old_name} by more than 5 % in any of {count}."
    return " ".join(line.words for line in lines if line.status == status)
