"""Gate files become policies, or every mistake is listed with its line."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from flowgauge.compare.limits import read_limit
from flowgauge.define.gate import load_policy
from flowgauge.define.gate_schema import gate_json_schema
from flowgauge.documents.document import read_document
from flowgauge.errors import BadFile
from flowgauge.model.gate import History, KOfN, MetricPolicy, Policy

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "bench" / "gate.yaml"


def load(folder: Path, text: str) -> Policy:
    file = folder / "gate.yaml"
    file.write_text(text, encoding="utf-8")
    return load_policy(file, read_limit)


def problems(folder: Path, text: str) -> list[tuple[int, str, str]]:
    with pytest.raises(BadFile) as error:
        load(folder, text)
    assert error.value.file.endswith("gate.yaml")
    assert all(problem.remedy for problem in error.value.problems)
    return [(problem.line, problem.where, f"{problem.message} {problem.remedy}") for problem in error.value.problems]


def test_everything_that_a_file_may_say(tmp_path: Path) -> None:
    assert load(tmp_path, EXAMPLE.read_text(encoding="utf-8")) == Policy(
        rule="detect",
        tolerance=0.05,
        metrics={
            "duration_ms": MetricPolicy(tolerance=0.1, min_samples=10),
            "cost_usd": MetricPolicy(rule="threshold", tolerance=0.2),
            "first_token_ms": MetricPolicy(rule="ignore"),
            "tokens_completion": MetricPolicy(history=History(method="t", last=10)),
        },
        rates="both",
        fail_on=("hard_regression", "soft_regression"),
        k_of_n=KOfN(k=2, n=3),
        limits=("p95_ms <= 2000", "success_rate >= 0.9"),
        strict=True,
        allow=("price_table",),
    )


def test_one_word_stands_for_a_list_of_one(tmp_path: Path) -> None:
    found = load(tmp_path, "limits: p95_ms <= 2000\nfail_on: watch\nonly: cost_usd\nallow: machine\n")
    assert (found.limits, found.fail_on, found.only, found.allow) == (("p95_ms <= 2000",), ("watch",), ("cost_usd",), ("machine",))


def test_json_is_a_gate_file_too(tmp_path: Path) -> None:
    assert load(tmp_path, '{"rule": "prove", "tolerance": 0}') == Policy(rule="prove", tolerance=0.0)


def test_every_mistake_is_listed_with_its_line(tmp_path: Path) -> None:
    text = """\
rul: detect
rule: detekt
tolerance: 1.5
min_samples: 0
metrics:
  duration_ms: {tolerence: 0.1}
  cost_usd: {rule: ignored}
  score.tone: {history: {method: z, last: 2}}
rates: all
fail_on: [hard]
limits: [p95_ms <= 2000, p95ms <= 3, p95_ms < 3]
k_of_n: {k: 0}
allow: [prize_table]
strict: "yes"
"""
    found = problems(tmp_path, text)
    assert [(line, where) for line, where, _ in found] == [
        (1, "rul"),
        (2, "rule"),
        (3, "tolerance"),
        (4, "min_samples"),
        (6, "metrics.duration_ms.tolerence"),
        (7, "metrics.cost_usd.rule"),
        (8, "metrics.score.tone.history.last"),
        (9, "rates"),
        (10, "fail_on[0]"),
        (11, "limits[1]"),
        (11, "limits[2]"),
        (12, "k_of_n.k"),
        (13, "allow[0]"),
        (14, "strict"),
    ]
    told = {where: words for _, where, words in found}
    assert "Did you mean 'rule'?" in told["rul"]
    assert "Did you mean 'detect'?" in told["rule"]
    assert "Did you mean 'tolerance'?" in told["metrics.duration_ms.tolerence"]
    assert "Did you mean 'ignore'?" in told["metrics.cost_usd.rule"]
    assert "Did you mean 'p95_ms'?" in told["limits[1]"]
    assert "Did you mean 'price_table'?" in told["allow[0]"]


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        pytest.param("k_of_n: {k: 4, n: 3}", "k_of_n.k", "4 of 3 runs cannot pass", id="more passes than runs"),
        pytest.param("metrics: {x: {history: {method: t, bound: 3}}}", "metrics.x.history.bound", "3 is no level", id="sigmas for a level"),
        pytest.param(
            "metrics: {x: {rule: ignore, tolerance: 0.1}}", "metrics.x.tolerance", "says nothing", id="a setting of an ignored metric"
        ),
        pytest.param("metrics: {x: {rule: ignore}}\nonly: [x]", "metrics.x.rule", "under `only`", id="asked for and ignored"),
        pytest.param("metrics: {x: {history: {last: 5}}}", "metrics.x.history.method", "is missing", id="history without a method"),
        pytest.param("metrics: [x]", "metrics", "a mapping", id="a list of metrics"),
        pytest.param("limits: [5]", "limits[0]", "Expected text", id="a limit that is a number"),
        pytest.param("- rule: detect", "", "A gate must be a mapping", id="a list"),
        pytest.param("rule: detect\nrule: prove", "rule", "already", id="a key twice"),
    ],
)
def test_what_does_not_go_together(tmp_path: Path, text: str, where: str, words: str) -> None:
    assert [(place, words in told) for _, place, told in problems(tmp_path, text)] == [(where, True)]


def test_a_level_and_sigmas_fit_their_methods(tmp_path: Path) -> None:
    found = load(tmp_path, "metrics: {x: {history: {method: t, bound: 0.99}}, y: {history: {method: z, bound: 4}}}")
    assert [asked.history and asked.history.bound for asked in found.metrics.values()] == [0.99, 4.0]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="no such file"):
        load_policy(tmp_path / "nowhere.yaml", read_limit)


def test_the_schema_takes_what_the_loader_takes() -> None:
    schema = gate_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"] == "Flowgauge gate"
    check = jsonschema.Draft202012Validator(schema)
    check.validate(read_document(EXAMPLE).value)
    check.validate({"limits": "p95_ms <= 3", "fail_on": "watch", "only": "x", "allow": "machine"})


@pytest.mark.parametrize(
    "value",
    [{"rul": 1}, {"rule": "x"}, {"tolerance": 1}, {"allow": ["x"]}, {"metrics": {"x": {"y": 1}}}, {"k_of_n": {"n": 3}}],
)
def test_the_schema_refuses_what_the_loader_refuses(tmp_path: Path, value: dict[str, object]) -> None:
    import msgspec

    assert not jsonschema.Draft202012Validator(gate_json_schema()).is_valid(value)
    assert problems(tmp_path, msgspec.json.encode(value).decode())


@pytest.mark.parametrize("struct", [Policy, MetricPolicy, History, KOfN])
def test_every_key_is_documented(struct: type[Policy]) -> None:
    text = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    assert [name for name in struct.__struct_fields__ if f"`{name}`" not in text] == []
