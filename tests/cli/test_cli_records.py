"""Stored things: workflows, versions, examples, plays, the store itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from tests.cli.conftest import EXAMPLES, Program

from flowgauge.cli.root import COMMANDS


def write_workflow(path: Path, prompt: str = "Say {{ inputs.word }}", model: str = "fast") -> Path:
    path.write_text(
        f"""
name: echo
inputs:
  - {{name: word, type: string, default: hello}}
  - {{name: times, type: integer, default: 1}}
config: {{provider: mock, model: {model}}}
nodes:
  - {{id: say, type: ai, prompt: "{prompt}"}}
output: "{{{{ nodes.say.text }}}}"
"""
    )
    return path


def test_versions_from_save_to_use(flowgauge: Program, tmp_path: Path) -> None:
    file = write_workflow(tmp_path / "echo.yaml")
    assert "v1 saved" in flowgauge("workflow", "save", file).out
    assert "v1 was there already" in flowgauge("workflow", "save", file).out
    write_workflow(file, "Say {{ inputs.word }} twice")
    assert "v2 saved" in flowgauge("workflow", "save", file).out
    assert "~ node say" in flowgauge("workflow", "diff", "echo", "1", "2").out
    changed = flowgauge("workflow", "diff", "echo", "1", "2", "--json").json["nodes_changed"]
    assert [(node["id"], node["fields"][0]["after"]) for node in changed] == [("say", "Say {{ inputs.word }} twice")]
    assert "v1 is in use" in flowgauge("workflow", "use", "echo", "1").out
    listed = flowgauge("workflow", "list", "--json").json["workflows"][0]
    versions = flowgauge("workflow", "versions", "echo", "--json").json["versions"]
    assert [version["number"] for version in versions] == [2, 1]
    assert listed["current_version_sid"] == versions[1]["sid"]
    shown = flowgauge("workflow", "show", "echo", "--version", "2")
    (tmp_path / "again.yaml").write_text(shown.out)
    assert "v2 was there already" in flowgauge("workflow", "save", tmp_path / "again.yaml").out


def test_running_a_file_keeps_a_version_but_does_not_put_it_in_use(flowgauge: Program, tmp_path: Path) -> None:
    file = write_workflow(tmp_path / "echo.yaml")
    flowgauge("workflow", "save", file)
    write_workflow(file, "Try {{ inputs.word }}")
    assert "echo v2" in flowgauge("run", file).out
    assert "echo v1" in flowgauge("run", "echo").out
    assert "echo v2" in flowgauge("run", "echo", "--version", "v2").out


def test_an_example_drops_what_the_workflow_does_not_know(flowgauge: Program, tmp_path: Path) -> None:
    flowgauge("workflow", "save", write_workflow(tmp_path / "echo.yaml"))
    added = flowgauge("example", "add", "echo", "polite", "-i", "word=please", "-i", "volume=11", "--description", "How to ask")
    assert added.code == 0
    assert "volume" in added.err
    listed = flowgauge("example", "list", "echo", "--json").json["examples"]
    assert listed[0]["input_values"] == {"word": "please"}
    play = flowgauge("run", "echo", "--example", "polite", "-i", "times=3", "--json").json["play"]
    assert play["inputs"] == {"word": "please", "times": 3}
    assert flowgauge("example", "add", "echo", "wrong", "-i", "times=often").code == 2
    assert flowgauge("example", "delete", "echo", "polite").code == 0
    assert flowgauge("run", "echo", "--example", "polite").code == 2


def test_plays_are_listed_in_pages_newest_first(flowgauge: Program, tmp_path: Path) -> None:
    file = write_workflow(tmp_path / "echo.yaml")
    sids = [flowgauge("run", file, "--json").json["play"]["sid"] for _ in range(3)]
    first = flowgauge("play", "list", "--limit", "2", "--json").json
    assert [play["sid"] for play in first["plays"]] == [sids[2], sids[1]]
    rest = flowgauge("play", "list", "--limit", "2", "--cursor", first["next_cursor"], "--json").json
    assert [play["sid"] for play in rest["plays"]] == [sids[0]]
    assert rest["next_cursor"] is None
    assert flowgauge("play", "show", "latest", "--json").json["play"]["sid"] == sids[2]
    assert flowgauge("play", "show", sids[0], "--node", "say").json[0]["node_id"] == "say"
    assert flowgauge("play", "show", sids[0], "--node", "nobody").code == 2


def test_a_failed_play_can_be_resumed_once_its_cause_is_gone(flowgauge: Program, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    file = tmp_path / "gated.yaml"
    file.write_text(
        f"""
