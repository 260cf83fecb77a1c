from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.registry import misbehaving as bad

from flowgauge.app.comparing import compare_stored, gate_stored
from flowgauge.app.registry import Registry
from flowgauge.app.trends import trends_of
from flowgauge.errors import BadFile, NotFound, UsageError
from flowgauge.model.figure import Metric
from flowgauge.model.gate import Policy
from flowgauge.registry import register_benchmark, snapshot, unregister_benchmark
from flowgauge.registry.adapter import Outcome, Tier
from flowgauge.registry.snapshot import Snapshot, Taken

if TYPE_CHECKING:
    from flowgauge.store.store import Store

MOMENT = datetime(2026, 2, 24, 12, tzinfo=UTC)


def taken(tier: Tier, name: str, value: float, *, later_s: int = 0, sha: str = "abc") -> Taken:
    outcome = Outcome(adapter=f"of_{name}", tier=tier, status="measured", metrics={name: Metric(value=value, direction="lower", unit="ms")})
    return Taken(outcomes=(outcome,), git_sha=sha, machine="m", moment=MOMENT + timedelta(seconds=later_s))


@pytest.fixture
def registry(store: Store, tmp_path: Path) -> Registry:
    return Registry(store, tmp_path / "data", time_limit_s=30)


@pytest.fixture
def speedy() -> Iterator[bad.Adapter]:
    adapter = bad.Adapter("speedy")
    register_benchmark(adapter)
    yield adapter
    unregister_benchmark("speedy")


def faster(adapter: bad.Adapter, value: float) -> None:
    adapter.answer = {"speed": {"value": value, "direction": "higher", "unit": "m/s"}}


def test_tiers_captured_one_after_another_are_merged_each_with_its_own_time() -> None:
    fast = snapshot.merged(None, "v1", taken("fast", "a", 1))
    both = snapshot.merged(fast, "v1", taken("heavy", "b", 2, later_s=60, sha="def"))
    assert (fast.tier, both.tier, both.git_sha, both.captured_at) == ("fast", "all", "def", "2026-02-24T12:01:00.000Z")
    assert {name: metric.value for name, metric in both.metrics.items()} == {"a": 1, "b": 2}
    assert {tier: part.captured_at for tier, part in both.tiers.items()} == {
        "fast": "2026-02-24T12:00:00.000Z",
        "heavy": "2026-02-24T12:01:00.000Z",
    }
    assert (both.tiers["fast"].git_sha, both.of_tier("fast")["a"].value) == ("abc", 1)


def test_a_tier_captured_again_takes_the_place_of_what_it_was() -> None:
    first = snapshot.merged(None, "v1", taken("fast", "a", 1))
    again = snapshot.merged(first, "v1", taken("fast", "renamed", 3))
    assert list(again.metrics) == ["renamed"]


def test_a_snapshot_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = snapshot.merged(None, "v1.0+b.2", taken("fast", "a", 1.5))
    place = snapshot.write(tmp_path, made)
    assert place == tmp_path / "benchmarks" / "v1.0+b.2.json"
    assert snapshot.read(tmp_path, "v1.0+b.2") == made


def test_a_snapshot_that_cannot_be_written_leaves_the_old_one_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = snapshot.merged(None, "v1", taken("fast", "a", 1))
    snapshot.write(tmp_path, old)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UsageError, match="cannot be written: No space left"):
        snapshot.write(tmp_path, snapshot.merged(None, "v1", taken("fast", "a", 2)))
    assert snapshot.read(tmp_path, "v1") == old
    assert [file.name for file in (tmp_path / "benchmarks").iterdir()] == ["v1.json"]


@pytest.mark.parametrize("version", ["../v1", "a/b", "a\\b", "..", ".", "", "-v", ".v1", "v 1", "v\n1", "v\x001", "x" * 65, "v1..2"])
def test_a_version_that_is_no_safe_file_name_is_refused(version: str, registry: Registry, tmp_path: Path) -> None:
    for act in (registry.capture_snapshot, registry.snapshots.get):
        with pytest.raises(UsageError, match="cannot be called"):
            act(version)
    assert not (tmp_path / "data").exists()


