"""The recipes of docs/ci.md, run as they stand there: the shell ones, and the steps of the workflows for GitHub Actions."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.app.git_folder import git_environment
from tests.app.review_project import SIMPLE, Project

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
HEADINGS: list[str] = re.findall(r"^#{2,3} (.+)$", TEXT, flags=re.MULTILINE)
NOT_HERE = ("pip install", "gh api")
"""What needs the network."""


def blocks(heading: str, language: str) -> list[str]:
    part = re.split(r"^#{2,3} ", TEXT.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", part, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project")
    made.git("checkout", "--quiet", "main")
    for name in ("support.yaml", "configs.yaml"):
        shutil.copy(ROOT / "examples" / "bench" / name, made.path / name)
    rules = "be kind\n"
    registry = f"adapters:\n  guardrail:\n    files: {{rules.txt: {hashlib.sha256(rules.encode()).hexdigest()}}}\n"
    ignored = (made.path / ".gitignore").read_text(encoding="utf-8") + "eval-pr-comment.md\ngate.xml\nreview.*\n"
    made.change(
        {"gate.yaml": "metrics: {duration_ms: {rule: ignore}}\n", "rules.txt": rules, "registry.yaml": registry, ".gitignore": ignored}
    )
    made.git("checkout", "--quiet", "-B", "feature")
    made.change(SIMPLE)
    return made


def shell(project: Project, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    kept = {name: value for name, value in git_environment().items() if not name.startswith(("GITHUB_", "FLOWGAUGE_", "PYTEST_"))}
    environment = {**kept, "PATH": places, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "BASE": "main", "OLD": "v1", "NEW": "v2", **variables}
    command = ["bash", "-euo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=project.path, env=environment, capture_output=True, text=True, check=False, timeout=100)


def ran(project: Project, script: str, code: int = 0, **variables: str) -> str:
    done = shell(project, script, **variables)
    assert done.returncode == code, (script, done.stdout, done.stderr)
    return done.stdout


def on_main(project: Project) -> None:
    """What the job after a merge leaves: a baseline."""
    ran(project, blocks("Gate a pull request", "sh")[0])


def test_a_pull_request_is_gated(project: Project) -> None:
    before, change = blocks("Gate a pull request", "sh")
    ran(project, before)
    ran(project, change)
    assert (project.path / "eval-pr-comment.md").is_file()
    (told,) = blocks("Exit codes", "sh")
    assert "may ship" in ran(project, told)
    assert "mend the pipeline" in ran(project, told.replace("--baseline main", "--baseline nobody"), 1)


def test_both_sides_are_measured_in_one_job(project: Project) -> None:
    (script,) = blocks("Both sides in one job", "sh")
    ran(project, script)
    assert len(project.trees()) == 1


def test_a_pull_request_is_reviewed(project: Project) -> None:
    on_main(project)
    review, decision = blocks("Review a pull request", "sh")
    ran(project, blocks("Gate a pull request", "sh")[1])
    ran(project, f"{review}\n{decision}\necho $decision")
    project.change({"wide.py": "".join(f"N{number} = {number}\n" for number in range(200))})
    assert "a person must look at this" in ran(project, f"{review}\n{decision}")
    project.change({"calc.py": "import os\n"})
    ran(project, review, 1)
    assert (project.path / "review.md").read_text(encoding="utf-8").startswith("<!-- flowgauge-review -->")


def test_an_upgrade_is_gated(project: Project) -> None:
    (script,) = blocks("Gate an upgrade", "sh")
    ran(project, script, OLD="v0", NEW="v1")
    ran(project, script)
    project.change({"rules.txt": "be quick\n"})
    ran(project, script, 1, OLD="v2", NEW="v3")


def test_an_agent_is_gated(project: Project) -> None:
    good, change, again = blocks("Gate an agent", "sh")
    play = 'flowgauge run support.yaml -i message="I was charged twice" -q'
    ran(project, f"{play}\n{good}")
    validate, review = again.strip().splitlines()
    ran(project, validate, 3)
    ran(project, f"sleep 1\n{play}\n{validate}")
    ran(project, review)
    file = project.path / "support.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("model: default", "model: broken"), encoding="utf-8")
    ran(project, play, 1)
    assert "Not counted: 1 play" in ran(project, validate)
    ran(project, change, 1)
    ran(project, validate, 1)
    ran(project, review, 1)


@pytest.mark.parametrize("heading", ["Gate a pull request", "Review a pull request", "Gate an upgrade"])
def test_the_steps_of_a_workflow_run(project: Project, heading: str) -> None:
    (text,) = blocks(heading, "yaml")
    workflow: dict[Any, Any] = yaml.safe_load(text)
    assert workflow["permissions"]["contents"] == "read"
    assert "pull_request_target" not in workflow[True]
    (job,) = workflow["jobs"].values()
    assert set(job["env"]) <= {"FLOWGAUGE_DB", "BASE", "OLD", "NEW"}
    on_main(project)
    steps = [step["run"] for step in job["steps"] if "run" in step and not any(word in step["run"] for word in NOT_HERE)]
    assert steps
    for step in steps:
        assert "${{" not in step, "what others choose goes into variables, never into a command"
        ran(project, step, GITHUB_SHA="abc", OLD="v0", NEW="v1")


def test_every_recipe_is_tried() -> None:
    """So that a new heading with a recipe cannot stay without a test."""
    tried = {"Exit codes", "Gate a pull request", "Both sides in one job", "Review a pull request", "Gate an upgrade", "Gate an agent"}
    assert {heading for heading in HEADINGS if blocks(heading, "sh") or blocks(heading, "yaml")} == tried
