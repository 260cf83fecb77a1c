"""A review looks at the commit that is named and at nothing else, and at all of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.app.git_folder import git_environment
from tests.app.review_project import CALC, SIMPLE, Project, called

from flowgauge.app.agents import AgentBaselines
from flowgauge.app.review import ReviewRequest, review
from flowgauge.app.review_baselines import Asked, agent_named, upgrade_named
from flowgauge.app.review_git import Repository
from flowgauge.errors import UsageError
from flowgauge.registry.review.decision import Review
from flowgauge.registry.review.settings import ReviewSettings
from flowgauge.store import open_store

QUICK = ("git", "--version")
PYTEST = (sys.executable, "-m", "pytest", "-q")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


@pytest.fixture(autouse=True)
def _quick_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def reviewed(project: Project, tmp_path: Path, *, folder: str = ".", tests: tuple[str, ...] = QUICK, **request: Any) -> Review:
    settings = ReviewSettings(lint=QUICK, tests=tests, without=("baseline",))
    with open_store(str(tmp_path / "store.db")) as store:
        agents = AgentBaselines(store, tmp_path / "data")
        asked = ReviewRequest(**{"base": "main", "settings": settings, **request})
        return review(store, tmp_path / "data", asked, agents, folder=project.path / folder)


# ── files that are no part of the commit ────────────────────────────────────

NEEDS_MORE: dict[str, str | bytes | None] = {"calc.py": f"from newmod import V\n\n{CALC}\nW = V\n"}


@pytest.mark.parametrize("head", ["feature", "HEAD"])
def test_a_file_that_was_not_added_takes_no_part_in_the_review_of_a_commit(project: Project, tmp_path: Path, head: str) -> None:
    project.change(NEEDS_MORE)
    project.write({"newmod.py": "V = 1\n"})
    found = reviewed(project, tmp_path, head=head, tests=PYTEST)
    assert (found.decision, found.exit_code) == ("reject", 1), found.steps


def test_without_a_head_the_work_tree_is_reviewed_with_what_was_not_added(project: Project, tmp_path: Path) -> None:
    project.change(NEEDS_MORE)
    project.write({"newmod.py": "V = 1\n"})
    found = reviewed(project, tmp_path, tests=PYTEST)
    assert (found.decision, found.notes) == ("approve", ("Not counted in the size: 1 file of the work tree that git does not know.",))


def test_our_own_folder_does_not_send_a_review_elsewhere(project: Project) -> None:
    project.change({**SIMPLE, ".gitignore": "__pycache__/\n"})
    project.write({".flowgauge/flowgauge.db": "x", ".flowgauge/review.yaml": "x"})
    assert Repository(project.path).change("main", "feature").head is None
    project.write({"docs/new.md": "x"})
    assert Repository(project.path).change("main", "feature").head == project.git("rev-parse", "feature")


def test_files_that_git_ignores_are_told_where_a_commit_is_reviewed_among_them(project: Project, tmp_path: Path) -> None:
    project.change({**NEEDS_MORE, ".gitignore": "newmod.py\n__pycache__/\n.*_cache/\n"})
    assert reviewed(project, tmp_path, head="feature").notes == ()
    project.write({"newmod.py": "V = 1\n"})
    (note,) = reviewed(project, tmp_path, head="feature", tests=PYTEST).notes
    assert "newmod.py" in note
    assert "__pycache__" not in note


# ── submodules ──────────────────────────────────────────────────────────────


@pytest.fixture
def with_submodule(project: Project, tmp_path: Path) -> Project:
    """`feature` moves a submodule by one commit."""
    library = Project(tmp_path / "library")
    project.git("checkout", "--quiet", "main")
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.path), "library")
    project.git("config", "-f", ".gitmodules", "submodule.library.ignore", "all")
    project.git("add", ".gitmodules", "library")
    project.commit("with a library")
    project.git("checkout", "--quiet", "-B", "feature")
    command = ["git", "-C", str(project.path / "library"), "commit", "--quiet", "--allow-empty", "-m", "moved"]
    subprocess.run(command, check=True, env=git_environment(), capture_output=True)
    return project


def bump(project: Project) -> None:
    project.git("update-index", "--cacheinfo", f"160000,{in_library(project)},library")
    project.git("commit", "--quiet", "--allow-empty", "-m", "the library moves")


def in_library(project: Project) -> str:
    command = ["git", "-C", str(project.path / "library"), "rev-parse", "HEAD"]
    return subprocess.run(command, check=True, env=git_environment(), capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize("committed", [True, False], ids=["as committed", "in the work tree"])
def test_a_submodule_that_moves_is_seen_and_never_simple(with_submodule: Project, tmp_path: Path, committed: bool) -> None:
    """Though .gitmodules and the configuration say that it is to be ignored."""
    with_submodule.git("config", "diff.ignoreSubmodules", "all")
    if committed:
        bump(with_submodule)
    found = reviewed(with_submodule, tmp_path)
    assert found.diff is not None
    assert [(each.path, each.added, each.submodule) for each in found.diff.changes] == [("library", None, True)]
    assert (found.diff.complexity, found.decision, found.diff.submodules, found.diff.binary) == ("moderate", "steward", 1, 0)


# ── a folder of the repository ──────────────────────────────────────────────


def test_a_review_from_a_folder_approves_nothing_and_says_why(project: Project, tmp_path: Path) -> None:
    """The change breaks the test at the top; the folder's own test passes."""
    project.change({"calc.py": CALC.replace("+", "-"), "part/test_part.py": "def test_part() -> None:\n    assert True\n"})
    assert reviewed(project, tmp_path, tests=PYTEST).decision == "reject"
    for head in (None, "feature"):
        found = reviewed(project, tmp_path, folder="part", tests=PYTEST, head=head)
        assert (found.decision, found.exit_code) == ("steward", 0)
        assert "only in the folder part" in found.reason
    assert reviewed(project, tmp_path, folder="part/..", tests=QUICK).decision == "approve"


