"""Reviews of real changes in a real git repository, by the program itself or by what it calls."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.app.review_project import CALC, SIMPLE, TESTS, Project, called, is_gone, review_of, started

from flowgauge.app.agents import AgentBaselines
from flowgauge.app.review import ReviewRequest, review
from flowgauge.app.review_baselines import Asked, Gated
from flowgauge.app.review_git import Repository
from flowgauge.errors import UsageError
from flowgauge.model.benchmark import Benchmark
from flowgauge.model.figure import Metric
from flowgauge.model.gate import Policy
from flowgauge.registry.review.decision import Review, StepStatus
from flowgauge.registry.review.settings import ReviewSettings
from flowgauge.store import open_store

ALONE = ("--base", "main", "--without", "baseline")
NO_WORK = ReviewSettings(lint=("git", "--version"), tests=("git", "--version"))
"""For tests that are about other steps: programs that pass at once."""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


@pytest.fixture(autouse=True)
def _quick_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


class NoAgents:
    def validate_against_baseline(self, prompt_id: str, flow_id: str) -> Any:
        raise RuntimeError(f"{prompt_id}/{flow_id} is on fire")


def reviewed(project: Project, tmp_path: Path, *, folder: str = ".", **request: Any) -> Review:
    asked = ReviewRequest(**{"base": "main", "settings": NO_WORK, **request})
    with open_store(str(tmp_path / "store.db")) as store:
        return review(store, tmp_path / "data", asked, NoAgents(), folder=project.path / folder)


def statuses(found: dict[str, Any] | Review) -> dict[str, StepStatus]:
    if isinstance(found, Review):
        return {step.name: step.status for step in found.steps}
    return {step["name"]: step["status"] for step in found["steps"]}


# ── the matrix ──────────────────────────────────────────────────────────────


def lines(count: int) -> str:
    return "".join(f"N{number} = {number}\n" for number in range(count))


@pytest.mark.parametrize(
    ("files", "decision", "code"),
    [
        pytest.param(SIMPLE, "approve", 0, id="tests pass and it is simple"),
        pytest.param({"numbers_.py": lines(99)}, "approve", 0, id="99 lines"),
        pytest.param({"numbers_.py": lines(100)}, "steward", 0, id="100 lines are moderate"),
        pytest.param({f"n{number}.py": lines(1) for number in range(11)}, "steward", 0, id="eleven files are complex"),
        pytest.param({"calc.py": CALC + "import os\n"}, "reject", 1, id="lint fails"),
        pytest.param({"calc.py": CALC.replace("+", "-")}, "reject", 1, id="tests fail"),
        pytest.param({"calc.py": "x = 1\n"}, "reject", 1, id="tests cannot be imported"),
        pytest.param({"test_calc.py": None}, "not_measured", 3, id="no test is left"),
    ],
)
def test_lint_tests_and_size_decide(
    project: Project, tmp_path: Path, files: dict[str, str | bytes | None], decision: str, code: int
) -> None:
    project.change(files)
    before = project.state() if "test_calc.py" not in files else None
    found = review_of(project, *ALONE, temporary=tmp_path / "tmp")
    assert (found["decision"], found["exit_code"]) == (decision, code), found["steps"]
    assert before is None or project.state() == before


def figures(sid: str, duration_ms: float) -> Benchmark:
    metrics = {"duration_ms": Metric(value=duration_ms, direction="lower", unit="ms")}
    return Benchmark(sid=sid, bench_uid="", bench_id="", config="", subject=f"suite/{sid}", kind="ingested", metrics=metrics)


@pytest.mark.parametrize(
    ("candidate", "decision"),
    [
        pytest.param("bm_same", "approve", id="no regression"),
        pytest.param("bm_slow", "reject", id="a regression"),
        pytest.param("bm_nobody", "not_measured", id="a benchmark that is not there"),
    ],
)
def test_a_gate_of_stored_benchmarks_decides(project: Project, tmp_path: Path, candidate: str, decision: str) -> None:
    project.change(SIMPLE)
    with open_store(str(tmp_path / "store.db")) as store:
        store.put_benchmarks([figures("bm_old", 100), figures("bm_same", 101), figures("bm_slow", 150)])
    gate = Gated(candidate=candidate, baseline="bm_old", policy=Policy(rule="threshold"))
    found = reviewed(project, tmp_path, baselines=Asked(gate=gate))
    assert found.decision == decision, found.steps
    assert (found.steps[-1].checks[0].subject, found.steps[-1].status) == (
        f"gate of {candidate} against bm_old",
        {"approve": "passed", "reject": "failed"}.get(decision, "not_measured"),
    )


def test_what_a_gate_lets_pass_without_being_sure_is_named_and_prove_does_not_let_it_pass(project: Project, tmp_path: Path) -> None:
    project.change(SIMPLE)
    with open_store(str(tmp_path / "store.db")) as store:
        samples = {"a": [100.0, 140.0, 60.0]}
        for sid in ("bm_old", "bm_new"):
            metric = Metric(value=100.0, direction="lower", unit="ms", samples=samples)
            store.put_benchmarks([msgspec.structs.replace(figures(sid, 100), metrics={"duration_ms": metric})])
    gates = [Gated(candidate="bm_new", baseline="bm_old", policy=Policy(rule=rule)) for rule in ("detect", "prove")]
    detect, prove = (reviewed(project, tmp_path, baselines=Asked(gate=gate)) for gate in gates)
    assert (detect.decision, prove.decision) == ("approve", "not_measured")
    assert "inconclusive: duration_ms" in detect.steps[-1].checks[0].words


def capture(project: Project, tmp_path: Path, version: str, flush_rate: float) -> None:
    health = tmp_path / "health.json"
    health.write_text(json.dumps({"flush_rate": flush_rate}), encoding="utf-8")
    settings = tmp_path / "registry.yaml"
    settings.write_text(f"adapters:\n  world_model: {{source: '{health}'}}\n", encoding="utf-8")
    command = [sys.executable, "-m", "flowgauge", "snapshot", "capture", version, "--settings", str(settings)]
    subprocess.run(command, cwd=project.path, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("versions", "decision"),
    [
        pytest.param(("v1", "v2"), "approve", id="no worse by more than 5 %"),
        pytest.param(("v1", "v3"), "reject", id="worse by more"),
        pytest.param(("v1", "v4"), "not_measured", id="the new one was not measured"),
        pytest.param(("v0", "v1"), "not_measured", id="a first version proves nothing"),
    ],
)
def test_an_upgrade_of_snapshots_decides(project: Project, tmp_path: Path, versions: tuple[str, str], decision: str) -> None:
    project.change(SIMPLE)
    for version, rate in (("v1", 0.8), ("v2", 0.77), ("v3", 0.7)):
        capture(project, tmp_path, version, rate)
    passing = ("--lint", "git --version", "--tests", "git --version")
    found = review_of(project, "--base", "main", "--upgrade", *versions, *passing, temporary=tmp_path / "tmp")
    assert found["decision"] == decision, found["steps"][-1]


def test_an_exception_in_the_validation_of_an_agent_is_a_failure(project: Project, tmp_path: Path) -> None:
    project.change(SIMPLE)
    found = reviewed(project, tmp_path, baselines=Asked(agents=(("p", "f"),)))
    assert (found.decision, found.exit_code) == ("reject", 1)
    assert "p/f is on fire" in found.findings[0].words


def test_an_agent_without_a_baseline_is_not_measured(project: Project, tmp_path: Path) -> None:
    project.change(SIMPLE)
    with open_store(str(tmp_path / "store.db")) as store:
        asked = ReviewRequest(base="main", settings=NO_WORK, baselines=Asked(agents=(("p", "f"),)))
        found = review(store, tmp_path / "data", asked, AgentBaselines(store, tmp_path / "data"), folder=project.path)
    assert (found.decision, statuses(found)["baseline"]) == ("not_measured", "not_measured")


def test_without_a_baseline_nothing_is_approved_until_somebody_says_so(project: Project, tmp_path: Path) -> None:
    project.change(SIMPLE)
    assert reviewed(project, tmp_path).decision == "not_measured"
    code, out, _ = called(project, *ALONE, temporary=tmp_path / "tmp")
    assert (code, "approved" in out, "no baseline was looked at" in out) == (0, True, True)


# ── what could not be run ───────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("tests", "told"),
    [
        pytest.param(("no-such-program-anywhere",), "cannot be started", id="no such program"),
        pytest.param(("./no-such-script",), "cannot be started", id="no such script"),
        pytest.param((sys.executable, "-m", "pytest", "-k", "nothing"), "no tests were collected", id="no tests"),
        pytest.param((sys.executable, "-c", "import time; time.sleep(60)"), "did not end within 3 s", id="no end"),
        pytest.param((sys.executable, "-c", "import os; os.abort()"), "SIGABRT", id="a crash"),
        pytest.param(("sh", "-c", "no-such-program"), "was not found", id="a shell finds no program"),
    ],
)
def test_tests_that_could_not_be_run_are_not_measured(project: Project, tmp_path: Path, tests: tuple[str, ...], told: str) -> None:
    project.change(SIMPLE)
    settings = ReviewSettings(lint=("git", "--version"), tests=tests, time_limit_s=3, without=("baseline",))
    found = reviewed(project, tmp_path, settings=settings)
    assert (found.decision, found.exit_code, statuses(found)["tests"]) == ("not_measured", 3, "not_measured")
    assert told in found.findings[0].words


def test_at_the_time_limit_the_whole_group_is_killed_and_what_it_wrote_is_kept(project: Project, tmp_path: Path) -> None:
    project.change(SIMPLE)
    code = (
        "import subprocess, sys, time; child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        "print('child', child.pid, flush=True); time.sleep(600)"
    )
    settings = ReviewSettings(lint=("git", "--version"), tests=(sys.executable, "-c", code), time_limit_s=3)
    found = reviewed(project, tmp_path, settings=settings)
    (tests,) = (step for step in found.steps if step.name == "tests")
    assert tests.exit_code is None
    assert is_gone(int(tests.output.split()[1]))


def test_a_project_of_another_language_has_no_linter_of_ours(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.git("checkout", "--quiet", "main")
    project.write({"calc.py": None, "test_calc.py": None, "pyproject.toml": None, "main.go": "package main\n"})
    project.commit()
    project.git("checkout", "--quiet", "-b", "other")
    project.change({"main.go": "package other\n"})
    found = reviewed(project, tmp_path, settings=ReviewSettings(tests=("git", "--version")))
    assert statuses(found)["lint"] == "not_measured"
    assert "no linter is known" in found.findings[0].words


def test_secrets_do_not_reach_the_review(project: Project, tmp_path: Path) -> None:
    project.change({**SIMPLE, "test_calc.py": TESTS + "    import os\n    assert not os.environ['DEPLOY_TOKEN']\n"})
    found = called(project, *ALONE, "--json", temporary=tmp_path / "tmp", DEPLOY_TOKEN="plum-orchard-4711")
    assert found[0] == 1
    assert "plum-orchard" not in found[1] + found[2]
    assert "[redacted]" in found[1]


# ── what git tells ──────────────────────────────────────────────────────────


def test_renames_deletions_and_binary_files_are_counted(project: Project, tmp_path: Path) -> None:
    project.git("checkout", "--quiet", "main")
    project.change({"old name.py": lines(40), "gone.py": lines(5)})
    project.git("checkout", "--quiet", "-b", "third")
    project.change({"old name.py": None, "new\tname.py": lines(40) + "X = 1\n", "gone.py": None, "logo.bin": b"\x00\x01\xff" * 99})
    found = reviewed(project, tmp_path)
    assert found.diff is not None
    kinds = {each.path: (each.kind, each.added, each.deleted, each.old_path) for each in found.diff.changes}
    assert kinds == {
        "new\tname.py": ("renamed", 1, 0, "old name.py"),
        "gone.py": ("deleted", 0, 5, ""),
        "logo.bin": ("added", None, None, ""),
    }
    assert (found.diff.binary, found.diff.renamed, found.diff.removed, found.diff.complexity) == (1, 1, 1, "moderate")


def test_what_others_did_to_the_base_meanwhile_is_no_part_of_the_change(project: Project, tmp_path: Path) -> None:
    project.change(SIMPLE)
    project.git("checkout", "--quiet", "main")
    project.change({f"n{number}.py": lines(100) for number in range(20)})
    project.git("checkout", "--quiet", "feature")
    found = reviewed(project, tmp_path)
    assert found.diff is not None
    assert (found.diff.files, found.base_sha != found.merge_base) == (1, True)


def test_the_work_tree_is_reviewed_as_it_is(project: Project, tmp_path: Path) -> None:
    project.change(SIMPLE)
    project.write({"calc.py": CALC + lines(150), "unknown.py": "x = 1\n"})
    found = reviewed(project, tmp_path)
    assert found.diff is not None
    assert (found.diff.added, found.head_sha.endswith("+")) == (150, True)
    assert found.notes == ("Not counted in the size: 1 file of the work tree that git does not know.",)


def test_nothing_to_review_is_never_approved(project: Project, tmp_path: Path) -> None:
    found = reviewed(
        project, tmp_path, settings=ReviewSettings(lint=("git", "--version"), tests=("git", "--version"), without=("baseline",))
    )
    assert (found.decision, statuses(found)["diff"]) == ("not_measured", "not_measured")


def test_a_diff_that_git_cannot_make_is_not_measured_and_the_rest_runs(project: Project, tmp_path: Path) -> None:
    project.change(SIMPLE)
    tree = project.git("rev-parse", "main^{tree}")
    (project.path / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    found = reviewed(project, tmp_path)
    assert (found.decision, found.diff) == ("not_measured", None)
    assert statuses(found) == {"diff": "not_measured", "lint": "passed", "tests": "passed", "baseline": "not_measured"}
    assert "git diff failed" in found.steps[0].reason


def test_external_diffs_and_hooks_of_the_repository_are_not_run(project: Project, tmp_path: Path) -> None:
    script = project.path / ".git" / "hooks" / "post-checkout"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n", encoding="utf-8")
    script.chmod(0o755)
    for name in ("diff.external", "diff.evil.textconv", "diff.evil.command"):
        project.git("config", name, str(script))
    head = project.change({**SIMPLE, ".gitattributes": "*.py diff=evil\n"})
    project.git("-c", "core.hooksPath=/dev/null", "checkout", "--quiet", "main")
    found = reviewed(project, tmp_path, head=head)
    assert found.diff is not None
    assert found.diff.files == 2
    assert not (tmp_path / "ran").exists()


HOSTILE = [
    pytest.param("--output=pwned", id="an option"),
    pytest.param("-O/etc/passwd", id="a short option"),
    pytest.param("--end-of-options", id="the end of options"),
    pytest.param("^main", id="an exclusion"),
    pytest.param("main..feature", id="a range"),
    pytest.param("main...feature", id="a range of three dots"),
    pytest.param("HEAD:calc.py", id="a file"),
    pytest.param(":/a sum", id="a search"),
    pytest.param("main feature", id="two"),
    pytest.param("main\nfeature", id="a newline"),
    pytest.param("main\x00", id="a zero byte"),
    pytest.param("$(touch pwned)", id="a command"),
    pytest.param("`touch${IFS}pwned`", id="a command without blanks"),
    pytest.param("main;touch${IFS}pwned", id="two commands"),
    pytest.param("nobody", id="no commit"),
    pytest.param("HEAD^{tree}", id="a tree"),
    pytest.param("m" * 300, id="far too long"),
    pytest.param("", id="nothing"),
]


@pytest.mark.parametrize("revision", HOSTILE)
@pytest.mark.parametrize("side", ["base", "head"])
def test_a_revision_that_is_none_is_refused(project: Project, tmp_path: Path, revision: str, side: str) -> None:
    project.change(SIMPLE)
    before = project.state(), sorted(path.name for path in project.path.iterdir())
    with pytest.raises(UsageError, match=r"revision|no commit"):
        Repository(project.path).change(*((revision, None) if side == "base" else ("main", revision)))
    assert (project.state(), sorted(path.name for path in project.path.iterdir())) == before


@pytest.mark.parametrize("revision", ["main", "HEAD~1", "@{-1}", "v1.0", "refs/heads/main"])
def test_the_usual_ways_to_name_a_revision_are_taken(project: Project, revision: str) -> None:
    project.change(SIMPLE)
    project.git("tag", "-a", "v1.0", "-m", "a tag", "main")
    assert Repository(project.path).change(revision, None).base_sha == project.git("rev-parse", "main")


def test_a_branch_that_is_only_at_origin_is_taken_from_there(project: Project, tmp_path: Path) -> None:
    project.change(SIMPLE)
    clone = Project.__new__(Project)
    super(Project, clone).__init__(tmp_path / "clone", clone_of=project)
    assert Repository(clone.path).change("main", None).base_sha == project.git("rev-parse", "main")


def test_a_shallow_clone_is_told_what_to_fetch(project: Project, tmp_path: Path) -> None:
    project.change(SIMPLE)
    clone = Project.__new__(Project)
    super(Project, clone).__init__(tmp_path / "clone", clone_of=project, options=("--depth", "1"))
    with pytest.raises(UsageError, match="fetch-depth: 0"):
        Repository(clone.path).change("main", None)


def test_two_histories_without_a_common_ancestor_are_refused(project: Project) -> None:
    project.git("checkout", "--quiet", "--orphan", "alone")
    project.change(SIMPLE)
    with pytest.raises(UsageError, match="no common ancestor"):
        Repository(project.path).change("main", None)


def test_a_folder_outside_a_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no work tree of git"):
        Repository(tmp_path)


# ── another commit than the one checked out ─────────────────────────────────


def test_another_commit_is_reviewed_elsewhere_and_the_work_tree_is_untouched(project: Project, tmp_path: Path) -> None:
    """The head's test needs the head's code; the work tree has local changes that would break both."""
    project.change({**SIMPLE, "test_calc.py": TESTS.replace("add\n", "add, double\n", 1) + "    assert double(2) == 4\n"})
    project.git("checkout", "--quiet", "main")
    project.write({"calc.py": "this is no Python\n"})
    project.git("add", "calc.py")
    before, shared = project.state(), tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    found = review_of(project, *ALONE, "--head", "feature", temporary=shared)
    assert (found["decision"], statuses(found)["tests"]) == ("approve", "passed"), found["steps"]
    assert project.state() == before
    assert list(shared.iterdir()) == []
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777


def test_folders_that_nobody_may_change_are_removed_and_what_links_point_to_is_not_touched(project: Project, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o750)
    shut = "import os, pathlib\n\ndef test_shut():\n    pathlib.Path('a/b').mkdir(parents=True)\n"
    shut += f"    os.symlink({str(kept)!r}, 'a/link')\n    os.chmod('a/b', 0)\n    os.chmod('a', 0o500)\n"
    project.change({"test_shut.py": shut})
    project.git("checkout", "--quiet", "main")
    review_of(project, *ALONE, "--head", "feature", temporary=tmp_path / "tmp")
    assert list((tmp_path / "tmp").iterdir()) == []
    assert stat.S_IMODE(kept.stat().st_mode) == 0o750


def test_what_is_checked_out_elsewhere_wins_over_what_is_installed(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editable install, or a PYTHONPATH, leads to the work tree; the head's own code must be tested."""
    head = project.change({"calc.py": CALC.replace("+", "-")})
    project.git("checkout", "--quiet", "main")
    monkeypatch.setenv("PYTHONPATH", str(project.path))
    tests = (sys.executable, "-P", "-m", "pytest", "--import-mode=importlib")
    found = reviewed(project, tmp_path, head=head, settings=ReviewSettings(lint=("git", "--version"), tests=tests))
    assert statuses(found)["tests"] == "failed"


