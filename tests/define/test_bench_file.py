"""Bench files: what they mean, and every mistake at once with its line and a remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowgauge.define.bench import BenchOptions, LoadedBench, bench_from_value, load_bench
from flowgauge.define.bench_file import BENCH_KEYS
from flowgauge.define.workflow import load_workflow, parse_workflow
from flowgauge.errors import BadFile
from flowgauge.model.bench import Bench, CheckSpec, Configuration, Target
from flowgauge.model.workflow import Workflow
from flowgauge.nodes.kind import Complaint
from flowgauge.plan.ids import definition_hash
from flowgauge.plan.order import total

ROOT = Path(__file__).parents[2]
WORKFLOW = parse_workflow(
    {
        "name": "w",
        "inputs": [
            {"name": "ticket", "type": "string", "required": True},
            {"name": "count", "type": "integer", "default": 1},
            {"name": "urgent", "type": "boolean"},
        ],
        "config": {"provider": "mock", "model": "fast"},
        "nodes": [{"id": "classify", "type": "ai", "prompt": "{{ inputs.ticket }}{{ inputs.count }}{{ inputs.urgent }}"}],
        "output": "{{ nodes.classify.text }}",
    }
).workflow
TARGET = Target(kind="workflow", reference="wv_1", name="w", content="abc")
FUNCTION = Target(kind="python", reference="pkg.mod:ask", name="pkg.mod:ask", content="def ask(): ...")
TYPES = frozenset({"equals", "contains", "regex", "judge"})
VARIANTS = "state_variants: [{name: short, state: {ticket: a}}]\n"


def load(tmp_path: Path, text: str, **options: Any) -> LoadedBench:
    file = tmp_path / "configs.yaml"
    file.write_text(text, encoding="utf-8")
    settings: BenchOptions = {"check_types": TYPES, **options}  # type: ignore[typeddict-item]
    return load_bench(file, TARGET, WORKFLOW, **settings)


def bench(tmp_path: Path, text: str, **options: Any) -> Bench:
    return load(tmp_path, text, **options).bench


def problems(tmp_path: Path, text: str, **options: Any) -> list[str]:
    with pytest.raises(BadFile) as caught:
        load(tmp_path, text, **options)
    return str(caught.value).replace(f"{tmp_path}/", "").splitlines()


WHOLE = """\
name: shootout
runs: 4
max_concurrent_runs: 3
configs:
  - {name: mini, workflow_overrides: {config: {model: default}}}
  - name: tuned
    workflow_overrides: {nodes: {classify: {prompt: "Please: {{ inputs.ticket }}{{ inputs.count }}{{ inputs.urgent }}"}}}
state_variants:
  - {name: short, state: {ticket: Hello}, expected: {label: general}}
  - {name: long, state: {ticket: Hello again, count: 3}, expected: {label: other}, runs: 2, tags: {size: big}}
checks:
  - {type: equals, value: "{{ expected.label }}"}
  - {type: judge, name: tone, rubric: Is it polite?, votes: 3, threshold: 0.5, options: {model: mock/fast}}
scorers:
  - {type: contains, value: please}
