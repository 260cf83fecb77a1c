"""Snapshots: the metrics of one version, in `<data>/benchmarks/<version>.json`.

Tiers that are captured one after another are merged into one file, each with its
own time; a tier captured again takes the place of what it was. A file is written
whole or not at all. A version is a safe file name, or refused.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from flowgauge.errors import BadFile, Conflict, NotFound, UsageError
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.figure import Metric
from flowgauge.model.problem import Problem
from flowgauge.registry.adapter import TIERS, Outcome, Tier, check_name
from flowgauge.registry.whole_file import make_folder, write_whole
from flowgauge.store.filelock import locked

FOLDER = "benchmarks"
WAIT_S = 3600.0
"""How long a capture waits for another to end."""
AskedTier = Literal["fast", "heavy", "all"]
ASKED: dict[AskedTier, tuple[Tier, ...]] = {"fast": ("fast",), "heavy": ("heavy",), "all": TIERS}
"""Which tiers a capture runs."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One tier of a snapshot."""

    captured_at: str
    """UTC, ISO 8601."""
    git_sha: str = ""
    machine: str = ""
    metrics: tuple[str, ...] = ()
    """Names; the figures stand in the snapshot."""
    skipped: dict[str, str] = {}
    errors: dict[str, str] = {}


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A version, measured. The first seven fields are over all tiers; time and commit are the latest."""

    version: str
    git_sha: str
    captured_at: str
    tier: Literal["fast", "heavy", "dynamic", "all"]
    """all: more than one."""
    metrics: dict[str, Metric]
    skipped: dict[str, str] = {}
    """By adapter: why."""
    errors: dict[str, str] = {}
    tiers: dict[Tier, Part] = {}

    def of_tier(self, tier: Tier) -> dict[str, Metric]:
        """The metrics of one tier."""
        part = self.tiers.get(tier)
        return {name: self.metrics[name] for name in part.metrics} if part else {}

    def outside(self, tiers: Sequence[Tier]) -> dict[str, str]:
        """Metrics that other tiers gave, with whose they are."""
        return {name: f"tier {tier}" for tier, part in self.tiers.items() if tier not in tiers for name in part.metrics}


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured just now."""

    outcomes: tuple[Outcome, ...]
    git_sha: str
    machine: str
    moment: datetime
    tiers: tuple[Tier, ...] = ()
    """Asked for: one that the snapshot had and that no adapter is of any more is empty from now on."""


def check_version(version: str) -> str:
    """Raises UsageError for what is no safe file name."""
    return check_name(version, "A version")