def test_a_folder_of_the_repository_is_reviewed_in_its_own_place(project: Project, tmp_path: Path) -> None:
    head = project.change({"part/calc2.py": CALC, "part/test_part.py": TESTS.replace("from calc ", "from calc2 ")})
    project.git("checkout", "--quiet", "main")
    (project.path / "part").mkdir(exist_ok=True)
    settings = ReviewSettings(tests=(sys.executable, "-m", "pytest", "-q"), without=("baseline",))
    found = reviewed(project, tmp_path, head=head, folder="part", settings=settings)
    assert (found.decision, "1 passed" in found.steps[2].output) == ("steward", True)


def test_a_folder_that_the_head_does_not_have_is_not_measured(project: Project, tmp_path: Path) -> None:
    head = project.change(SIMPLE)
    project.git("checkout", "--quiet", "main")
    (project.path / "part").mkdir()
    found = reviewed(project, tmp_path, head=head, folder="part", settings=ReviewSettings(lint=("git", "--version")))
    assert statuses(found)["tests"] == "not_measured"
    assert "there is no folder part" in found.steps[1].reason


WAITS = "import os, sys, time; open(sys.argv[1], 'w').write(f'{os.getpid()} {os.getcwd()}'); time.sleep(600)"


@pytest.fixture
def waiting(project: Project, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int, Path]]:
    """A review of another commit, in the middle of its tests: the process, and where its test program is."""
    project.change(SIMPLE)
    project.git("checkout", "--quiet", "main")
    told = tmp_path / "told"
    tests = f'{sys.executable} -c "{WAITS}" {told}'
    process = started(project, *ALONE, "--head", "feature", "--lint", "git --version", "--tests", tests, temporary=tmp_path / "tmp")
    with process:
        deadline = time.monotonic() + 60
        while not (told.exists() and told.read_text(encoding="utf-8")):
            assert process.poll() is None and time.monotonic() < deadline, process.communicate()
            time.sleep(0.02)
        pid, _, folder = told.read_text(encoding="utf-8").partition(" ")
        yield process, int(pid), Path(folder)
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["from the keyboard", "asked to end"])
def test_an_interrupted_review_leaves_nothing_behind(
    project: Project, tmp_path: Path, waiting: tuple[subprocess.Popen[str], int, Path], number: signal.Signals
) -> None:
    process, pid, folder = waiting
    assert len(project.trees()) == 2
    assert folder.is_relative_to(tmp_path / "tmp")
    process.send_signal(number)
    assert process.wait(60) == 130
    assert (len(project.trees()), list((tmp_path / "tmp").iterdir()), is_gone(pid)) == (1, [], True)
    assert project.state()[:2] == ("main", "")