seed: 9
timeout_s: 60
budget_usd: 1
cache: true
tags: {team: support}
"""


def test_a_whole_file_becomes_a_bench(tmp_path: Path) -> None:
    found = bench(tmp_path, WHOLE)
    assert (found.name, found.runs, found.max_concurrent_runs, found.seed) == ("shootout", 4, 3, 9)
    assert (found.timeout_s, found.budget_usd, found.cache, found.tags) == (60.0, 1.0, True, {"team": "support"})
    assert [config.name for config in found.configs] == ["mini", "tuned"]
    assert [(case.name, case.inputs, case.expected, case.runs) for case in found.cases] == [
        ("short", {"ticket": "Hello"}, {"label": "general"}, None),
        ("long", {"ticket": "Hello again", "count": 3}, {"label": "other"}, 2),
    ]
    assert total(found) == 2 * (4 + 2)


def test_settings_of_a_check_may_stand_beside_its_type(tmp_path: Path) -> None:
    judge = bench(tmp_path, WHOLE).checks[1]
    assert judge == CheckSpec(
        type="judge", name="tone", threshold=0.5, options={"model": "mock/fast", "rubric": "Is it polite?", "votes": 3}
    )


def test_scorers_come_after_checks_and_are_not_required(tmp_path: Path) -> None:
    found = bench(tmp_path, WHOLE).checks
    assert [(spec.type, spec.required) for spec in found] == [("equals", True), ("judge", True), ("contains", False)]


def test_the_code_of_a_check_lies_beside_the_file_and_is_part_of_the_definition(tmp_path: Path) -> None:
    text = VARIANTS + "checks: [{type: python, file: check.py, timeout_s: 3}]\n"
    hashes = set()
    for code in ("def check(): return True", "def check(): return False"):
        (tmp_path / "check.py").write_text(code, encoding="utf-8")
        found = bench(tmp_path, text, check_types=None)
        assert found.checks[0].options == {"code": code, "timeout_s": 3}
        hashes.add(definition_hash(found))
    assert len(hashes) == 2
    (tmp_path / "check.py").unlink()
    assert problems(tmp_path, text, check_types=None) == [
        "configs.yaml:2: checks[0].file: check.py: There is no such file. Check the path."
    ]


def test_a_file_that_says_nothing_is_one_configuration_and_one_case() -> None:
    optional = parse_workflow({"name": "w", "nodes": [{"id": "a", "type": "ai", "prompt": "x"}]}).workflow
    found = load_bench(None, TARGET, optional).bench
    assert found == Bench(name="w", target=TARGET, configs=(Configuration(name="default"),), cases=found.cases)
    assert [(case.name, case.inputs) for case in found.cases] == [("default", {})]


def test_the_command_line_lies_over_the_file(tmp_path: Path) -> None:
    found = bench(
        tmp_path, WHOLE, runs=1, max_concurrency=9, seed=0, budget_usd=2, cache=False, limit=1, name="other", timeout_s=5, tags={"run": "7"}
    )
    assert (found.runs, found.max_concurrent_runs, found.seed, found.budget_usd, found.cache) == (1, 9, 0, 2.0, False)
    assert (found.limit, len(found.cases), found.name, found.timeout_s) == (1, 1, "other", 5.0)
    assert found.tags == {"team": "support", "run": "7"}


def test_a_limit_beyond_all_counting_leaves_every_case(tmp_path: Path) -> None:
    assert len(bench(tmp_path, WHOLE, limit=2**63).cases) == len(bench(tmp_path, WHOLE).cases)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runs": 0}, "options: runs: 0 is out of range. It must be at least 1."),
        ({"limit": 0}, "options: limit: 0 is out of range."),
        ({"budget_usd": -1.0}, "options: budget_usd: -1.0 is out of range."),
        ({"tags": {"a": 1}}, "options: tags.a: Expected text, not 1."),
        ({"filters": ["confg=a"]}, "--filter: confg=a: There is no filter 'confg'. Did you mean 'config'?"),
        ({"filters": ["mini"]}, "--filter: mini: Nothing is asked for."),
        ({"filters": ["config=mino"]}, "--filter: config=mino: No configuration is called so. Did you mean 'mini'?"),
        ({"filters": ["case=shrt"]}, "--filter: case=shrt: No case fits. Did you mean 'short'?"),
        ({"filters": ["tag.size=huge"]}, "--filter: tag.size=huge: No case fits."),
    ],
)
def test_what_is_asked_for_wrongly_is_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    assert message in "\n".join(problems(tmp_path, WHOLE, **options))


@pytest.mark.parametrize(
    ("filters", "configs", "cases"),
    [
        pytest.param([], ["mini", "tuned"], ["short", "long"], id="none"),
        pytest.param(["config=mini"], ["mini"], ["short", "long"], id="a configuration"),
        pytest.param(["case=l*"], ["mini", "tuned"], ["long"], id="cases by glob"),
        pytest.param(["case=short", "case=long"], ["mini", "tuned"], ["short", "long"], id="one key twice widens"),
        pytest.param(["config=*n*", "case=short"], ["mini", "tuned"], ["short"], id="two keys narrow"),
        pytest.param(["tag.size=b?g"], ["mini", "tuned"], ["long"], id="cases by tag"),
    ],
)
def test_filters_pick_configurations_and_cases(tmp_path: Path, filters: list[str], configs: list[str], cases: list[str]) -> None:
    found = bench(tmp_path, WHOLE, filters=filters)
    assert ([config.name for config in found.configs], [case.name for case in found.cases]) == (configs, cases)


MISTAKEN = """\
name: shootout
rums: 3
nodes: []
runs: 0
configs:
  - {name: mini, workflow_overrides: {config: {temprature: 1}}}
  - {name: mini, workflow_overrides: {nodes: {clasify: {prompt: x}}}}
  - name: tuned
    workflow_overrides:
      nodes:
        classify:
          prompt: "{{ inputs.tickt }}"
  - {nmae: x}