# ── wrong use ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("--agent", "a/ "), id="a flow that is a blank"),
        pytest.param(("--agent", "a"), id="no flow"),
        pytest.param(("--agent", f"a/{'x' * 200}"), id="a flow that is too long"),
        pytest.param(("--upgrade", "../x", "v1"), id="no old version"),
        pytest.param(("--upgrade", "v1", "../x"), id="no new version"),
    ],
)
def test_a_baseline_that_cannot_be_named_so_is_wrong_use(project: Project, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    project.change(SIMPLE)
    told = tmp_path / "ran"
    tests = f"touch {told}"
    code, out, err = called(project, "--base", "main", "--lint", "git --version", "--tests", tests, *arguments, temporary=tmp_path / "tmp")
    assert (code, out, told.exists()) == (2, "", False), err


def test_an_agent_that_is_wrong_use_is_no_regression(project: Project, tmp_path: Path) -> None:
    project.change(SIMPLE)
    with pytest.raises(UsageError, match="flow_id"):
        reviewed(project, tmp_path, baselines=Asked(agents=(("a", " "),)))


@pytest.mark.parametrize("revision", ["HEAD^{/base}", "HEAD^{/!-base}", "main^{/a}^{commit}"])
def test_a_search_is_refused_in_whatever_spelling(project: Project, revision: str) -> None:
    project.git("commit", "--quiet", "--allow-empty", "-m", "a base")
    with pytest.raises(UsageError, match="is no revision"):
        Repository(project.path).change(revision, None)


@pytest.mark.parametrize(
    ("text", "agent"),
    [
        ("support/triage", ("support", "triage")),
        ("a/b/c", ("a", "b/c")),
        ("a%2Fb/c", ("a/b", "c")),
        ("a%252Fb/c", ("a%2Fb", "c")),
        ("50%/c", ("50%", "c")),
    ],
)
def test_an_agent_is_named_as_lists_show_it(text: str, agent: tuple[str, str]) -> None:
    assert agent_named(text) == agent


def test_versions_of_an_upgrade_are_checked_when_they_are_named() -> None:
    assert upgrade_named("v1", "v2") == ("v1", "v2")
    with pytest.raises(UsageError):
        upgrade_named("v1", "a b/c")