name: gated
nodes:
  - {{id: first, type: ai, prompt: Hello}}
  - {{id: second, type: command, needs: [first], argv: [cat, "{gate}"]}}
output: "{{{{ nodes.second.stdout }}}}"
"""
    )
    failed = flowgauge("run", file, "--json")
    assert failed.code == 1
    gate.write_text("open")
    resumed = flowgauge("play", "resume", failed.json["play"]["sid"], "--json")
    assert resumed.code == 0, resumed.err
    assert resumed.json["play"]["output"] == "open"
    attempts = [(run["node_id"], run["attempt"], run["status"]) for run in resumed.json["node_runs"]]
    assert attempts == [("first", 1, "success"), ("second", 1, "failed"), ("second", 2, "success")]
    again = flowgauge("play", "resume", failed.json["play"]["sid"], "--json")
    assert again.code == 0
    assert again.json["play"] == resumed.json["play"]


@pytest.mark.parametrize("how", ["the command", "Ctrl-C"])
def test_a_running_play_is_cancelled_by(flowgauge: Program, tmp_path: Path, how: str) -> None:
    file = tmp_path / "long.yaml"
    file.write_text("name: long\nnodes:\n  - {id: wait, type: command, argv: [sleep, '60']}\n")
    running = subprocess.Popen([sys.executable, "-m", "flowgauge", "run", str(file), "--json"], stdout=subprocess.PIPE, cwd=tmp_path)
    for _ in range(500):
        plays = flowgauge("play", "list", "--status", "running", "--json").json["plays"]
        if plays:
            break
        time.sleep(0.02)
    if how == "Ctrl-C":
        os.kill(running.pid, signal.SIGINT)
    else:
        held = flowgauge("play", "resume", plays[0]["sid"])
        assert held.code == 2
        assert str(running.pid) in held.err
        assert "will be stopped" in flowgauge("play", "cancel", plays[0]["sid"]).out
    out, _ = running.communicate(timeout=20)
    assert running.returncode == 130
    assert msgspec.json.decode(out)["play"]["status"] == "cancelled"
    assert flowgauge("play", "show", "latest", "--json").json["node_runs"][0]["status"] == "cancelled"


def test_the_store_travels(flowgauge: Program, tmp_path: Path) -> None:
    file = write_workflow(tmp_path / "echo.yaml")
    for _ in range(3):
        flowgauge("run", file)
    assert flowgauge("store", "info", "--json").json["rows"]["plays"] == 3
    assert flowgauge("store", "export", "all.jsonl.gz").code == 0
    assert "rows added" in flowgauge("store", "import", "all.jsonl.gz", "--db", "other.db").out
    assert len(flowgauge("play", "list", "--db", "other.db", "--json").json["plays"]) == 3
    assert "0 rows added" in flowgauge("store", "import", "all.jsonl.gz", "--db", "other.db").out
    assert flowgauge("store", "backup", "copy.db").code == 0
    assert len(flowgauge("play", "list", "--db", "copy.db", "--json").json["plays"]) == 3
    assert flowgauge("store", "prune", "--keep", "1", "--dry-run", "--json").json["plays"] == 2
    assert flowgauge("store", "prune", "--keep", "1", "--json").json["plays"] == 2
    assert flowgauge("store", "vacuum").code == 0
    assert len(flowgauge("play", "list", "--json").json["plays"]) == 1
    assert flowgauge("store", "prune").code == 2


def test_a_store_that_is_none_is_said_to_be_none(flowgauge: Program, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, whatever its name says, and it is long enough to be read as one\n" * 9)
    done = flowgauge("play", "list", "--db", "text.db")
    assert done.code == 3
    assert "text.db" in done.err


def test_init_writes_a_workflow_that_is_valid_and_never_overwrites(flowgauge: Program, tmp_path: Path) -> None:
    assert flowgauge("init", "new").code == 0
    assert flowgauge("validate", "new/ticket-triage.yaml").code == 0
    assert flowgauge("run", "new/ticket-triage.yaml", "-i", "ticket=Where is my parcel?").code == 0
    (tmp_path / "new" / "ticket-triage.yaml").write_text("mine")
    assert flowgauge("init", "new").code == 2
    assert (tmp_path / "new" / "ticket-triage.yaml").read_text() == "mine"


def test_demo_shows_two_versions_and_a_bench_and_where_to_look(flowgauge: Program, tmp_path: Path) -> None:
    done = flowgauge("demo")
    assert done.code == 0
    assert "ticket-triage v1" in done.out
    assert "ticket-triage v2" in done.out
    assert "flowgauge report latest" in done.out
    assert "<html" in (tmp_path / ".flowgauge" / "demo.html").read_text()
    assert flowgauge("store", "info", "--json").json["rows"]["trials"] == 45


def test_doctor_tells_set_keys_without_showing_them(flowgauge: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-this-must-not-appear-anywhere")
    done = flowgauge("doctor")
    assert done.code == 0
    assert "OPENAI_API_KEY: set" in done.out
    assert "must-not-appear" not in done.out + done.err


def test_models_lists_prices_by_part_of_a_name(flowgauge: Program) -> None:
    rows = flowgauge("models", "gpt-4o-mini", "--json").json["models"]
    assert {"prompt_per_1m": 0.15, "completion_per_1m": 0.6} in [
        {name: row[name] for name in ("prompt_per_1m", "completion_per_1m")} for row in rows if row["model"] == "gpt-4o-mini"
    ]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_for(flowgauge: Program, shell: str) -> None:
    done = flowgauge("completion", shell)
    assert done.code == 0
    assert "_FLOWGAUGE_COMPLETE" in done.out


def test_the_examples_of_the_repository_are_valid(flowgauge: Program) -> None:
    done = flowgauge("validate", *sorted(EXAMPLES.glob("*.yaml")))
    assert done.code == 0, done.err
    assert done.err == ""


def test_three_mistakes_are_one_message_with_three_lines(flowgauge: Program, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text(
        """name: wrong
