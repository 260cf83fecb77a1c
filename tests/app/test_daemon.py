from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.app.agents_at_work import played, rates
from tests.store.store_nouns import dead, elsewhere

from flowgauge.app.agent_records import sid_of
from flowgauge.app.agents import AgentBaselines
from flowgauge.app.daemon import ROLE, AgentDaemon, DaemonSettings, Found
from flowgauge.registry.agents.agent import agent_of
from flowgauge.store import open_store
from flowgauge.store.store import Store

SOON = DaemonSettings(every=1, tick_s=0.01, min_plays=1)


class News:
    """What was told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    def __call__(self, kind: str, *, data: Any = None) -> None:
        self.events.append((kind, data))


@pytest.fixture
def news() -> News:
    return News()


def daemon_of(store: Store, data: Path, news: News, settings: DaemonSettings = SOON) -> AgentDaemon:
    return AgentDaemon(store, data, store.register_owner(60).sid, news, settings)


def looked(daemon: AgentDaemon) -> dict[str, Found] | None:
    found = asyncio.run(daemon.look())
    return None if found is None else {f"{each.validation.prompt_id}/{each.validation.flow_id}": each for each in found}


def looked_at(daemon: AgentDaemon) -> dict[str, Found]:
    found = looked(daemon)
    assert found is not None
    return found


# ── one look ────────────────────────────────────────────────────────────────


def test_evidence_is_kept_once_for_the_same_plays_and_again_for_new_ones(store_url: str, store: Store, tmp_path: Path, news: News) -> None:
    agents = AgentBaselines(store, tmp_path)
    played(store_url, times=2)
    agents.capture_snapshot("p", "triage_flow", "creation")
    daemon = daemon_of(store, tmp_path, news)
    assert looked_at(daemon)["p/triage_flow"].validation.status == "not_measured"
    played(store_url, model="broken", times=2)
    versions = [looked_at(daemon)["p/triage_flow"].evidence_version for _ in range(3)]
    another = daemon_of(store, tmp_path, news)
    asyncio.run(daemon.let_go())
    versions.append(looked_at(another)["p/triage_flow"].evidence_version)
    assert versions == [2, None, None, None]
    played(store_url, model="broken", times=1)
    assert looked_at(another)["p/triage_flow"].evidence_version == 3
    assert [(each.version, each.regressed, each.baseline) for each in agents.list_versions("p", "triage_flow")] == [
        (1, False, True),
        (2, True, False),
        (3, True, False),
    ]
    assert [(kind, data["version"], data["baseline_version"]) for kind, data in news.events] == [("agent_regressed", n, 1) for n in (2, 3)]


def test_one_broken_agent_does_not_stop_the_others_and_is_told_once(store_url: str, store: Store, tmp_path: Path, news: News) -> None:
    agents = AgentBaselines(store, tmp_path)
    played(store_url, times=1)
    for prompt in ("a", "b", "c"):
        agents.capture_snapshot(prompt, "triage_flow", "creation")
    store.delete_benchmark(sid_of(agent_of("b", "triage_flow"), 1))
    (tmp_path / "baselines" / "b_triage_flow" / "v1.json").write_text("{", encoding="utf-8")
    played(store_url, times=1)
    daemon = daemon_of(store, tmp_path, news)
    for _ in range(3):
        found = {name: each.validation.status for name, each in looked_at(daemon).items()}
        assert found == {"a/triage_flow": "passed", "b/triage_flow": "failed", "c/triage_flow": "passed"}
    assert [(kind, data["prompt_id"]) for kind, data in news.events] == [("agent_failed", "b")]
    assert len(agents.list_snapshots("a", "triage_flow")) == 1


def test_too_few_plays_are_not_judged(store_url: str, store: Store, tmp_path: Path, news: News) -> None:
    agents = AgentBaselines(store, tmp_path)
    played(store_url, times=1)
    agents.capture_snapshot("p", "triage_flow", "creation")
    played(store_url, model="broken", times=2)
    found = looked_at(daemon_of(store, tmp_path, news, DaemonSettings(min_plays=3)))
    assert found["p/triage_flow"].validation.status == "not_measured"
    assert news.events == []


def test_an_agent_that_is_no_workflow_is_not_measured(store: Store, tmp_path: Path, news: News) -> None:
    AgentBaselines(store, tmp_path).capture_snapshot("p", "f", "creation", sections=rates(a=1.0))
    assert looked_at(daemon_of(store, tmp_path, news))["p/f"].validation.status == "not_measured"


# ── who does the work ───────────────────────────────────────────────────────


def test_of_two_daemons_on_one_store_one_does_the_work(store: Store, tmp_path: Path, news: News) -> None:
    first, second = (daemon_of(store, tmp_path, news) for _ in range(2))
    assert looked(first) == {}
    assert looked(second) is None
    assert looked(first) == {}
    asyncio.run(first.let_go())
    assert looked(second) == {}
    assert looked(first) is None


@pytest.mark.parametrize(
    ("holder", "taken"),
    [
        pytest.param(dead, True, id="a killed daemon's work is taken at once"),
        pytest.param(lambda store: elsewhere(store, -1), True, id="that of one whose lease is over elsewhere, too"),
        pytest.param(lambda store: elsewhere(store, 3600), False, id="that of one who is alive elsewhere is not"),
    ],
)
def test_work_that_was_left_is_taken_over(store: Store, holder: Callable[[Store], Any], taken: bool) -> None:
    gone, mine = holder(store), store.register_owner(60)
    assert store.claim_role(ROLE, gone.sid)
    assert store.claim_role(ROLE, mine.sid) is taken
    found = store.role_holder(ROLE)
    assert found is not None
    assert found.sid == (mine.sid if taken else gone.sid)
    store.release_role(ROLE, "ow_somebody")
    assert store.role_holder(ROLE) == found


def test_a_look_that_failed_is_made_again_at_the_next_tick(
    store: Store, tmp_path: Path, news: News, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = DaemonSettings(every=1_000_000, tick_s=0.01)
    daemon = daemon_of(store, tmp_path, news, settings)
    looks: list[int] = []
    stop = asyncio.Event()

    def list_agents(_: AgentBaselines) -> list[Any]:
        looks.append(1)
        if len(looks) < 3:
            raise RuntimeError("not now")
        stop.set()
        return []

    monkeypatch.setattr(AgentBaselines, "list_agents", list_agents)
    asyncio.run(daemon.run(stop))
    assert len(looks) == 3
    assert store.role_holder(ROLE) is None


# ── as a process ────────────────────────────────────────────────────────────


@contextlib.contextmanager
def process(data: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "FLOWGAUGE_DATA": str(data), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "flowgauge", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as running:
        try:
            yield running
        finally:
            running.kill()


def until(condition: Callable[[], bool], running: subprocess.Popen[str]) -> None:
    while not condition():
        assert running.poll() is None, running.communicate()
        time.sleep(0.05)


def ended(running: subprocess.Popen[str], number: signal.Signals = signal.SIGTERM) -> str:
    running.send_signal(number)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (0, "")
    return out


def test_a_daemon_finds_what_real_plays_did_and_ends_when_it_is_told(store_url: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    played(store_url, times=2)
    with open_store(store_url) as store:
        agents = AgentBaselines(store, data)
        agents.capture_snapshot("p", "triage_flow", "creation")
        asked = ("daemon", "--db", store_url, "--every", "2", "--tick", "0.1", "--min-plays", "1")
        with process(data, *asked) as running, process(data, *asked) as other:
            until(lambda: store.role_holder(ROLE) is not None, running)
            played(store_url, model="broken", times=2)
            until(lambda: len(agents.list_snapshots("p", "triage_flow")) > 1, running)
            told = ended(running) + ended(other, signal.SIGINT)
        evidence = agents.get_snapshot("p", "triage_flow")
        assert (evidence.regressed, evidence.baseline_version) == (True, 1)
        assert agents.validate_against_baseline("p", "triage_flow").baseline_version == 1
        kept = [each for each in agents.list_snapshots("p", "triage_flow") if each.regressed]
        assert len({each.source.last_play for each in kept}) == len(kept), "no play is evidence twice"
        events = [event for event in store.events_after(0) if event.kind == "agent_regressed"]
        assert [event.data["version"] for event in events] == [each.version for each in kept]
        assert "The success rate of draft is 0" in told
        assert store.role_holder(ROLE) is None


def test_a_server_watches_over_agents_where_it_is_asked_to(store_url: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    played(store_url, times=1)
    with open_store(store_url) as store:
        agents = AgentBaselines(store, data)
        agents.capture_snapshot("p", "triage_flow", "creation")
        played(store_url, model="broken", times=3)
        watching = ("--daemon", "--daemon-tick", "0.1", "--daemon-every", "1", "--daemon-last", "4", "--daemon-min-plays", "3")
        asked = ("serve", "--port", "0", "--db", store_url, *watching)
        with process(data, *asked) as running:
            until(lambda: len(agents.list_snapshots("p", "triage_flow")) > 1, running)
            ended(running)
        assert "agent_regressed" in {event.kind for event in store.events_after(0)}


@pytest.mark.parametrize(
    "asked",
    [
        ("daemon", "--once", "--min-plays", "100", "--last", "50"),
        ("serve", "--port", "0", "--daemon", "--daemon-min-plays", "100", "--daemon-last", "50"),
    ],
    ids=["daemon", "serve"],
)
def test_more_plays_than_are_counted_are_refused(tmp_path: Path, asked: tuple[str, ...]) -> None:
    with process(tmp_path, *asked, "--db", str(tmp_path / "s.db")) as running:
        _, err = running.communicate(timeout=60)
    assert (running.returncode, "can never be had" in err) == (2, True)


def once(db: str, data: Path) -> tuple[int, Any]:
    with process(data, "daemon", "--once", "--min-plays", "1", "--json", "--db", db) as running:
        out, err = running.communicate(timeout=60)
    return running.returncode, msgspec.json.decode(out) if out else err


def test_one_look_says_by_its_exit_code_what_it_found(tmp_path: Path) -> None:
    db, data = str(tmp_path / "s.db"), tmp_path / "data"
    assert once(db, data) == (3, {"agents": []})
    played(db, times=1)
    with open_store(db) as store:
        AgentBaselines(store, data).capture_snapshot("p", "triage_flow", "creation")
    assert once(db, data)[0] == 3
    played(db, model="broken", times=1)
    code, told = once(db, data)
    assert (code, told["agents"][0]["evidence_version"], told["agents"][0]["validation"]["passed"]) == (1, 2, False)
    with open_store(db) as store:
        assert store.claim_role(ROLE, store.register_owner(60).sid)
        code, said = once(db, data)
        assert (code, "Another daemon" in said) == (2, True)
