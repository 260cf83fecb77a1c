from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.app.agents_at_work import SECTIONS, captured, played, rates, tried
from tests.app.hosting import benched, hosted

from flowgauge.app import agents as module
from flowgauge.app.agent_records import sid_of
from flowgauge.app.agents import AgentBaselines
from flowgauge.app.comparing import compare_stored, gate_stored
from flowgauge.app.daemon import DaemonSettings
from flowgauge.app.host import Host
from flowgauge.app.trends import trends_of
from flowgauge.errors import BadFile, NotFound, UsageError
from flowgauge.model.gate import Policy
from flowgauge.registry.agents import files
from flowgauge.registry.agents.agent import agent_of
from flowgauge.registry.agents.snapshot import read_sections
from flowgauge.store.store import Store

ONE_CASE = {"cases": [{"name": "one", "inputs": {}}], "configs": [{"name": "as it is"}]}
BOUGHT = "sk-abcdefghijklmnopqrstuvwx"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def agents(store: Store, data: Path) -> AgentBaselines:
    return AgentBaselines(store, data)


def regress(agents: AgentBaselines, sections: dict[str, Any]) -> int | None:
    """What the daemon does, with figures that are handed in."""
    kept = agents.keep_evidence(agents.examine(agent_of("p", "f"), read_sections(sections)))
    return kept.version if kept else None


def damage(store: Store, data: Path, version: int, text: str = "{") -> None:
    """The file, where the store has lost it."""
    store.delete_benchmark(sid_of(agent_of("p", "f"), version))
    (data / "baselines" / "p_f" / f"v{version}.json").write_text(text, encoding="utf-8")


def test_twelve_versions_are_listed_in_numeric_order(agents: AgentBaselines, data: Path) -> None:
    for number in range(1, 13):
        assert captured(agents.capture_snapshot("p", "f", "prompt_change", sections=SECTIONS)).version == number
    assert [each.version for each in agents.list_snapshots("p", "f")] == list(range(1, 13))
    assert captured(agents.get_latest_snapshot("p", "f")).version == 12
    assert sorted(file.name for file in (data / "baselines" / "p_f").iterdir()) == sorted(f"v{number}.json" for number in range(1, 13))
    assert captured(agents.capture_snapshot("p", "f", "prompt_change", sections=SECTIONS)).version == 13


def test_a_snapshot_is_in_its_file_and_in_the_store_as_it_was_handed_in(agents: AgentBaselines, store: Store, data: Path) -> None:
    made = captured(agents.capture_snapshot("p", "f", "creation", "user_123", "Sort my mail", sections=SECTIONS))
    text = json.loads((data / "baselines" / "p_f" / "v1.json").read_text(encoding="utf-8"))
    assert list(text)[:8] == [
        *("version", "trigger", "timestamp", "user_id"),
        *("recipe_metrics", "lightning_metrics", "benchmark_metrics", "trust_evolution"),
    ]
    assert text["recipe_metrics"]["success_rates"] == {"a": 0.8, "b": 1.0}
    assert text["lightning_metrics"]["execution_count"] is None
    assert text["trust_evolution"]["composite_trust_score"] is None
    assert (text["user_id"], text["user_prompt"]) == ("user_123", "Sort my mail")
    (stored,) = store.list_benchmarks(kind="snapshot").items
    assert (stored.subject, stored.tags["version"], stored.metrics["success_rate.a"].direction) == ("agent:p/f", "1", "higher")
    assert "composite_trust_score" not in stored.metrics
    assert agents.get_snapshot("p", "f", 1) == made


def test_where_the_file_is_missing_it_is_read_from_the_store(agents: AgentBaselines, store: Store, tmp_path: Path) -> None:
    made = captured(agents.capture_snapshot("a/b", "c_d", "creation", sections=SECTIONS))
    elsewhere = AgentBaselines(store, tmp_path / "another machine")
    assert elsewhere.list_snapshots("a/b", "c_d") == [made]
    assert elsewhere.list_agents() == [agent_of("a/b", "c_d")]
    assert captured(elsewhere.capture_snapshot("a/b", "c_d", "prompt_change", sections=SECTIONS)).version == 2
    assert [each.version for each in agents.list_snapshots("a/b", "c_d")] == [1, 2]


