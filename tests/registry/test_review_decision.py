from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgauge.errors import BadFile
from flowgauge.registry.review.changes import Complexity, FileChange, complexity_of, read_changes, stats_of
from flowgauge.registry.review.decision import EXIT_CODES, Check, Decision, Review, Step, StepStatus, decide, findings_of, status_of
from flowgauge.registry.review.exits import meaning_of
from flowgauge.registry.review.settings import ReviewSettings, load_review_settings, review_json_schema
from flowgauge.registry.review.words import MARK, annotated, comment

STATUSES: tuple[StepStatus, ...] = ("passed", "failed", "not_measured", "left_out")


@pytest.mark.parametrize(
    ("files", "lines", "binary", "complexity"),
    [
        pytest.param(3, 99, 0, "simple", id="three files and 99 lines"),
        pytest.param(4, 1, 0, "moderate", id="four files"),
        pytest.param(1, 100, 0, "moderate", id="a hundred lines"),
        pytest.param(10, 499, 0, "moderate", id="ten files and 499 lines"),
        pytest.param(11, 1, 0, "complex", id="eleven files"),
        pytest.param(1, 500, 0, "complex", id="five hundred lines"),
        pytest.param(1, 0, 1, "moderate", id="a binary file has no number of lines"),
    ],
)
def test_the_size_of_a_change(files: int, lines: int, binary: int, complexity: Complexity) -> None:
    assert complexity_of(files, lines, binary) == complexity


ZERO = "0" * 40


def raw(letter: str, *paths: str) -> str:
    return "\0".join([f":100644 100644 {ZERO} {ZERO} {letter}", *paths, ""])