state_variants:
  - {name: short, state: {tickt: a}}
  - {name: short, state: {ticket: 3}}
  - {name: long, state: {ticket: a}, checks: [{type: eqals}]}
checks:
  - type: equls
  - {type: equals, name: same, value: 1}
  - {type: contains, name: same, value: 1}
scorers:
  - {type: contains, value: x, required: true}
dataset: {a: 1}
"""


FOUND = """\
configs.yaml:2: rums: Unknown key 'rums'. Did you mean 'runs'?
configs.yaml:3: nodes: `nodes` belongs in the workflow file. Move it there, or write `configs: [{name: …, workflow_overrides: {…}}]`.
configs.yaml:4: runs: 0 is out of range. It must be at least 1.
configs.yaml:6: configs[0].workflow_overrides.config.temprature: \
Configuration 'mini': Unknown key 'temprature'. Did you mean 'temperature'?
configs.yaml:7: configs[1].name: Two configurations are called 'mini'. Give each configuration a name of its own.
configs.yaml:7: configs[1].workflow_overrides.nodes.clasify: Configuration 'mini': There is no node 'clasify'. Did you mean 'classify'?
configs.yaml:12: configs[2].workflow_overrides.nodes.classify.prompt: \
Configuration 'tuned': inputs.tickt names an input that is not declared. Did you mean 'ticket'? Declare it under `inputs:`.
configs.yaml:13: configs[3].name: 'name' is missing. Add it.
configs.yaml:13: configs[3].nmae: Unknown key 'nmae'. Did you mean 'name'?
configs.yaml:15: state_variants[0].state.tickt: The workflow has no such input. Did you mean 'ticket'?
configs.yaml:16: state_variants[1].state.ticket: Expected string, not 3. Correct the value, or the declaration in the workflow.
configs.yaml:16: state_variants[1].name: Two cases are called 'short'. Give each case a name of its own.
configs.yaml:17: state_variants[2].checks[0].type: There is no check of type 'eqals'. Did you mean 'equals'?
configs.yaml:19: checks[0].type: There is no check of type 'equls'. Did you mean 'equals'?
configs.yaml:21: checks[2].name: Two checks are called 'same'. Give each its own name.
configs.yaml:23: scorers[0].required: A scorer only measures. Put it under `checks`, or leave `required` out.
configs.yaml:24: dataset: Expected a list, not an object. Write [a, b] or one `- item` a line.
"""


def test_every_mistake_is_listed_at_once_with_its_line(tmp_path: Path) -> None:
    assert problems(tmp_path, MISTAKEN) == FOUND.splitlines()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "configs.yaml:1: A bench must be a mapping."),
        ("{}\n", "configs.yaml:1: There are no cases. The workflow needs ticket. Add `cases`, `state_variants` or a `dataset`."),
        ("cases: [{name: a}]", "configs.yaml:1: cases[0]: The workflow needs ticket."),
        ("cases: [{name: a, inputs: {ticket: x}}, {name: a, inputs: {ticket: y}}]", "cases[1].name: Two cases are called 'a'."),
        ("cases: [{name: ' ', inputs: {ticket: x}}]", "cases[0].name: The name is empty."),
        ('cases: [{name: "a\\nb", inputs: {ticket: x}}]', "cases[0].name: The name has characters that cannot be shown."),
        ("configs: [{name: '', workflow_overrides: {}}]\n" + VARIANTS, "configs[0].name: The name is empty."),
        (f"cases: [{{name: {'x' * 201}, inputs: {{ticket: x}}}}]", "The name is longer than 200 characters."),
        ("cases: [{name: a, inputs: {ticket: null}}]", "The workflow needs ticket."),
        ("cases: [{name: a, inputs: {ticket: x, count: 1.5}}]", "cases[0].inputs.count: Expected integer, not 1.5."),
        ("cases: [{name: a, inputs: {ticket: x}, checks: [{value: 1}]}]", "cases[0].checks[0].type: 'type' is missing."),
        (VARIANTS + "checks: [{type: equals, value: '{{ expected.label }}'}]", "checks[0]: No case has expected.label."),
        (VARIANTS + "checks: [{type: equals, value: '{{ inputs.tickt }}'}]", "inputs.tickt names an input that is not declared."),
        ("dataset: nowhere.csv", "dataset[0]: nowhere.csv: There is no such file. Check the path; it is looked for beside the bench file."),
        ("dataset: rows.xlsx", "'rows.xlsx' is no data set: its name ends in '.xlsx'. Known are .csv, .tsv, .jsonl"),
        ("dataset: [1]", "dataset[0]: Expected text, not 1."),
        ("configs:\n" + VARIANTS, "configs: Expected a list, not null."),
    ],
)
def test_a_mistake_is_told_with_its_remedy(tmp_path: Path, text: str, message: str) -> None:
    assert message in "\n".join(problems(tmp_path, text))


def test_a_check_of_a_case_may_not_share_a_name_with_one_of_the_bench(tmp_path: Path) -> None:
    text = "checks: [{type: equals, name: same, value: 1}]\n"
    text += "cases: [{name: a, inputs: {ticket: x}, checks: [{type: regex, name: same, value: x}]}]"
    assert problems(tmp_path, text) == ["configs.yaml:2: cases[0].checks: Two checks are called 'same'. Give each its own name."]


def test_what_a_type_says_about_its_settings_is_told_where_they_stand(tmp_path: Path) -> None:
    def complain(spec: CheckSpec) -> list[Complaint]:
        return [Complaint(f"options.{name}", "There is no such option.", "Remove it.") for name in spec.options if name == "vots"]

    text = VARIANTS + "checks:\n  - type: judge\n    vots: 3\n  - type: judge\n    name: two\n    options:\n      vots: 3\n"
    assert problems(tmp_path, text, complain=complain) == [
        "configs.yaml:4: checks[0].vots: There is no such option. Remove it.",
        "configs.yaml:8: checks[1].options.vots: There is no such option. Remove it.",
    ]


def test_what_is_odd_is_a_warning(tmp_path: Path) -> None:
    text = (
        "configs: [{name: a}, {name: b}]\n"
        "cases: [{name: x, inputs: {ticket: a}, expected: {label: y}}, {name: z, inputs: {ticket: b}}]\n"
        "state_variants: [{name: v, state: {ticket: c}}]\n"
        "checks: [{type: equals, value: '{{ expected.label }}'}]\n"
    )
    assert [(warning.line, warning.message) for warning in load(tmp_path, text).warnings] == [
        (1, "'b' is the same as 'a'."),
        (3, "'v' replaces ticket of every row."),
        (4, "1 of 2 cases have no expected.label."),
    ]


def test_gold_with_a_default_need_not_be_there(tmp_path: Path) -> None:
    assert not load(tmp_path, VARIANTS + "checks: [{type: equals, value: '{{ expected.label | default(1) }}'}]").warnings


def test_variants_are_laid_over_every_row(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"ticket": "one"}\n{"name": "second", "ticket": "two", "count": 5}\n', encoding="utf-8")
    text = (
        "cases: [{name: first, inputs: {ticket: zero}, expected: {label: x}, tags: {from: file}}]\n"
        "dataset: rows.jsonl\n"
        "state_variants:\n"
        "  - {name: calm, state: {urgent: false}, tags: {mood: calm}}\n"
        "  - {name: hasty, state: {urgent: true, count: 9}, runs: 2, checks: [{type: regex, value: x}]}\n"
    )
    cases = {case.name: case for case in bench(tmp_path, text).cases}
    assert list(cases) == ["first/calm", "first/hasty", "row-1/calm", "row-1/hasty", "second/calm", "second/hasty"]
    assert cases["second/hasty"].inputs == {"ticket": "two", "count": 9, "urgent": True}
    assert cases["second/calm"].inputs == {"ticket": "two", "count": 5, "urgent": False}
    assert (cases["first/calm"].expected, cases["first/calm"].tags) == ({"label": "x"}, {"from": "file", "mood": "calm"})
    assert (cases["first/hasty"].runs, [spec.type for spec in cases["first/hasty"].checks]) == (2, ["regex"])


def test_names_that_meet_when_crossed_are_a_mistake(tmp_path: Path) -> None:
    text = "cases: [{name: a/b, inputs: {ticket: x}}, {name: a, inputs: {ticket: x}}]\nstate_variants: [{name: c}, {name: b/c}]\n"
    assert "configs.yaml:1: cases[1].name: Two cases are called 'a/b/c'. Give each case a name of its own." in problems(tmp_path, text)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param([{"name": "mini", "workflow_overrides": {"config": {"model": "default"}}}], id="a list"),
        pytest.param({"mini": {"config": {"model": "default"}}}, id="overrides by name"),
        pytest.param({"mini": {"workflow_overrides": {"config": {"model": "default"}}}}, id="configurations by name"),
        pytest.param({"configs": [{"name": "mini", "workflow_overrides": {"config": {"model": "default"}}}]}, id="a whole bench"),
        pytest.param((Configuration(name="mini", workflow_overrides={"config": {"model": "default"}}),), id="structs"),
    ],
)
def test_a_program_may_hand_over(value: Any) -> None:
    optional = parse_workflow({"name": "w", "nodes": [{"id": "a", "type": "ai", "prompt": "x"}]}).workflow
    found = bench_from_value(value, TARGET, optional, runs=2).bench
    assert found.configs == (Configuration(name="mini", workflow_overrides={"config": {"model": "default"}}),)
    assert found.runs == 2


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "A bench must be a mapping."),
        ({"mini": {"confg": {"model": "x"}}}, "Configuration 'mini': There is no such override. Did you mean 'config'?"),
        ({"confgs": []}, "Unknown key 'confgs'. Did you mean 'configs'?"),
        ([{"name": "a", "workflow_overrides": {"config": {"extra": {"x": object()}}}}], "There is a value that no file could hold"),
    ],
)
def test_mistakes_of_a_program_are_told_too(value: Any, message: str) -> None:
    with pytest.raises(BadFile) as caught:
        bench_from_value(value, TARGET, WORKFLOW)
    assert message in str(caught.value)


def test_another_target_takes_any_inputs_and_any_config() -> None:
    found = bench_from_value(
        {"configs": [{"name": "a", "workflow_overrides": {"config": {"depth": 3}}}], "cases": [{"name": "x", "inputs": {"q": 1}}]}, FUNCTION
    )
    assert (found.bench.name, found.bench.cases[0].inputs) == ("pkg.mod:ask", {"q": 1})


def test_another_target_has_no_nodes() -> None:
    with pytest.raises(BadFile) as caught:
        bench_from_value({"a": {"nodes": {"x": {}}}, "b": {"config": 3}}, FUNCTION)
    assert "Configuration 'a': A python target takes only `config`." in str(caught.value)
    assert "Configuration 'b': Expected a mapping of names to values." in str(caught.value)


@pytest.mark.parametrize(("file", "trials"), [("configs", 30), ("labelled", 60), ("lines", 28)])
def test_the_examples_are_benches(file: str, trials: int) -> None:
    folder = ROOT / "examples" / "bench"
    found = load_bench(folder / f"{file}.yaml", TARGET, load_workflow(folder / "support.yaml").workflow, check_types=TYPES)
    assert (total(found.bench), found.warnings) == (trials, ())


def test_where_a_file_lies_is_no_part_of_the_definition(tmp_path: Path) -> None:
    hashes = set()
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text("ticket,expected.label\nhello,a\n", encoding="utf-8")
        hashes.add(definition_hash(bench(tmp_path, f"dataset: {name}.csv\n")))
    assert len(hashes) == 1


def test_a_bench_survives_the_store(tmp_path: Path) -> None:
    found = bench(tmp_path, WHOLE)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Bench) == found


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=8
)
ITEMS = st.lists(
    st.dictionaries(st.sampled_from(["name", "type", "inputs", "state", "checks", "workflow_overrides", "runs"]), ANYTHING), max_size=3
)


@settings(deadline=None)
@given(value=st.dictionaries(st.sampled_from(sorted(BENCH_KEYS)), ANYTHING | ITEMS), of=st.sampled_from([None, WORKFLOW]))
def test_whatever_stands_in_a_file_is_a_bench_or_a_list_of_problems(value: dict[str, Any], of: Workflow | None) -> None:
    try:
        found = bench_from_value(value, TARGET if of else FUNCTION, of).bench
    except BadFile as error:
        assert error.problems
        return
    assert msgspec.json.decode(msgspec.json.encode(found), type=Bench).cases
    assert len(definition_hash(found)) == 64
