"""May a version take the place of another? Fast-tier metrics, bare thresholds, 5 %.

Pure: snapshots in, an answer out. A first version, where no other has a snapshot,
has nothing to be held against and is let through, saying so; a version that was not measured is not safe; what
vanished, could not be measured or failed is not measured, and never safe.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

import msgspec

from flowgauge.aggregate.measured import measured
from flowgauge.compare import words
from flowgauge.compare.comparison import compare
from flowgauge.compare.gate_metrics import Saying, metric_lines
from flowgauge.lang.wording import did_you_mean
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


def check_upgrade(
    old_name: str, old: Snapshot | None, new_name: str, new: Snapshot | None, *, known: Collection[str] = (), strict: bool = False
) -> UpgradeCheck:
    """`known`: the versions that have a snapshot; only where there is no other is the new one the first.

    `strict`: a first version is not measured instead of let through.
    """
    if new is None or TIER not in new.tiers:
        what = "no snapshot" if new is None else "no fast tier in the snapshot"
        reason = f"There is {what} of {new_name}, so nothing is known of it; capture one: flowgauge snapshot capture {new_name}"
        return _unknown(old_name, new_name, reason)
    if old_name == new_name:
        return _unknown(old_name, new_name, f"{new_name} is held against itself, which tells nothing; name the version before it.")
    others = sorted(set(known) - {new_name})
    if old is None and others:
        return _unknown(old_name, new_name, _not_the_first(old_name, new_name, others))
    if old is not None and TIER not in old.tiers:
        reason = f"There is no fast tier in the snapshot of {old_name}; capture it there: flowgauge snapshot capture {old_name}"
        return _unknown(old_name, new_name, reason)
    return _judged(old_name, old, new_name, new, strict=strict)


def _unknown(old_name: str, new_name: str, reason: str) -> UpgradeCheck:
    return UpgradeCheck(old=old_name, new=new_name, safe=False, reason=reason, exit_code=3)


def _not_the_first(old_name: str, new_name: str, others: Sequence[str]) -> str:
    count = words.several(len(others), "other version")
    told = f"There is no snapshot of {old_name}, and {new_name} is not the first: {count} {'has' if len(others) == 1 else 'have'} one"
    return f"{told}. {did_you_mean(old_name, others)} See: flowgauge snapshot list"


def _judged(old_name: str, old: Snapshot | None, new_name: str, new: Snapshot, *, strict: bool) -> UpgradeCheck:
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
    saying = Saying(
        baseline=old.version,
        candidate=new.version,
        if_regressed=f"mend it, and capture {new.version} again",
        if_vanished=f"have it measured, and capture {new.version} again",
    )
    lines = tuple(metric_lines(compare(_side(new), _side(old), policy=_POLICY), _POLICY, saying))
    if lines:
        return lines
    told = f"Nothing was judged: no fast-tier metric of {old.version} was measured; capture it again there."
    return [GateLine(subject="metrics", status="not_measured", rule="threshold", verdict="nothing_asked", words=told)]


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
    return "; ".join(line.words.removesuffix(".") for line in lines if line.status == status) + "."