def _changed(made: Snapshot, value: object) -> str:
    plain = json.loads(json.dumps({"version": made.version, "git_sha": "", "captured_at": made.captured_at, "tier": "fast"}))
    return json.dumps({**plain, "metrics": {"a": {"value": value, "direction": "lower"}}})


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param('{"version": "v1"', id="half a file"),
        pytest.param('{"version": "v1"}', id="fields are missing"),
        pytest.param(_changed(snapshot.merged(None, "v1", taken("fast", "a", 1)), math.nan), id="NaN"),
        pytest.param(_changed(snapshot.merged(None, "v1", taken("fast", "a", 1)), "1"), id="a text for a number"),
        pytest.param(_changed(snapshot.merged(None, "other", taken("fast", "a", 1)), 1), id="of another version"),
        pytest.param(_changed(snapshot.merged(None, "v1", taken("fast", "a", 1)), 1).replace(": 1,", ": 1e999,"), id="a number too large"),
    ],
)
def test_a_file_that_is_no_snapshot_is_refused_and_never_safe(text: str, registry: Registry, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "benchmarks"
    folder.mkdir(parents=True)
    (folder / "v1.json").write_text(text, encoding="utf-8")
    for versions in (("v0", "v1"), ("v1", "v2")):
        with pytest.raises(BadFile, match="This is no snapshot"):
            registry.is_upgrade_safe(*versions)


def test_a_snapshot_that_is_not_there_names_the_nearest(registry: Registry, tmp_path: Path) -> None:
    snapshot.write(tmp_path / "data", snapshot.merged(None, "v1.0", taken("fast", "a", 1)))
    with pytest.raises(NotFound, match=r"Did you mean 'v1\.0'"):
        registry.snapshots.get("v1.1")


def test_a_captured_version_is_in_its_file_and_in_the_store(registry: Registry, store: Store, speedy: bad.Adapter) -> None:
    made = registry.capture_snapshot("v1", "abc123")
    assert made.metrics["speed"] == Metric(value=3, direction="higher", unit="m/s")
    (stored,) = store.list_benchmarks(kind="snapshot").items
    assert (stored.subject, stored.config, stored.tags["version"], stored.commit) == ("registry", "fast", "v1", "abc123")
    assert stored.metrics == made.metrics
    assert set(made.skipped) == {"model_registry", "world_model", "regression", "guardrail"}
    assert registry.get_latest_results() == made


def test_capturing_again_leaves_one_benchmark_a_tier(registry: Registry, store: Store, speedy: bad.Adapter) -> None:
    registry.capture_snapshot("v1", "abc")
    faster(speedy, 4)
    registry.capture_snapshot("v1", "abc", "all")
    stored = {each.config: each for each in store.list_benchmarks(kind="snapshot").items}
    assert set(stored) == {"fast", "heavy"}
    assert stored["fast"].metrics["speed"].value == 4


def test_compare_gate_and_trend_work_on_snapshots(registry: Registry, store: Store, speedy: bad.Adapter) -> None:
    for number, value in enumerate((3.0, 2.85, 2.0), 1):
        faster(speedy, value)
        registry.capture_snapshot(f"v{number}", "abc")
    assert registry.is_upgrade_safe("v1", "v2")[0] is True
    assert registry.is_upgrade_safe("v2", "v3")[0] is False
    sids = {each.tags["version"]: each.sid for each in store.list_benchmarks(kind="snapshot").items}
    policy = Policy(rule="threshold")
    compared = compare_stored(store, sids["v3"], sids["v1"], policy)
    assert gate_stored(store, compared, policy).exit_code == 1
    (trend,) = trends_of(store, "registry", ["speed"], config="fast")
    assert ([point.value for point in trend.points], trend.trend) == ([3.0, 2.85, 2.0], "declining")
    assert registry.snapshots.compare("v1", "v3", "fast", 0.05).comparison.metrics[0].verdict == "regressed"
    assert registry.snapshots.compare("v0", "v3", "fast", 0.05).comparison.attempt == "no_baseline"


def test_where_the_file_is_not_here_the_store_has_the_snapshot(
    registry: Registry, store: Store, speedy: bad.Adapter, tmp_path: Path
) -> None:
    register_benchmark(bad.Raises("raises"))
    try:
        made = registry.capture_snapshot("v1", "abc")
    finally:
        unregister_benchmark("raises")
    elsewhere = Registry(store, tmp_path / "other machine")
    assert elsewhere.snapshots.get("v1") == made
    assert elsewhere.snapshots.list() == [made]
    assert elsewhere.upgrade_check("v0", "v1").exit_code == 3


def test_a_metric_of_another_tier_is_not_overwritten(registry: Registry, speedy: bad.Adapter, tmp_path: Path) -> None:
    snapshot.write(tmp_path / "data", snapshot.merged(None, "v1", taken("heavy", "speed", 9)))
    made = registry.capture_snapshot("v1", "abc")
    assert made.metrics["speed"].value == 9
    assert "tier heavy gave already" in made.errors["speedy"]


def test_a_secret_in_what_an_adapter_says_is_not_kept(registry: Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EXAMPLE_API_KEY", "sk-very-secret-0123456789")
    register_benchmark(bad.Adapter("leaks", {"sk-very-secret-0123456789": 3}))
    try:
        registry.capture_snapshot("v1", "abc")
    finally:
        unregister_benchmark("leaks")
    assert "sk-very-secret" not in (tmp_path / "data" / "benchmarks" / "v1.json").read_text(encoding="utf-8")


# ── one truth in files and store ────────────────────────────────────────────


def answers(registry: Registry) -> tuple[float | None, bool, str]:
    """The value of v2, whether it is safe after v1, and the verdict of a comparison."""
    value = registry.snapshots.get("v2").metrics["speed"].value
    (verdict,) = registry.snapshots.compare("v1", "v2", "fast", 0.05).comparison.metrics
    return value, registry.is_upgrade_safe("v1", "v2")[0], verdict.verdict


def test_the_latest_capture_counts_on_every_machine_that_shares_a_store(
    registry: Registry, store: Store, speedy: bad.Adapter, tmp_path: Path
) -> None:
    faster(speedy, 100)
    for version in ("v1", "v2"):
        registry.capture_snapshot(version, "abc")
    elsewhere = Registry(store, tmp_path / "other machine", time_limit_s=30)
    faster(speedy, 50)
    elsewhere.capture_snapshot("v2", "abc")
    assert answers(registry) == answers(elsewhere) == (50, False, "regressed")
    assert registry.snapshots.list() == elsewhere.snapshots.list()
    faster(speedy, 99)
    registry.capture_snapshot("v2", "abc")
    assert answers(registry) == answers(elsewhere) == (99, True, "unchanged")


def test_a_capture_made_while_another_clock_is_ahead_still_takes_its_place(
    registry: Registry, store: Store, speedy: bad.Adapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ahead(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(hours=1)

    with monkeypatch.context() as patched:
        patched.setattr("flowgauge.app.snapshots.datetime", Ahead)
        faster(speedy, 50)
        Registry(store, tmp_path / "other machine", time_limit_s=30).capture_snapshot("v1", "abc")
    faster(speedy, 100)
    registry.capture_snapshot("v1", "abc")
    assert registry.snapshots.get("v1").metrics["speed"].value == 100


@pytest.mark.parametrize("there", [pytest.param(True, id="an older capture is there"), pytest.param(False, id="it is the first")])
@pytest.mark.parametrize("fails", ["flowgauge.registry.snapshot.write", "flowgauge.store.store.Store.put_benchmarks"])
def test_a_capture_that_cannot_be_kept_in_both_is_kept_in_neither(
    registry: Registry, store: Store, speedy: bad.Adapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str, there: bool
) -> None:
    if there:
        registry.capture_snapshot("v1", "abc")
    before = registry.snapshots.list()

    def full(*_: object) -> None:
        raise UsageError("No room.")

    with monkeypatch.context() as patched:
        patched.setattr(fails, full)
        faster(speedy, 10)
        with pytest.raises(UsageError, match="No room"):
            registry.capture_snapshot("v1", "abc")
    assert registry.snapshots.list() == before
    assert Registry(store, tmp_path / "other machine").snapshots.list() == before
    assert [file.name for file in (tmp_path / "data" / "benchmarks").glob("*.json")] == (["v1.json"] if there else [])


def test_what_two_machines_gave_in_two_tiers_is_told_of_one_alone() -> None:
    here = snapshot.merged(None, "v1", taken("heavy", "a", 1))
    there = snapshot.merged(None, "v1", taken("fast", "a", 2, later_s=1))
    found = snapshot.newest(here, there)
    assert found == snapshot.newest(there, here)
    assert found
    assert ({name: metric.value for name, metric in found.of_tier("fast").items()}, found.of_tier("heavy")) == ({"a": 2}, {})


def test_a_damaged_file_hinders_neither_lists_nor_the_next_capture(registry: Registry, speedy: bad.Adapter, tmp_path: Path) -> None:
    for version in ("v1", "v2"):
        registry.capture_snapshot(version, "abc")
    file = tmp_path / "data" / "benchmarks" / "v1.json"
    file.write_text("{", encoding="utf-8")
    (file.parent / "only-here.json").write_text("{", encoding="utf-8")
    assert [each.version for each in registry.snapshots.list()] == ["v1", "v2"]
    assert registry.get_latest_results() == registry.snapshots.get("v2")
    damaged = registry.snapshots.damaged()
    assert set(damaged) == {"v1", "only-here"}
    assert "This is no snapshot" in damaged["v1"]
    for version in damaged:
        assert registry.capture_snapshot(version, "abc").metrics["speed"].value == 3
    assert (registry.snapshots.damaged(), registry.is_upgrade_safe("v1", "v2")[0]) == ({}, True)


def test_a_tier_without_adapters_any_more_is_empty_after_a_capture_of_all(registry: Registry, store: Store, tmp_path: Path) -> None:
    gone = bad.Adapter("gone", {"old": {"value": 1, "direction": "higher"}})
    gone.tier = "dynamic"
    register_benchmark(gone)
    try:
        registry.capture_snapshot("v1", "abc", "all")
    finally:
        unregister_benchmark("gone")
    assert registry.snapshots.get("v1").of_tier("dynamic")["old"].value == 1
    made = registry.capture_snapshot("v1", "abc", "all")
    assert ("old" in made.metrics, made.of_tier("dynamic")) == (False, {})
    assert Registry(store, tmp_path / "other machine").snapshots.get("v1") == made


@pytest.mark.parametrize(("tier", "asked"), [("heavy", "--tier heavy"), ("dynamic", "--tier all"), ("fast", "--tier fast")])
def test_a_tier_that_is_not_there_is_told_with_what_captures_it(registry: Registry, tmp_path: Path, tier: Tier, asked: str) -> None:
    other: Tier = "heavy" if tier == "fast" else "fast"
    snapshot.write(tmp_path / "data", snapshot.merged(None, "v1", taken(other, "a", 1)))
    with pytest.raises(NotFound, match=f"has no {tier} tier.*snapshot capture v1 {asked}"):
        registry.snapshots.compare("v1", "v1", tier, 0.05)


def test_an_unknown_version_is_told_and_not_taken_for_the_first(registry: Registry, speedy: bad.Adapter, tmp_path: Path) -> None:
    registry.capture_snapshot("v1.0", "abc")
    assert registry.upgrade_check("v0.9", "v1.0").first
    registry.capture_snapshot("v1.1", "abc")
    found = registry.upgrade_check("v1.O", "v1.1")
    assert (found.safe, found.exit_code, found.first) == (False, 3, False)
    assert "Did you mean 'v1.0'?" in found.reason
    (tmp_path / "data" / "benchmarks" / "v1.0.json").unlink()
    assert registry.upgrade_check("v1.O", "v1.1").exit_code == 3


def test_snapshots_outlive_pruning_unless_it_is_asked_for(registry: Registry, store: Store, speedy: bad.Adapter, tmp_path: Path) -> None:
    registry.capture_snapshot("v1", "abc")
    for asked in ({"younger_than_days": 0}, {"keep_newest": 0}):
        pruned = store.prune(**asked)  # type: ignore[arg-type]
        assert (pruned.benchmarks, pruned.snapshots) == (0, 0)
    faster(speedy, 1)
    elsewhere = Registry(store, tmp_path / "other machine", time_limit_s=30)
    elsewhere.capture_snapshot("v2", "abc")
    assert elsewhere.upgrade_check("v1", "v2").exit_code == 1
    assert store.prune(keep_newest=1, snapshots=True, dry_run=True).snapshots == 1
    gone = store.prune(keep_newest=1, snapshots=True)
    assert (gone.benchmarks, gone.snapshots, [each.tags["version"] for each in store.list_benchmarks().items]) == (0, 1, ["v2"])


def test_a_trend_names_the_versions(registry: Registry, store: Store, speedy: bad.Adapter) -> None:
    for version in ("v1", "v2", "2026"):
        registry.capture_snapshot(version, "abc")
    (trend,) = trends_of(store, "registry", ["speed"], config="fast")
    assert [point.label for point in trend.points] == ["v1", "v2", "2026"]


@pytest.mark.parametrize("blocked", ["a file", "/proc/x", "below a file"])
def test_a_data_folder_that_cannot_be_used_is_told_with_a_remedy(store: Store, tmp_path: Path, blocked: str) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    data = {"a file": file, "/proc/x": Path("/proc/x"), "below a file": file / "data"}[blocked]
    registry = Registry(store, data)
    assert registry.snapshots.list() == []
    with pytest.raises(UsageError, match=r"The data folder cannot be used.*FLOWGAUGE_DATA"):
        registry.capture_snapshot("v1", "abc")
