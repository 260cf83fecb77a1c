from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from tests.cli.conftest import Program

AGENT = ("support", "by hand")


def sections(rate: float | None, **more: object) -> Path:
    file = Path("sections.json")
    file.write_text(json.dumps({"recipe_metrics": {"success_rates": {"search": rate}}, **more}), encoding="utf-8")
    return file


def test_an_agent_is_captured_validated_compared_and_shown(flowgauge: Program) -> None:
    made = flowgauge("agent", "capture", *AGENT, "--sections", sections(0.8), "--user-id", "ada", "--json")
    assert (made.code, made.json["version"], made.json["user_id"]) == (0, 1, "ada")
    assert Path(".flowgauge/baselines/support_by%20hand/v1.json").is_file()
    codes = {rate: flowgauge("agent", "validate", *AGENT, "--sections", sections(rate)).code for rate in (0.8, 0.76, 0.75, None)}
    assert codes == {0.8: 0, 0.76: 0, 0.75: 1, None: 3}
    told = flowgauge("agent", "validate", *AGENT, "--sections", sections(0.5), "--json").json
    assert (told["passed"], told["baseline_version"], told["regressions"][0]["metric"]) == (False, 1, "success_rate.search")
    flowgauge("agent", "capture", *AGENT, "--sections", sections(0.5), "--trigger", "prompt_change")
    assert "regressed" in flowgauge("agent", "compare", *AGENT, "1", "2").out
    assert flowgauge("agent", "compare", *AGENT, "1", "2", "--json").json["changes"][0]["verdict"] == "regressed"
    assert [each["version"] for each in flowgauge("agent", "list", *AGENT, "--json").json["snapshots"]] == [1, 2]
    assert "baseline" in flowgauge("agent", "list").out
    assert "success_rate.search" in flowgauge("agent", "show", *AGENT).out
    assert flowgauge("agent", "show", *AGENT, "1", "--json").json["recipe_metrics"]["success_rates"] == {"search": 0.8}
    assert flowgauge("agent", "trend", *AGENT, "--json").json["snapshot_count"] == 2
    assert "insufficient data" in flowgauge("agent", "trend", *AGENT).out


def test_a_recipe_change_right_after_the_creation_is_left_out(flowgauge: Program) -> None:
    flowgauge("agent", "capture", *AGENT, "--sections", sections(0.8))
    left_out = flowgauge("agent", "capture", *AGENT, "--trigger", "recipe_change")
    assert (left_out.code, "left out" in left_out.out) == (0, True)
    assert flowgauge("agent", "capture", *AGENT, "--trigger", "recipe_change", "--json").json is None


def test_what_is_not_known_is_said_by_the_exit_code(flowgauge: Program) -> None:
    assert flowgauge("agent", "validate", *AGENT).code == 3
    assert flowgauge("agent", "show", *AGENT).code == 2
    flowgauge("agent", "capture", *AGENT, "--sections", sections(0.8))
    assert flowgauge("agent", "validate", *AGENT).code == 3


def test_an_agent_is_shown_as_a_review_takes_it_and_removed(flowgauge: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        flowgauge("agent", "capture", "a/b", "c", "--sections", sections(0.8))
    assert "a%2Fb/c" in flowgauge("agent", "list").out
    assert "a%2Fb/c" in flowgauge("agent", "validate", "a/b", "c", "--sections", sections(0.8)).out
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    asked = flowgauge("agent", "remove", "a/b", "c")
    assert (asked.code, "--yes" in asked.err) == (2, True)
    assert "v1 removed" in flowgauge("agent", "remove", "a/b", "c", "1", "--yes").out
    assert "v2 removed" in flowgauge("agent", "remove", "a/b", "c", "--yes").out
    assert flowgauge("agent", "remove", "a/b", "c", "--yes").code == 2
    assert flowgauge("agent", "list", "--json").json == {"snapshots": []}


def test_a_damaged_snapshot_is_listed_as_that(flowgauge: Program) -> None:
    flowgauge("agent", "capture", *AGENT, "--sections", sections(0.8))
    Path(".flowgauge/baselines/support_by%20hand/v7.json").write_text("{", encoding="utf-8")
    done = flowgauge("agent", "list")
    assert (done.code, "damaged" in done.out, "v7: " in done.err) == (0, True, True)
    assert "no snapshot of an agent" in flowgauge("agent", "list", "--json").json["snapshots"][1]["error"]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("validate", "", "f"), id="no prompt"),
        pytest.param(("list", "p"), id="a prompt without a flow"),
        pytest.param(("capture", "p", "f"), id="no such workflow and no sections"),
        pytest.param(("validate", "p", "f", "--min-plays", "100", "--last", "50"), id="more plays than are counted"),
        pytest.param(("capture", "p", "f", "--trigger", "mood"), id="a trigger that is none"),
        pytest.param(("compare", "p", "f", "0", "1"), id="a version that is none"),
        pytest.param(("capture", "p", "f", "--sections", "list.json"), id="sections that are a list"),
        pytest.param(("capture", "p", "f", "--sections", "odd.json"), id="sections that do not fit"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(flowgauge: Program, arguments: tuple[str, ...]) -> None:
    Path("list.json").write_text("[]", encoding="utf-8")
    Path("odd.json").write_text('{"recipe_metrics": {"success_rates": {"a": 95}}}', encoding="utf-8")
    done = flowgauge("agent", *arguments)
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err
    assert not Path(".flowgauge/baselines").exists()