def test_what_a_killed_review_left_is_swept_by_the_next(
    project: Project, tmp_path: Path, waiting: tuple[subprocess.Popen[str], int, Path]
) -> None:
    process, pid, folder = waiting
    process.kill()
    process.wait(60)
    assert folder.exists()
    subprocess.run(["kill", "-9", str(pid)], check=True)
    passing = ("--lint", "git --version", "--tests", "git --version")
    found = review_of(project, *ALONE, "--head", "feature", *passing, temporary=tmp_path / "tmp")
    assert found["decision"] == "approve"
    assert (len(project.trees()), list((tmp_path / "tmp").iterdir())) == (1, [])


def test_a_review_under_way_is_not_swept(project: Project, tmp_path: Path, waiting: tuple[subprocess.Popen[str], int, Path]) -> None:
    _, pid, folder = waiting
    passing = ("--lint", "git --version", "--tests", "git --version")
    review_of(project, *ALONE, "--head", "feature", *passing, temporary=tmp_path / "tmp")
    assert folder.exists()
    assert not is_gone(pid)
    assert len(project.trees()) == 2


# ── what it says ────────────────────────────────────────────────────────────


def test_the_comment_the_summary_and_the_annotations_are_written(project: Project, tmp_path: Path) -> None:
    project.change({"calc.py": CALC.replace("+", "-")})
    summary = tmp_path / "summary.md"
    github = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_ACTIONS": "true"}
    code, out, err = called(project, *ALONE, "--markdown", str(tmp_path / "comment.md"), temporary=tmp_path / "tmp", **github)
    comment = (tmp_path / "comment.md").read_text(encoding="utf-8")
    assert code == 1
    assert comment.startswith("<!-- flowgauge-review -->\n")
    assert "assert -1 == 3" in comment
    assert summary.read_text(encoding="utf-8") == comment
    assert "::error title=review%2C tests%3A failed::tests fail" in err
    assert "✗ tests" in out
    assert "rejected" in out