def test_where_the_store_has_lost_it_it_is_read_from_the_file(agents: AgentBaselines, store: Store) -> None:
    made = captured(agents.capture_snapshot("p", "f", "creation", sections=SECTIONS))
    store.delete_benchmark(sid_of(agent_of("p", "f"), 1))
    assert list(store.iter_benchmarks()) == []
    assert agents.list_snapshots("p", "f") == [made]
    assert captured(agents.capture_snapshot("p", "f", "prompt_change", sections=SECTIONS)).version == 2


def test_a_snapshot_that_cannot_be_written_leaves_nothing_behind(
    agents: AgentBaselines, store: Store, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UsageError, match="No space left"):
        agents.capture_snapshot("p", "f", "creation", sections=SECTIONS)
    assert list(store.iter_benchmarks()) == []
    assert list((data / "baselines" / "p_f").iterdir()) == []
    monkeypatch.undo()
    assert captured(agents.capture_snapshot("p", "f", "creation", sections=SECTIONS)).version == 1


def test_compare_gate_and_trend_work_on_what_is_stored(agents: AgentBaselines, store: Store) -> None:
    for rate in (1.0, 0.5):
        agents.capture_snapshot("p", "f", "prompt_change", sections=rates(0.9, a=rate))
    (trend,) = trends_of(store, "agent:p/f", ["success_rate.a"])
    assert (trend.trend, [point.value for point in trend.points]) == ("declining", [1.0, 0.5])
    new, old = (each.sid for each in store.list_benchmarks(subject="agent:p/f").items)
    policy = Policy(rule="threshold", tolerance=0.05, rates="ignore")
    result = gate_stored(store, compare_stored(store, new, old, policy), policy)
    assert (result.status, [line.subject for line in result.lines if line.status == "failed"]) == ("failed", ["success_rate.a"])


# ── triggers ────────────────────────────────────────────────────────────────


class Clock(datetime):
    """Time that a test sets."""

    moment = datetime(2026, 2, 24, 12, tzinfo=UTC)

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return cls.moment.astimezone(tz)


def test_a_recipe_change_within_a_minute_of_the_creation_is_skipped(agents: AgentBaselines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "datetime", Clock)
    began = Clock.moment
    agents.capture_snapshot("p", "f", "creation", sections=SECTIONS)
    for seconds, version in ((59.999, None), (60, 2), (61, 3)):
        monkeypatch.setattr(Clock, "moment", began + timedelta(seconds=seconds))
        made = agents.capture_snapshot("p", "f", "recipe_change", sections=SECTIONS)
        assert (made.version if made else None) == version
    monkeypatch.setattr(Clock, "moment", began + timedelta(seconds=1))
    assert captured(agents.capture_snapshot("p", "f", "prompt_change", sections=SECTIONS)).version == 4
    assert captured(agents.capture_snapshot("p", "other", "recipe_change", sections=SECTIONS)).version == 1


# ── validation ──────────────────────────────────────────────────────────────


def test_a_regression_is_kept_as_evidence_and_is_not_the_baseline_afterwards(agents: AgentBaselines) -> None:
    agents.capture_snapshot("p", "f", "creation", sections=rates(a=1.0))
    assert regress(agents, rates(a=0.5)) == 2
    evidence = agents.get_snapshot("p", "f")
    assert (evidence.version, evidence.regressed, evidence.baseline_version) == (2, True, 1)
    assert evidence.regressions == ("The success rate of a is 0.5, below 95 % of 1 in baseline v1.",)
    again = agents.validate_against_baseline("p", "f", sections=rates(a=0.5))
    assert (again.passed, again.baseline_version, again.exit_code) == (False, 1, 1)
    assert [(each.version, each.baseline, each.regressed) for each in agents.list_versions("p", "f")] == [
        (1, True, False),
        (2, False, True),
    ]
    agents.capture_snapshot("p", "f", "prompt_change", sections=rates(a=0.6))
    assert agents.validate_against_baseline("p", "f", sections=rates(a=0.58)).baseline_version == 3


def test_what_did_not_regress_leaves_no_evidence(agents: AgentBaselines) -> None:
    assert regress(agents, rates(a=1.0)) is None
    agents.capture_snapshot("p", "f", "creation", sections=rates(a=1.0))
    assert regress(agents, rates(a=0.95)) is None
    assert regress(agents, rates()) is None
    assert len(agents.list_snapshots("p", "f")) == 1


def test_the_same_data_are_kept_once(agents: AgentBaselines) -> None:
    agents.capture_snapshot("p", "f", "creation", sections=rates(a=1.0))
    assert [regress(agents, rates(a=0.5)) for _ in range(3)] == [2, None, None]


