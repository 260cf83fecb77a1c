"""Scenario files: what is right is read, and every mistake is told with its line."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml
from tests.perf.stage_rows import nothing_stored

from flowgauge.errors import BadFile
from flowgauge.perf.builtin import SCENARIO
from flowgauge.perf.scenario import load_scenario, scenario_json_schema

AGENTS = "def explorer(run):\n    return 1\n\nasync def waiter():\n    return 2\n\nalias = explorer\n"
WORKFLOW = """
name: greet
inputs: [{name: who, type: string, required: true}, {name: seed, type: integer}]
config: {provider: mock, model: fast}
nodes:
  - {id: hello, type: ai, prompt: "Greet {{ inputs.who }}"}
"""
HEAD = "name: s\nrows:\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agents.py").write_text(AGENTS)
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "greet.yaml").write_text(WORKFLOW)
    (tmp_path / "bad.yaml").write_text("name: bad\nnodes:\n  - {id: x, type: nope}\n")
    return tmp_path


def load(folder: Path, text: str) -> list[tuple[int, str, str]]:
    path = folder / "scenario.yaml"
    path.write_text(text)
    try:
        load_scenario(path, nothing_stored)
    except BadFile as error:
        return [(problem.line, problem.where, problem.message) for problem in error.problems]
    return []


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param('  - {agent: "agents.py:explorer", task: find@2, seed: 4, inputs: {a: [1]}, expect: 1}\n', id="an agent in a file"),
        pytest.param('  - {agent: "agents.py:alias", task: find}\n', id="an agent by another name"),
        pytest.param('  - {agent: "package.module:agent", task: find}\n', id="an agent in a module"),
        pytest.param("  - {workflow: greet.yaml, task: greet@1, inputs: {who: Ann}}\n", id="a workflow that takes the seed"),
        pytest.param('  - {agent: "agents.py:waiter", task: wait, allow: {network: true, write: [out]}}\n', id="an agent that may do more"),
    ],
)
def test_a_right_file_has_no_mistakes(folder: Path, rows: str) -> None:
    assert load(folder, HEAD + rows) == []


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        pytest.param("- a\n", 1, "must be a mapping", id="a list"),
        pytest.param("name: s\n", 1, "'rows' is missing", id="no rows"),
        pytest.param("name: s\nrows: []\n", 2, "Nothing is listed", id="an empty list of rows"),
        pytest.param(HEAD + "  - {task: t}\n", 3, "an agent or a workflow", id="neither agent nor workflow"),
        pytest.param(HEAD + '  - {agent: "agents.py:explorer"}\n', 3, "'task' is missing", id="no task"),
        pytest.param(HEAD + '  - {agent: "agents.py:explorer", workflow: greet.yaml, task: t}\n', 3, "an agent or a workflow", id="both"),
        pytest.param(HEAD + '  - {agent: "agents.py:explorr", task: t}\n', 3, "defines no 'explorr'", id="a function that is not there"),
        pytest.param(HEAD + "  - {agent: agents.py, task: t}\n", 3, "names no function", id="a file without a function"),
        pytest.param(HEAD + '  - {agent: "gone.py:f", task: t}\n', 3, "gone.py cannot be read", id="a file that is not there"),
        pytest.param(HEAD + '  - {agent: "broken.py:f", task: t}\n', 3, "broken.py:1 is no Python", id="a file that is no Python"),
        pytest.param(HEAD + '  - {agent: "agents.py:explorer", task: t, validator: "agents.py:gone"}\n', 3, "no 'gone'", id="a validator"),
        pytest.param(
            HEAD + '  - {agent: "agents.py:explorer", task: t, config: {model: m}}\n', 3, "with a workflow", id="config of an agent"
        ),
        pytest.param(
            HEAD + "  - {workflow: greet.yaml, task: t, inputs: {who: A}, allow: {network: true}}\n", 3, "with an agent", id="allow"
        ),
        pytest.param(HEAD + "  - {workflow: greet.yaml, task: t}\n", 3, "who: It is required", id="an input that is missing"),
        pytest.param(
            HEAD + "  - {workflow: greet.yaml, task: t, inputs: {who: 3}}\n", 3, "Expected a string", id="an input of another type"
        ),
        pytest.param(HEAD + "  - {workflow: bad.yaml, task: t}\n", 3, "There is no node type 'nope'", id="a workflow with a mistake"),
        pytest.param(
            HEAD + "  - {workflow: stored, task: t}\n", 3, "There is no workflow 'stored'", id="a stored workflow that is not there"
        ),
        pytest.param(HEAD + '  - {agent: "agents.py:explorer", task: "a@b@c"}\n', 3, "not allowed here", id="a task with two versions"),
        pytest.param(HEAD + '  - {agent: "agents.py:explorer", task: t, sed: 1}\n', 3, "Unknown key 'sed'", id="a key that is mistyped"),
        pytest.param(
            HEAD + '  - {agent: "agents.py:explorer", task: t, budgets: {steps: 0}}\n', 3, "out of range", id="a budget of nothing"
        ),
        pytest.param(
            "name: s\nmemory_mb: 1\nrows:\n" + '  - {agent: "agents.py:explorer", task: t}\n', 2, "out of range", id="too little memory"
        ),
        pytest.param("", 0, "The file is empty", id="an empty file"),
    ],
)
def test_a_mistake_is_told_with_its_line(folder: Path, text: str, line: int, words: str) -> None:
    found = load(folder, text)
    assert [problem for problem in found if problem[0] == line and words in problem[2]], found


def test_all_mistakes_are_told_at_once(folder: Path) -> None:
    rows = '  - {agent: "agents.py:gone", task: t}\n  - {task: u}\n  - {workflow: greet.yaml, task: v}\n'
    assert [line for line, _, _ in load(folder, HEAD + rows)] == [3, 4, 5]


def test_a_row_with_one_mistake_is_looked_at_for_all_others(folder: Path) -> None:
    rows = (
        '  - {agent: "agents.py:gone", task: t, seed: abc, inputs: 3, environment: agents.py, validator: "agents.py:zzz", sed: 1}\n'
        "  - {workflow: nope.yaml, task: a@b@c}\n"
        '  - {workflow: greet.yaml, task: t, seed: x, config: {tmperature: 1}, environment: "agents.py:explorer"}\n'
    )
    found = load(folder, HEAD + rows)
    assert {(line, where.rpartition(".")[2]) for line, where, _ in found} == {
        (3, "agent"), (3, "seed"), (3, "inputs"), (3, "environment"), (3, "validator"), (3, "sed"),
        (4, "workflow"), (4, "task"), (5, "seed"), (5, "tmperature"), (5, "environment"),
    }  # fmt: skip


def test_only_functions_of_the_file_itself_are_proposed(folder: Path) -> None:
    (folder / "agents.py").write_text("import os, sys\nfrom json import dumps\n" + AGENTS)
    path = folder / "scenario.yaml"
    path.write_text(HEAD + '  - {agent: "agents.py:zzz", task: t}\n')
    with pytest.raises(BadFile) as caught:
        load_scenario(path, nothing_stored)
    assert caught.value.problems[0].remedy == "Known are explorer, waiter."
    assert load(folder, HEAD + '  - {agent: "agents.py:dumps", task: t}\n') == []


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="There is no such file"):
        load_scenario(tmp_path / "none.yaml", nothing_stored)


def test_the_built_in_scenario_fits_its_own_schema() -> None:
    jsonschema.Draft202012Validator(scenario_json_schema()).validate(yaml.safe_load(SCENARIO.read_text()))
    assert len(load_scenario(SCENARIO, nothing_stored).scenario.rows) == 5