def test_settings_of_the_project_are_honoured_and_the_command_line_wins(project: Project, tmp_path: Path) -> None:
    project.change(SIMPLE)
    settings = project.path / ".flowgauge" / "review.yaml"
    settings.parent.mkdir()
    settings.write_text("lint: git --version\ntests: git no-such-command\nwithout: [baseline]\n", encoding="utf-8")
    found = review_of(project, "--base", "main", temporary=tmp_path / "tmp")
    assert [step["command"] for step in found["steps"]] == ["", "git --version", "git no-such-command", ""]
    assert found["decision"] == "reject"
    assert review_of(project, "--base", "main", "--tests", "git --version", temporary=tmp_path / "tmp")["decision"] == "approve"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(("--base", "nobody"), "There is no commit 'nobody'", id="no such base"),
        pytest.param(("--base", "main", "--gate", "latest"), "need a --baseline", id="a gate without a baseline"),
        pytest.param(("--base", "main", "--agent", "alone"), "names no agent", id="an agent without its flow"),
        pytest.param(("--base", "main", "--tests", "'open"), "cannot be read", id="a command that is none"),
        pytest.param(("--base", "main", "--lint", ""), "is empty", id="an empty command"),
    ],
)
def test_wrong_use_is_told(project: Project, tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    project.change(SIMPLE)
    code, _, err = called(project, *arguments, temporary=tmp_path / "tmp")
    assert (code, told in err) == (2, True), err