def spelled(moment: datetime) -> str:
    """2026-02-24T12:00:00.125Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def merged(old: Snapshot | None, version: str, taken: Taken) -> Snapshot:
    """The snapshot with the tiers that were measured just now."""
    before: dict[Tier, Part] = old.tiers if old else {}
    now = {each.tier for each in taken.outcomes} | (set(taken.tiers) & set(before))
    parts = {**before, **{tier: _part(tier, taken) for tier in now}}
    figures = {**(old.metrics if old else {}), **{name: metric for each in taken.outcomes for name, metric in each.metrics.items()}}
    return whole(version, parts, figures)


def _part(tier: Tier, taken: Taken) -> Part:
    mine = [each for each in taken.outcomes if each.tier == tier]
    return Part(
        captured_at=spelled(taken.moment),
        git_sha=taken.git_sha,
        machine=taken.machine,
        metrics=tuple(name for each in mine for name in each.metrics),
        skipped={each.adapter: each.reason for each in mine if each.status == "skipped"},
        errors={each.adapter: each.reason for each in mine if each.status == "error"},
    )


def whole(version: str, parts: dict[Tier, Part], figures: dict[str, Metric]) -> Snapshot:
    """A snapshot of its parts."""
    if not parts:
        raise UsageError("There is no adapter of that tier.", remedy="See: flowgauge registry list")
    ordered = {tier: parts[tier] for tier in TIERS if tier in parts}
    latest = max(ordered.values(), key=lambda part: part.captured_at)
    return Snapshot(
        version=version,
        git_sha=latest.git_sha,
        captured_at=latest.captured_at,
        tier=next(iter(ordered)) if len(ordered) == 1 else "all",
        metrics={name: figures[name] for part in ordered.values() for name in part.metrics},
        skipped={name: why for part in ordered.values() for name, why in part.skipped.items()},
        errors={name: why for part in ordered.values() for name, why in part.errors.items()},
        tiers=ordered,
    )


def newest(one: Snapshot | None, other: Snapshot | None) -> Snapshot | None:
    """Of each tier the later capture; of two at the same moment that of `one`."""
    if one is None or other is None:
        return one or other
    chosen = sorted(
        ((tier, _later(tier, one, other)) for tier in {**one.tiers, **other.tiers}), key=lambda each: each[1].tiers[each[0]].captured_at
    )
    parts: dict[Tier, Part] = {}
    figures: dict[str, Metric] = {}
    for tier, each in reversed(chosen):
        # Two machines may have given one name in two tiers: the later has it, and in the other it is missed.
        mine = tuple(name for name in each.tiers[tier].metrics if name not in figures)
        parts[tier] = msgspec.structs.replace(each.tiers[tier], metrics=mine)
        figures |= {name: each.metrics[name] for name in mine}
    return whole(one.version, parts, figures)


def _later(tier: Tier, one: Snapshot, other: Snapshot) -> Snapshot:
    if tier not in one.tiers or tier not in other.tiers:
        return one if tier in one.tiers else other
    return other if other.tiers[tier].captured_at > one.tiers[tier].captured_at else one


# ── files ───────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def writing(data: Path, wait_s: float = WAIT_S) -> Iterator[None]:
    """Around capture and write: two that capture the same version at once would lose a tier of one."""
    folder = make_folder(data / FOLDER)
    with locked(folder / ".lock", wait_s=wait_s) as had:
        if not had:
            raise Conflict("Another snapshot is being captured.", remedy="Wait for its end.")
        yield


def write(data: Path, snapshot: Snapshot) -> Path:
    """Whole or not at all. Raises UsageError where it cannot be."""
    return write_whole(_place(data, snapshot.version), msgspec.json.format(msgspec.json.encode(snapshot)))


def put_back(data: Path, version: str, before: bytes | None) -> None:
    """The file as it was: what took its place is not kept."""
    if before is None:
        _place(data, version).unlink(missing_ok=True)
    else:
        write_whole(_place(data, version), before)


def content(data: Path, version: str) -> bytes | None:
    """Of the file, whatever it holds; None where there is none."""
    place = _place(data, version)
    return place.read_bytes() if place.is_file() else None


def read(data: Path, version: str) -> Snapshot:
    """Raises NotFound, or BadFile for what is no snapshot."""
    place = _place(data, version)
    try:
        found = msgspec.json.decode(place.read_bytes(), type=Snapshot)
    except FileNotFoundError:
        raise NotFound(
            f"There is no snapshot of {version!r}. {did_you_mean(version, versions(data))}",
            remedy=f"Take one: flowgauge snapshot capture {version}",
        ) from None
    except (msgspec.DecodeError, OSError) as error:
        raise _bad(place, f"{error}") from None
    lost = [name for part in found.tiers.values() for name in part.metrics if name not in found.metrics]
    if lost:
        raise _bad(place, f"it lists the metric {lost[0]!r} and does not have it")
    if found.version != version:
        raise _bad(place, f"it is of version {found.version!r}")
    return found


def find(data: Path, version: str) -> Snapshot | None:
    """None where there is none."""
    return read(data, version) if _place(data, version).is_file() else None


def damage(data: Path, version: str) -> str:
    """What is wrong with the file; empty where nothing is, or where there is none."""
    try:
        find(data, version)
    except UsageError as error:
        return str(error)
    return ""


def versions(data: Path) -> list[str]:
    """By name."""
    return sorted(file.stem for file in (data / FOLDER).glob("[!.]*.json"))


def _place(data: Path, version: str) -> Path:
    return data / FOLDER / f"{check_version(version)}.json"


def _bad(place: Path, why: str) -> BadFile:
    remedy = "Capture it again, or restore the file; without the file what the store has counts."
    return BadFile(str(place), [Problem(0, "", f"This is no snapshot: {why}.", remedy)])
