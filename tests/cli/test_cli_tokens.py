"""`flowgauge token` and `flowgauge schedule`, as a shell calls them."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from pathlib import Path

import pytest
from tests.app.hook_server import listening
from tests.cli.conftest import Program
from tests.cli.test_cli_records import write_workflow

from flowgauge.model.redaction import MARK, Redactor

STORE = Path(".flowgauge/flowgauge.db")


def rows(query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(STORE) as connection:
        return connection.execute(query).fetchall()


def test_a_token_is_shown_once_and_kept_as_a_hash(flowgauge: Program) -> None:
    made = flowgauge("token", "create", "ci", "--scope", "run")
    secret = made.out.strip()
    assert made.code == 0
    assert re.fullmatch(r"fg_[A-Za-z0-9_-]{43}", secret)
    assert "shown only this once" in made.err
    assert rows("SELECT name, scope, hash, expires_at FROM tokens") == [("ci", "run", hashlib.sha256(secret.encode()).hexdigest(), 0)]
    for file in STORE.parent.iterdir():
        assert secret.encode() not in file.read_bytes()
    for said in (flowgauge("token", "list"), flowgauge("token", "list", "--json")):
        assert "ci" in said.out
        assert secret not in said.out
        assert str(rows("SELECT hash FROM tokens")[0][0]) not in said.out


def test_no_two_tokens_are_alike(flowgauge: Program) -> None:
    made = {flowgauge("token", "create", f"t{number}", "--scope", "read").out for number in range(3)}
    assert len(made) == 3


def test_a_token_is_hidden_wherever_it_turns_up(flowgauge: Program) -> None:
    secret = flowgauge("token", "create", "ci", "--scope", "run").out.strip()
    assert Redactor()(f"my token is {secret}.") == f"my token is {MARK}."
    assert Redactor()(f'["{secret}"]') == f'["{MARK}"]'


def test_tokens_from_creation_to_revocation(flowgauge: Program) -> None:
    made = flowgauge("token", "create", "ops", "--scope", "admin", "--expires", "30d", "--json").json
    assert made["expires_at"] - made["created_at"] == 30 * 86_400_000
    assert "hash" not in made
    assert "until" in flowgauge("token", "list").out
    assert flowgauge("token", "create", "ops", "--scope", "read").code == 2
    revoked = flowgauge("token", "revoke", "ops")
    assert (revoked.code, revoked.out) == (0, f"ops ({made['sid']}) is revoked.\n")
    [listed] = flowgauge("token", "list", "--json").json["tokens"]
    assert listed["revoked_at"] > 0
    assert "revoked" in flowgauge("token", "list").out
    assert flowgauge("token", "create", "ops", "--scope", "read").code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("create", "ci"), "--scope", id="no scope"),
        pytest.param(("create", "ci", "--scope", "root"), "'root' is not one of", id="an unknown scope"),
        pytest.param(("create", "ci", "--scope", "run", "--expires", "soon"), "Write 90s, 15m, 1h, 30d or 2w", id="no length of time"),
        pytest.param(("create", "ci", "--scope", "run", "--expires", "0d"), "'0d' is no length of time", id="no time at all"),
        pytest.param(("create", "ci", "--scope", "run", "--expires", "99999w"), "up to a hundred years", id="a long time"),
        pytest.param(("create", "a b", "--scope", "run"), "cannot be called 'a b'", id="two words"),
        pytest.param(("revoke", "nobody"), "No token 'nobody' is stored", id="an unknown token"),
    ],
)
def test_what_cannot_be_done_says_why(flowgauge: Program, arguments: tuple[str, ...], words: str) -> None:
    done = flowgauge("token", *arguments)
    assert done.code == 2
    assert words in done.err


def test_a_schedule_from_its_definition_to_its_end(flowgauge: Program, tmp_path: Path) -> None:
    flowgauge("workflow", "save", write_workflow(tmp_path / "echo.yaml"))
    (tmp_path / "bench.yaml").write_text("cases: [{name: a, inputs: {word: one}}]\n")
    (tmp_path / "gate.yaml").write_text("limits: p95_ms <= 60000\ntolerance: 0.1\n")
    files = ("--configs", tmp_path / "bench.yaml", "--policy", tmp_path / "gate.yaml")
    added = flowgauge("schedule", "add", "nightly", "--cron", "0 3 * * *", "--workflow", "echo", "--runs", "2", *files, "--late", "2h")
    assert (added.code, added.out.partition(" · ")[0]) == (0, "nightly: 0 3 * * *")
    shown = flowgauge("schedule", "show", "nightly").json
    assert shown["request"] == {"workflow_sid": "echo", "runs": 2, "configs": {"cases": [{"name": "a", "inputs": {"word": "one"}}]}}
    assert (shown["policy"], shown["late_s"]) == ({"limits": ["p95_ms <= 60000"], "tolerance": 0.1}, 7200)
    assert flowgauge("schedule", "add", "nightly", "--every", "1h", "--workflow", "echo").code == 2
    assert "every 1h" in flowgauge("schedule", "add", "nightly", "--every", "1h", "--workflow", "echo", "--replace").out
    assert "at rest" in flowgauge("schedule", "disable", "nightly").out
    assert "disabled" in flowgauge("schedule", "list").out
    assert "next at" in flowgauge("schedule", "enable", "nightly").out
    ran = flowgauge("schedule", "run", "nightly")
    assert (ran.code, "nightly: measured · nightly-" in ran.out) == (0, True)
    [listed] = flowgauge("schedule", "list", "--json").json["schedules"]
    assert (listed["last_status"], listed["running_at"]) == ("measured", 0)
    assert flowgauge("report", listed["last_bench_id"]).code == 0
    assert flowgauge("schedule", "rm", "nightly").code == 0
    assert flowgauge("schedule", "list", "--json").json["schedules"] == []
    assert flowgauge("schedule", "show", "nightly").code == 2


@pytest.mark.parametrize(
    ("limit", "code", "status", "calls"),
    [
        pytest.param("p95_ms <= 60000", 0, "passed", 0, id="a gate that passes"),
        pytest.param("p95_ms <= 0.000001", 1, "failed", 1, id="a gate that fails"),
        pytest.param("score.taste >= 1", 3, "not_measured", 1, id="what cannot be measured"),
    ],
)
def test_a_run_ends_as_its_gate_says(flowgauge: Program, tmp_path: Path, limit: str, code: int, status: str, calls: int) -> None:
    flowgauge("workflow", "save", write_workflow(tmp_path / "echo.yaml"))
    (tmp_path / "gate.yaml").write_text(f"limits: {limit}\n")
    with listening() as hook:
        asked = ("--every", "1d", "--workflow", "echo", "--policy", tmp_path / "gate.yaml", "--webhook", hook.url)
        assert flowgauge("schedule", "add", "gated", *asked).code == 0
        ran = flowgauge("schedule", "run", "gated", "--json")
    assert (ran.code, ran.json["status"]) == (code, status)
    assert [body["status"] for body in hook.bodies] == [status] * calls


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("--workflow", "echo"), "Give --every 1h, or --cron '0 3 * * *'", id="no timing"),
        pytest.param(("--workflow", "echo", "--cron", "61 * * * *"), "is no cron expression: bad minute. Give five fields", id="bad cron"),
        pytest.param(("--workflow", "ecko", "--every", "1h"), "No workflow 'ecko' is stored", id="an unknown workflow"),
        pytest.param(("--workflow", "echo", "--every", "1h", "--webhook", "me"), "The webhook is no address", id="no webhook"),
        pytest.param(("--workflow", "echo", "--every", "1h", "--webhook", "http://a:b12345678@c/"), "env:NAME", id="a password in it"),
    ],
)
def test_a_schedule_that_cannot_be_says_why(flowgauge: Program, tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    flowgauge("workflow", "save", write_workflow(tmp_path / "echo.yaml"))
    done = flowgauge("schedule", "add", "nightly", *arguments)
    assert done.code == 2
    assert words in done.err
    assert rows("SELECT count(*) FROM schedules") == [(0,)]
