from __future__ import annotations

from pathlib import Path

import pytest
from tests.score.scoring import spec

from flowgauge.model.bench import CheckSpec
from flowgauge.score.problems import check_problems
from flowgauge.score.table import CHECK_TYPES, CHECKS


@pytest.mark.parametrize(
    ("check", "field", "words"),
    [
        pytest.param(spec("eqals", 1), "type", "Did you mean 'equals'?", id="an unknown type"),
        pytest.param(spec("equals"), "value", "nothing to compare", id="a forgotten value"),
        pytest.param(spec("equals", 1, ignor_case=True), "options.ignor_case", "Did you mean 'ignore_case'?", id="an unknown option"),
        pytest.param(spec("equals", 1, ignore_case="yes"), "options.ignore_case", "Expected `bool`", id="an option of the wrong type"),
        pytest.param(spec("equals", 1, path="result.x"), "path", "Begin with output or nodes", id="a path into nothing"),
        pytest.param(spec("equals", 1, path="output..x"), "path", "cannot stand in a path", id="a path that cannot be read"),
        pytest.param(spec("equals", 1, path="nodes"), "path", "names one", id="no node named"),
        pytest.param(spec("equals", 1, threshold=0.5), "threshold", "gives no score", id="a threshold without a score"),
        pytest.param(spec("equals", "{{ expectd.x }}"), "value", "Unknown name 'expectd'", id="a template with an unknown name"),
        pytest.param(spec("numeric", 1, abs="{{ expected. }}"), "options.abs", "", id="an option with a broken template"),
        pytest.param(spec("numeric"), "value", "nothing to compare", id="a number with neither value nor bounds"),
        pytest.param(spec("numeric", "ten"), "value", "is no number", id="a number that is none"),
        pytest.param(spec("numeric", min=2, max=1), "options.min", "nothing can pass", id="bounds the wrong way round"),
        pytest.param(spec("length"), "value", "No length", id="no length asked for"),
        pytest.param(spec("one_of", "a"), "value", "needs a list", id="a list that is none"),
        pytest.param(spec("regex", "(a"), "value", "Not a regular expression", id="a bad pattern"),
        pytest.param(spec("json_path", path="output.a", op="<"), "value", "nothing to compare", id="a comparison without a value"),
        pytest.param(spec("json_schema", {"type": "objekt"}), "value", "Not a JSON Schema", id="a bad schema"),
        pytest.param(spec("latency"), "options", "No bound", id="no bound"),
        pytest.param(spec("latency", 5, max_duration_ms=1), "value", "takes no value", id="a value where none belongs"),
        pytest.param(spec("python"), "options.code", "one source", id="no code"),
        pytest.param(spec("python", code="def check(output)\n  pass"), "options.code", "does not compile", id="code that does not compile"),
        pytest.param(spec("python", code="def chek(output): pass"), "options.code", "no function 'check'", id="code without the function"),
        pytest.param(spec("python", code="def check(outptu): pass"), "options.code", "can be told", id="an argument that nobody gives"),
        pytest.param(spec("python", file="nowhere.py"), "options.file", "Cannot read", id="a file that is not there"),
        pytest.param(spec("command"), "options.argv", "needs 'argv'", id="no program"),
        pytest.param(spec("command", argv=[]), "options.argv", "length", id="an empty list of arguments"),
        pytest.param(spec("judge"), "options.rubric", "needs 'rubric'", id="no rubric"),
        pytest.param(spec("judge", rubric="Is {{ output }} good?"), "options.rubric", "untrusted", id="a rubric that names what is judged"),
        pytest.param(spec("judge", rubric="x", votes=0), "options.votes", ">= 1", id="no vote"),
        pytest.param(spec("judge", rubric="x", config={"modle": "m"}), "options.config", "modle", id="an unknown setting of the judge"),
        pytest.param(spec("judge", rubric="x", config={"model": "m"}), "options.config", "no provider", id="a model without a provider"),
        pytest.param(spec("judge", rubric="x", threshold=3), "threshold", "outside", id="a threshold that no score reaches"),
        pytest.param(spec("gold", "billing"), "value", "expected.NAME", id="gold that is the same for every case"),
        pytest.param(spec("gold", "{{ expected.x }}", use="score"), "options.use", "by `of`", id="a part of no check"),
    ],
)
def test_problem_of_a_check(check: CheckSpec, field: str, words: str) -> None:
    found = list(check_problems(check))
    assert [one.field for one in found] == [field]
    assert words in f"{found[0].message} {found[0].remedy}"
    assert all(one.message for one in found)


def test_all_problems_are_listed_at_once() -> None:
    found = list(check_problems(spec("equals", "{{ x", path="nope", ignor_case=1, strip=3, threshold=1)))
    assert [one.field for one in found] == ["path", "threshold", "value", "options.ignor_case", "options.strip"]


@pytest.mark.parametrize(
    "check",
    [
        spec("numeric", min="{{ expected.low }}"),
        spec("regex", "^{{ expected.id }}$"),
        spec("json_schema", "{{ expected.schema }}"),
        spec("latency", max_duration_ms="{{ inputs.limit_ms }}"),
        spec("command", argv=["check", "{{ inputs.x }}"]),
        spec("judge", rubric="Is it about {{ inputs.topic }}?", votes="{{ inputs.votes }}"),
        spec("python", code="def check(**told): return f'{{x}}' == ''"),
        spec("python", code="def check(output, strictness=3): return True"),
    ],
    ids=lambda check: check.type,
)
def test_what_templates_fill_in_later_is_no_problem(check: CheckSpec) -> None:
    assert list(check_problems(check)) == []


def test_python_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "c.py").write_text("def check(output): return True")
    assert list(check_problems(spec("python", file=str(tmp_path / "c.py")))) == []


def test_types_are_the_rows_of_the_table() -> None:
    assert frozenset(CHECKS) == CHECK_TYPES