@pytest.mark.parametrize(
    "error", [RuntimeError("out of luck"), KeyError(), NotFound("gone"), OSError("disk")], ids=lambda error: type(error).__name__
)
def test_an_exception_in_validation_fails_it(agents: AgentBaselines, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    agents.capture_snapshot("p", "f", "creation", sections=rates(a=1.0))

    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(module, "facts_of", broken)
    found = agents.validate_against_baseline("p", "f", sections=rates(a=1.0))
    assert (found.passed, found.status, found.exit_code) == (False, "failed", 1)
    assert "could not be validated" in found.error


@pytest.mark.parametrize(
    "text",
    ["", '{"version": 1', "{}", '{"version": 1, "trigger": "creation", "timestamp": "", "prompt_id": "p", "flow_id": "other"}'],
    ids=["nothing", "half a file", "fields are missing", "of another agent"],
)
def test_a_baseline_that_cannot_be_read_is_a_failure_never_a_pass(agents: AgentBaselines, store: Store, data: Path, text: str) -> None:
    agents.capture_snapshot("p", "f", "creation", sections=rates(a=1.0))
    damage(store, data, 1, text)
    found = agents.validate_against_baseline("p", "f", sections=rates(a=1.0))
    assert (found.passed, found.exit_code) == (False, 1)
    with pytest.raises(BadFile, match="no snapshot of an agent"):
        agents.get_snapshot("p", "f")


def test_one_damaged_file_is_in_nobodys_way(agents: AgentBaselines, store: Store, data: Path) -> None:
    for ids in (("a", "a"), ("p", "f")):
        agents.capture_snapshot(*ids, "creation", sections=rates(a=1.0))
    assert regress(agents, rates(a=0.5)) == 2
    good = agents.list_versions()
    (data / "baselines" / "p_f" / "v2.json").write_text("{", encoding="utf-8")
    assert agents.list_versions() == good, "the store has it"
    assert agents.validate_against_baseline("p", "f", sections=rates(a=1.0)).passed
    agents.capture_snapshot("p", "f", "prompt_change", sections=rates(a=1.0))
    damage(store, data, 2)
    assert agents.validate_against_baseline("p", "f", sections=rates(a=1.0)).passed
    rows = [(each.prompt_id, each.version, each.baseline, bool(each.error)) for each in agents.list_versions()]
    assert rows == [("a", 1, True, False), ("p", 1, False, False), ("p", 2, False, True), ("p", 3, True, False)]
    assert [each.version for each in agents.list_snapshots("p", "f")] == [1, 3]
    assert agents.compute_trend("p", "f").snapshot_count == 2
    assert regress(agents, rates(a=0.5)) == 4
    assert agents.capture_snapshot("p", "f", "recipe_change", sections=rates(a=1.0)) is None
    assert agents.remove_snapshots("p", "f", 2) == [2]
    assert [each.version for each in agents.list_versions("p", "f")] == [1, 3, 4]


def test_a_damaged_file_that_may_be_the_baseline_is_never_passed_over(agents: AgentBaselines, store: Store, data: Path) -> None:
    for _ in range(2):
        agents.capture_snapshot("p", "f", "prompt_change", sections=rates(a=1.0))
    damage(store, data, 2)
    found = agents.validate_against_baseline("p", "f", sections=rates(a=1.0))
    assert (found.passed, found.exit_code) == (False, 1)
    assert not any(each.baseline for each in agents.list_versions("p", "f"))


def test_what_the_store_cannot_read_any_more_is_read_from_the_file(agents: AgentBaselines, store: Store, tmp_path: Path) -> None:
    made = captured(agents.capture_snapshot("p", "f", "creation", sections=SECTIONS))
    store.put_benchmarks([msgspec.structs.replace(store.get_benchmark(sid_of(agent_of("p", "f"), 1)), notes="{")])
    assert agents.get_snapshot("p", "f", 1) == made
    elsewhere = AgentBaselines(store, tmp_path / "another machine")
    assert "cannot be read" in elsewhere.list_versions("p", "f")[0].error


def test_an_agent_is_removed_with_all_it_has_or_one_version_of_it(agents: AgentBaselines, store: Store, data: Path) -> None:
    for _ in range(3):
        agents.capture_snapshot("p", "f", "prompt_change", sections=SECTIONS)
    agents.capture_snapshot("other", "f", "creation", sections=SECTIONS)
    assert agents.remove_snapshots("p", "f", 2) == [2]
    assert [each.version for each in agents.list_snapshots("p", "f")] == [1, 3]
    assert agents.remove_snapshots("p", "f") == [1, 3]
    assert agents.list_agents() == [agent_of("other", "f")]
    assert not (data / "baselines" / "p_f").exists()
    assert [each.subject for each in store.iter_benchmarks()] == ["agent:other/f"]


@pytest.mark.parametrize("known", [False, True], ids=["an agent that is new", "an agent with a baseline"])
def test_an_agent_of_which_nothing_is_known_is_not_captured(store_url: str, agents: AgentBaselines, known: bool) -> None:
    played(store_url, times=1)
    if known:
        agents.capture_snapshot("typo", "triage_flo", "creation", sections=SECTIONS)
    nothing: list[dict[str, Any] | None] = [None, {}]
    for sections in nothing:
        with pytest.raises(NotFound, match="triage_flo is no stored workflow") as raised:
            agents.capture_snapshot("typo", "triage_flo", "prompt_change", sections=sections)
        assert "Did you mean 'triage_flow'" in raised.value.remedy
    assert len(agents.list_versions()) == known


def test_a_capture_reads_no_other_snapshot(agents: AgentBaselines, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are."""
    for _ in range(3):
        agents.capture_snapshot("p", "f", "creation", sections=SECTIONS)

    def read(*_: object) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr(files, "read", read)
    monkeypatch.setattr(Store, "get_benchmark", read)
    monkeypatch.setattr(Store, "iter_benchmarks", read)
    assert captured(agents.capture_snapshot("p", "f", "prompt_change", sections=SECTIONS)).version == 4
    assert agents.capture_snapshot("p", "f", "recipe_change", sections=SECTIONS) is None


def test_no_baseline_and_nothing_measured_are_no_pass(agents: AgentBaselines) -> None:
    assert agents.validate_against_baseline("p", "f", sections=rates(a=1.0)).exit_code == 3
    agents.capture_snapshot("p", "f", "creation", sections=rates(a=1.0))
    found = agents.validate_against_baseline("p", "f")
    assert (found.passed, found.status, found.exit_code, found.baseline_version) == (False, "not_measured", 3, 1)


# ── hostile names ───────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name", ["../../escape", "/etc", "..", ".", "a/../../b", "C:\\x", "-rf", "%2e%2e%2f", "~", "v1.json", "日本", "a" * 64], ids=ascii
)
def test_a_hostile_name_stays_within_its_folder(agents: AgentBaselines, data: Path, tmp_path: Path, name: str) -> None:
    before = {path for path in tmp_path.rglob("*") if data not in (path, *path.parents)}
    for ids in ((name, "f"), ("p", name), (name, name)):
        agents.capture_snapshot(*ids, "creation", sections=SECTIONS)
        assert agents.get_snapshot(*ids).version == 1
    folders = [each for each in (data / "baselines").iterdir() if each.is_dir()]
    assert len(folders) == 3
    assert {path for path in tmp_path.rglob("*") if data not in (path, *path.parents)} - before <= {*tmp_path.glob("store.db*")}
    assert len(agents.list_agents()) == 3


@pytest.mark.parametrize("name", ["", "a\nb", "a\x00b", " a", "x" * 129, BOUGHT], ids=ascii)
def test_a_name_that_is_none_or_a_secret_is_refused_everywhere(agents: AgentBaselines, data: Path, name: str) -> None:
    for act in (agents.list_snapshots, agents.get_latest_snapshot, agents.validate_against_baseline, agents.compute_trend):
        with pytest.raises(UsageError):
            act(name, "f")
    with pytest.raises(UsageError):
        agents.capture_snapshot("p", name, "creation")
    assert not data.exists()


def test_two_pairs_that_read_alike_have_their_own_versions(agents: AgentBaselines, data: Path) -> None:
    for ids in (("a_b", "c"), ("a", "b_c"), ("a/b", "c"), ("a", "b/c")):
        assert captured(agents.capture_snapshot(*ids, "creation", sections=SECTIONS)).version == 1
    assert len([each for each in (data / "baselines").iterdir() if each.is_dir()]) == 4
    assert len(agents.list_agents()) == 4


def test_secrets_are_not_kept(agents: AgentBaselines, store: Store, data: Path) -> None:
    sections = {"trust_evolution": {"specialization_path": BOUGHT}}
    made = captured(agents.capture_snapshot("p", "f", "creation", BOUGHT, f"use {BOUGHT}", sections=sections))
    assert BOUGHT not in (data / "baselines" / "p_f" / "v1.json").read_text(encoding="utf-8")
    assert BOUGHT not in store.list_benchmarks(subject="agent:p/f").items[0].notes
    assert "redacted" in made.user_prompt


def test_what_is_not_there_is_said(agents: AgentBaselines) -> None:
    for act in (agents.get_snapshot, agents.remove_snapshots):
        with pytest.raises(NotFound, match="no snapshot of the agent p/f"):
            act("p", "f", 1)
    assert agents.get_latest_snapshot("p", "f") is None
    assert agents.list_snapshots("p", "f") == []
    with pytest.raises(NotFound, match="no snapshot of the agent p/f"):
        agents.get_snapshot("p", "f")
    agents.capture_snapshot("p", "f", "creation", sections=SECTIONS)
    with pytest.raises(NotFound, match="no v2"):
        agents.remove_snapshots("p", "f", 2)
    with pytest.raises(NotFound, match="no v2"):
        agents.compare_snapshots("p", "f", 1, 2)


def test_files_of_others_are_left_alone(agents: AgentBaselines, data: Path) -> None:
    agents.capture_snapshot("p", "f", "creation", sections=SECTIONS)
    folder = data / "baselines" / "p_f"
    for name in ("v0.json", "v01.json", "vx.json", "v2.json.bak", "notes.txt"):
        (folder / name).write_text("mine", encoding="utf-8")
    (data / "baselines" / "not an agent").mkdir()
    (data / "baselines" / "ghost_x").mkdir()
    assert files.versions(data, agent_of("p", "f")) == [1]
    assert agents.list_agents() == [agent_of("p", "f")]
    assert captured(agents.capture_snapshot("p", "f", "prompt_change", sections=SECTIONS)).version == 2


# ── an agent that is a workflow ─────────────────────────────────────────────


def test_an_agent_that_is_a_workflow_is_measured_by_its_plays(store_url: str, agents: AgentBaselines) -> None:
    played(store_url, times=4)
    made = captured(agents.capture_snapshot("p", "triage_flow", "creation"))
    recipe, lightning = made.recipe_metrics, made.lightning_metrics
    assert (recipe.action_count, recipe.success_rates, recipe.dead_ends) == (2, {"classify": 1.0, "draft": 1.0}, 0)
    assert (lightning.execution_count, lightning.avg_reward, lightning.error_rate) == (4, 1.0, 0.0)
    assert (lightning.avg_duration or 0) > 0
    assert (made.trust_evolution.generation, made.trust_evolution.composite_trust_score) == (1, None)
    assert agents.validate_against_baseline("p", "triage_flow").status == "not_measured"
    played(store_url, times=2)
    assert agents.validate_against_baseline("p", "triage_flow").passed
    few = agents.validate_against_baseline("p", "triage_flow", min_plays=3)
    assert (few.status, few.exit_code) == ("not_measured", 3)
    assert "2 plays of the 3" in few.reason


def test_a_recipe_that_became_worse_is_found_by_what_was_played_since(store_url: str, agents: AgentBaselines) -> None:
    played(store_url, times=3)
    agents.capture_snapshot("p", "triage_flow", "recipe_change")
    played(store_url, model="broken", times=2)
    found = agents.validate_against_baseline("p", "triage_flow")
    assert [(each.metric, each.current) for each in found.regressions] == [("success_rate.draft", 0.0)]
    assert (found.plays, found.baseline_version) == (2, 1)


def test_a_node_that_was_taken_out_has_vanished(store_url: str, agents: AgentBaselines) -> None:
    played(store_url, times=2)
    agents.capture_snapshot("p", "triage_flow", "creation")

    async def shorten(host: Host) -> None:
        text = "name: triage_flow\nconfig: {provider: mock, model: fast}\nnodes:\n  - {id: classify, type: ai, prompt: Classify}\n"
        await host.call("workflow_set", {"text": text})
        started = await host.call("play_start", {"workflow_sid": "triage_flow"})
        while (await host.call("play_get", {"sid": started["sid"]}))["status"] != "success":
            await host.call("play_events", {"sid": started["sid"], "wait_s": 0.2})

    hosted(store_url, shorten)
    found = agents.validate_against_baseline("p", "triage_flow")
    assert [(each.metric, each.current) for each in found.regressions] == [("success_rate.draft", None)]


def test_a_workflow_is_the_same_agent_by_name_and_its_sid_another_name_for_it(store_url: str, store: Store, agents: AgentBaselines) -> None:
    played(store_url, times=1)
    sid = store.get_workflow("triage_flow").sid
    made = [captured(agents.capture_snapshot("p", flow, "creation")) for flow in ("triage_flow", sid)]
    assert [each.source.workflow_sid for each in made] == [sid, sid]


def test_trials_are_no_plays_of_the_agent_and_count_as_benchmarks(store_url: str, agents: AgentBaselines) -> None:
    played(store_url, times=1)

    async def bench(host: Host) -> None:
        cases = [{"name": "one", "inputs": {}}]
        good = [{"name": "as it is"}, {"name": "broken", "workflow_overrides": {"nodes": {"draft": {"config": {"model": "broken"}}}}}]
        await benched(host, "triage_flow", configs={"cases": cases, "configs": good}, runs=2)

    hosted(store_url, bench)
    made = captured(agents.capture_snapshot("p", "triage_flow", "creation"))
    assert (made.source.plays, made.recipe_metrics.success_rates["draft"]) == (1, 1.0)
    assert made.benchmark_metrics["test_pass_rate"] == 0.5
    assert sorted(made.source.benchmarks.values()) == [2, 2]


def test_what_is_handed_in_takes_the_place_of_what_is_computed(store_url: str, agents: AgentBaselines) -> None:
    played(store_url, times=1)
    posted = {"trust_evolution": {"composite_trust_score": 0.9}, "benchmark_metrics": {"test_pass_rate": 0.5}}
    made = captured(agents.capture_snapshot("p", "triage_flow", "creation", sections=posted))
    assert (made.trust_evolution.composite_trust_score, made.trust_evolution.generation) == (0.9, None)
    assert made.benchmark_metrics == {"test_pass_rate": 0.5}
    assert made.recipe_metrics.success_rates == {"classify": 1.0, "draft": 1.0}
    assert made.source.posted == ("benchmark_metrics", "trust_evolution")
    assert msgspec.json.decode(msgspec.json.encode(made), type=type(made)) == made


def test_a_play_counts_for_the_version_in_use(store_url: str, store: Store, agents: AgentBaselines) -> None:
    """Whoever tries an edited copy of the workflow says nothing of the agent."""
    played(store_url, times=2)
    tried(store_url, "broken", times=2)
    made = captured(agents.capture_snapshot("p", "triage_flow", "creation"))
    assert (made.source.plays, made.recipe_metrics.success_rates["draft"]) == (2, 1.0)
    tried(store_url, "broken", times=2)
    nothing = agents.validate_against_baseline("p", "triage_flow")
    assert (nothing.status, nothing.plays, "in version 1, which is in use" in nothing.reason) == ("not_measured", 0, True)
    played(store_url, times=1)
    well = agents.validate_against_baseline("p", "triage_flow")
    assert (well.passed, "Not counted: 2 plays of versions that are not in use." in well.reason) == (True, True)
    store.make_current(("triage_flow", 2))
    found = agents.validate_against_baseline("p", "triage_flow")
    assert (found.status, found.plays) == ("failed", 2), "two were played after the capture, and two before it"


def test_a_benchmark_counts_for_the_version_in_use(store_url: str, agents: AgentBaselines) -> None:
    played(store_url, times=1)
    hosted(store_url, lambda host: benched(host, "triage_flow", configs=ONE_CASE, runs=2))
    assert captured(agents.capture_snapshot("p", "triage_flow", "creation")).benchmark_metrics["test_pass_rate"] == 1.0
    played(store_url, times=1)
    assert agents.validate_against_baseline("p", "triage_flow").passed
    played(store_url, model="slow", times=1)
    found = agents.validate_against_baseline("p", "triage_flow")
    assert (found.status, "test_pass_rate was not measured" in found.reason) == ("not_measured", True)


@pytest.mark.parametrize(("last", "min_plays"), [(50, 51), (50, 100), (50, 0)])
def test_a_number_of_plays_that_can_never_be_had_is_refused(agents: AgentBaselines, last: int, min_plays: int) -> None:
    with pytest.raises(UsageError, match="can never be had"):
        agents.validate_against_baseline("p", "f", last=last, min_plays=min_plays)
    with pytest.raises(UsageError, match="can never be had"):
        DaemonSettings(last=last, min_plays=min_plays)


@pytest.mark.parametrize("last", [0, -1, 1001])
def test_a_number_of_plays_that_cannot_be_counted_is_refused(agents: AgentBaselines, last: int) -> None:
    with pytest.raises(UsageError, match="cannot be counted"):
        agents.capture_snapshot("p", "f", "creation", last=last)