inputs:
  - {name: text, type: strnig}
nodes:
  - id: first
    type: ai
    prompt: "{{ inputs.txet }}"
  - id: second
    type: ai
    needs: [frist]
    prompt: Hello
"""
    )
    done = flowgauge("run", "wrong.yaml")
    assert done.code == 2
    lines = [line for line in done.err.splitlines() if line.strip()]
    assert len(lines) == 3, done.err
    for line, number in zip(lines, (3, 7, 10), strict=True):
        assert f"wrong.yaml:{number}: " in line


def test_the_schema_is_a_json_schema_that_takes_the_examples(flowgauge: Program) -> None:
    import jsonschema
    import yaml

    schema = flowgauge("schema", "workflow").json
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    for path in EXAMPLES.glob("*.yaml"):
        assert not list(validator.iter_errors(yaml.safe_load(path.read_text()))), path
    assert list(validator.iter_errors({"name": "x", "nodes": [{"id": "a", "type": "aj"}]}))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(flowgauge: Program, name: str) -> None:
    done = flowgauge(name, "--help")
    assert done.code == 0
    first_line = next(line.strip() for line in done.out.splitlines()[2:] if line.strip())
    assert first_line


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    heavy = ("pydantic", "sqlalchemy", "aiohttp", "rich", "yaml", "msgspec", "asyncio", "genai_prices", "jsonschema")
    asked = "try: run(['--help'])\nexcept SystemExit: "
    code = f"import sys; from flowgauge.cli.root import run\n{asked}print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_fault_of_our_own_is_one_line_and_not_a_failed_gate(flowgauge: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr("flowgauge.providers.prices.table.PriceTable.known", broken)
    done = flowgauge("models")
    assert done.code == 3
    assert done.err.startswith("error: Flowgauge itself failed: ZeroDivisionError: of ours.")
