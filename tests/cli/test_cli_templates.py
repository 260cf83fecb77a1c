"""`flowgauge template`, and benchmark_flow from the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Program

from flowgauge.app.templates import TEMPLATES, template_text


def test_templates_are_listed_and_shown_as_the_files_that_they_are(flowgauge: Program) -> None:
    listed = flowgauge("template", "list", "--json")
    assert [one["name"] for one in listed.json["templates"]] == list(TEMPLATES)
    assert all(name in flowgauge("template", "list").out for name in TEMPLATES)
    assert flowgauge("template", "show", "benchmark_flow").out == template_text("benchmark_flow")


def test_an_unknown_template_is_one_error(flowgauge: Program) -> None:
    shown = flowgauge("template", "show", "nope")
    assert (shown.code, shown.out) == (2, "")
    assert "There is no template 'nope'" in shown.err


def test_a_workflow_is_measured_with_made_up_inputs_in_three_commands(flowgauge: Program) -> None:
    assert "benchmark_flow v1 added" in flowgauge("template", "add", "benchmark_flow").out
    assert "was there already" in flowgauge("template", "add", "benchmark_flow").out
    flowgauge("template", "add", "ticket-triage")
    ran = flowgauge("run", "benchmark_flow", "-i", "target_workflow_sid=ticket-triage", "-i", "num_runs=2", "--json")
    assert ran.code == 0, ran.err
    output = ran.json["play"]["output"]
    stored = flowgauge("benchmark", "show", output["benchmark_sid"]).json
    assert (stored["num_runs"], stored["workflow_version_sid"]) == (2, output["workflow_version_sid"])
    assert output["workflow_version_sid"] == flowgauge("workflow", "show", "ticket-triage", "--json").json["version"]["sid"]


def test_the_report_is_shown_as_text_after_the_rest_of_the_output(flowgauge: Program) -> None:
    flowgauge("template", "add", "benchmark_flow")
    flowgauge("template", "add", "ticket-triage")
    ran = flowgauge("run", "benchmark_flow", "-i", "target_workflow_sid=ticket-triage", "-i", "num_runs=1")
    assert ran.code == 0, ran.err
    assert "\nRuns: 1\nSuccess rate: 100.0 %\n" in ran.out


def test_a_version_of_one_s_own_stays_in_use(flowgauge: Program) -> None:
    flowgauge("template", "add", "benchmark_flow")
    Path("mine.yaml").write_text(template_text("benchmark_flow").replace("mock/default", "openai/gpt-4o-mini"), encoding="utf-8")
    flowgauge("workflow", "save", "mine.yaml")
    assert "Another version stays in use" in flowgauge("template", "add", "benchmark_flow").out
    assert "stays in use" not in flowgauge("template", "add", "benchmark_flow", "--use").out