def test_what_git_writes_is_read() -> None:
    written = (
        raw("M", "a\tb.py")
        + raw("R090", "old.py", "new.py")
        + raw("A", "logo.png")
        + raw("D", ":gone")
        + "3\t1\ta\tb.py\0"
        + "2\t2\t\0old.py\0new.py\0"
        + "-\t-\tlogo.png\0"
        + "0\t7\t:gone\0"
    )
    found = read_changes(written.encode())
    assert found == [
        FileChange(path="a\tb.py", kind="changed", added=3, deleted=1),
        FileChange(path="new.py", kind="renamed", added=2, deleted=2, old_path="old.py"),
        FileChange(path="logo.png", kind="added"),
        FileChange(path=":gone", kind="deleted", added=0, deleted=7),
    ]
    size = stats_of(found)
    assert (size.files, size.lines, size.binary, size.renamed, size.removed, size.complexity) == (4, 15, 1, 1, 1, "moderate")


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(raw("M", "a"), id="listed and not counted"),
        pytest.param("1\t1\ta\0", id="counted and not listed"),
        pytest.param(raw("M", "a") + "x\t1\ta\0", id="no number"),
    ],
)
def test_what_git_does_not_write_is_refused(written: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        read_changes(written.encode())


def steps(lint: StepStatus, tests: StepStatus, baseline: StepStatus, diff: StepStatus = "passed") -> list[Step]:
    return [
        Step(name="diff", status=diff),
        Step(name="lint", status=lint),
        Step(name="tests", status=tests),
        Step(name="baseline", status=baseline),
    ]


@pytest.mark.parametrize(
    ("given_steps", "complexity", "decision"),
    [
        pytest.param(steps("passed", "passed", "passed"), "simple", "approve", id="well and simple"),
        pytest.param(steps("passed", "passed", "passed"), "moderate", "steward", id="well and moderate"),
        pytest.param(steps("passed", "passed", "passed"), "complex", "steward", id="well and complex"),
        pytest.param(steps("failed", "passed", "passed"), "simple", "reject", id="lint fails"),
        pytest.param(steps("passed", "failed", "passed"), "simple", "reject", id="tests fail"),
        pytest.param(steps("passed", "passed", "failed"), "simple", "reject", id="it regressed"),
        pytest.param(steps("not_measured", "passed", "passed"), "simple", "not_measured", id="lint could not be run"),
        pytest.param(steps("passed", "not_measured", "passed"), "simple", "not_measured", id="tests could not be run"),
        pytest.param(steps("passed", "passed", "not_measured"), "simple", "not_measured", id="no baseline"),
        pytest.param(steps("passed", "passed", "passed", "not_measured"), None, "not_measured", id="git could not tell"),
        pytest.param(steps("passed", "not_measured", "failed"), "simple", "reject", id="a regression stands, whatever else is open"),
        pytest.param(steps("left_out", "passed", "left_out"), "simple", "approve", id="what was left out is not asked"),
    ],
)
def test_the_matrix(given_steps: list[Step], complexity: Complexity | None, decision: Decision) -> None:
    assert decide(given_steps, complexity)[0] == decision


@given(st.tuples(*[st.sampled_from(STATUSES)] * 4), st.sampled_from(["simple", "moderate", "complex", None]))
def test_only_what_passed_its_tests_and_failed_nowhere_is_let_through(
    found: tuple[StepStatus, StepStatus, StepStatus, StepStatus], complexity: Complexity | None
) -> None:
    decision, _ = decide(steps(*found), complexity)
    through = found[1] == "passed" and not {"failed", "not_measured"} & set(found) and complexity is not None
    assert (EXIT_CODES[decision] == 0) == through
    assert (decision == "reject") == ("failed" in found)


def test_the_words_do_not_claim_what_nobody_looked_at() -> None:
    assert "no regression was found" in decide(steps("passed", "passed", "passed"), "simple")[1]
    told = decide(steps("left_out", "passed", "left_out"), "simple")[1]
    assert "no regression was found" not in told
    assert "lint was left out" in told


@pytest.mark.parametrize(
    ("found", "status"),
    [
        pytest.param([], "not_measured", id="nothing was looked at"),
        pytest.param(["passed", "passed"], "passed", id="all passed"),
        pytest.param(["passed", "not_measured"], "not_measured", id="one is open"),
        pytest.param(["not_measured", "failed"], "failed", id="one failed"),
    ],
)
def test_several_baselines_are_one_step(found: list[StepStatus], status: StepStatus) -> None:
    assert status_of([Check(subject="s", status=each, words="w") for each in found]) == status


@pytest.mark.parametrize(
    ("argv", "exit_code", "status"),
    [
        pytest.param(["anything"], 0, "passed", id="0"),
        pytest.param(["/venv/bin/pytest"], 1, "failed", id="pytest: tests fail"),
        pytest.param(["pytest"], 2, "failed", id="pytest: a test file cannot be imported"),
        pytest.param(["pytest"], 3, "not_measured", id="pytest itself fails"),
        pytest.param(["pytest"], 4, "not_measured", id="pytest is misused"),
        pytest.param(["python3.12", "-X", "dev", "-m", "pytest", "-q"], 5, "not_measured", id="pytest finds no test"),
        pytest.param(["make", "test"], 5, "failed", id="5 of another program"),
        pytest.param(["ruff", "check"], 1, "failed", id="ruff: mistakes"),
        pytest.param(["ruff", "check"], 2, "not_measured", id="ruff itself fails"),
        pytest.param(["sh", "-c", "nothing"], 127, "not_measured", id="a shell finds no command"),
        pytest.param(["sh", "-c", "exit 137"], 137, "not_measured", id="a shell tells of a kill"),
        pytest.param(["/bin/bash", "run.sh"], 139, "not_measured", id="another shell tells of a crash"),
        pytest.param(["dash", "-c", "x"], 127, "not_measured", id="a third finds no command"),
        pytest.param(["sh", "-c", "exit 128"], 128, "failed", id="128 is no signal"),
        pytest.param(["sh", "-c", "exit 255"], 255, "failed", id="nor is 255"),
        pytest.param(["make"], 137, "failed", id="137 of another program"),
        pytest.param(["make"], -9, "not_measured", id="killed"),
        pytest.param(["python"], -200, "not_measured", id="a signal without a name"),
    ],
)
def test_what_an_exit_code_means(argv: list[str], exit_code: int, status: StepStatus) -> None:
    assert meaning_of(argv, exit_code)[0] == status


def reviewed(*given_steps: Step, decision: Decision = "reject") -> Review:
    return Review(
        decision=decision,
        reason="Because.",
        exit_code=EXIT_CODES[decision],
        base="main",
        head="",
        base_sha="a" * 40,
        head_sha="b" * 40 + "+",
        merge_base="c" * 40,
        diff=stats_of([FileChange(path="a|b <img src=x> @ann.py", kind="changed", added=1, deleted=0)]),
        steps=given_steps,
        findings=findings_of(given_steps),
    )


HOSTILE = "````\n</details><script>alert(1)</script> | [x](http://evil.example) @ann"


def test_a_comment_begins_with_its_mark_and_nothing_in_it_becomes_markup() -> None:
    step = Step(name="tests", status="failed", reason=HOSTILE, command="pytest `x`", output=HOSTILE)
    told = comment(reviewed(step))
    assert told.startswith(f"{MARK}\n")
    outside, _, block = told.partition("`````text\n")
    inside, _, after = block.partition("\n`````\n")
    assert inside == HOSTILE
    assert "<script>" not in outside + after
    assert "@ann" not in outside + after
    assert "<img" not in outside + after
    assert all(line.count("|") - line.count("\\|") == 4 for line in outside.splitlines() if line.startswith("| "))


def test_a_comment_fits_github() -> None:
    many = [Step(name="tests", status="failed", reason="r", command="c", output="`x" * 2000) for _ in range(40)]
    assert len(comment(reviewed(*many))) <= 65_536
    checks = tuple(Check(subject=f"agent {number}", status="failed", words="w" * 900) for number in range(100))
    assert len(comment(reviewed(Step(name="baseline", status="failed", checks=checks)))) <= 65_536


def test_findings_become_annotations() -> None:
    checks = (Check(subject="gate", status="failed", words="slower"), Check(subject="agent", status="passed", words="well"))
    found = reviewed(
        Step(name="lint", status="not_measured", reason="ruff was not found"), Step(name="baseline", status="failed", checks=checks)
    )
    assert [(kind, message) for kind, _, message in annotated(found)] == [("error", "gate: slower"), ("warning", "ruff was not found")]
    assert annotated(reviewed(Step(name="tests", status="passed"), decision="approve"))[0][0] == "notice"


def test_settings_are_read(tmp_path: Path) -> None:
    file = tmp_path / "review.yaml"
    file.write_text("lint: ruff check src\ntests: [python, -m, pytest]\ntime_limit_s: 60\nwithout: [baseline]\n", encoding="utf-8")
    wanted = ReviewSettings(lint="ruff check src", tests=("python", "-m", "pytest"), time_limit_s=60, without=("baseline",))
    assert load_review_settings(file) == wanted


def test_every_mistake_in_the_settings_has_its_line(tmp_path: Path) -> None:
    file = tmp_path / "review.yaml"
    file.write_text('lint: "ruff \'check"\ntest: x\ntime_limit_s: 0\nwithout: [tests]\ntests: []\n', encoding="utf-8")
    with pytest.raises(BadFile) as raised:
        load_review_settings(file)
    assert sorted(problem.line for problem in raised.value.problems) == [1, 2, 3, 4, 5]
    assert "Did you mean 'tests'" in str(raised.value)


def test_the_schema_takes_what_the_loader_takes() -> None:
    schema = review_json_schema()
    jsonschema.validate({"lint": "ruff check", "tests": ["pytest"], "without": ["lint"]}, schema)
    for wrong in ({"tests": 3}, {"colour": "red"}, {"without": ["tests"]}, {"time_limit_s": 0}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
