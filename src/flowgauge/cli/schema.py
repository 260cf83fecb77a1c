"""`flowgauge schema`: JSON Schemas of our file formats, for editors and validators."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from flowgauge.cli.options import print_json

SCHEMAS: dict[str, str] = {
    "workflow": "define.schema:workflow_json_schema",
    "bench": "define.bench_schema:bench_json_schema",
    "gate": "define.gate_schema:gate_json_schema",
    "bench-report": "report.bench_json:bench_report_json_schema",
    "compare-report": "report.compare_report:compare_report_json_schema",
    "trend-report": "report.trend_json:trend_report_json_schema",
    "review": "registry.review.settings:review_json_schema",
    "metrics": "define.ingest.metrics_schema:metrics_json_schema",
    "perf-scenario": "perf.scenario:scenario_json_schema",
    "perf-run": "perf.artifact:run_json_schema",
    "perf-manifest": "perf.files:manifest_json_schema",
    "perf-summary": "perf.files:summary_json_schema",
    "perf-metrics": "perf.files:metrics_json_schema",
    "perf-series": "perf.files:series_json_schema",
}
"""Where each is made: module:function, imported when it is asked for."""


@click.command("schema")
@click.argument("name", type=click.Choice(list(SCHEMAS)))
def command(name: str) -> None:
    """Print the JSON Schema of a file format.

    In an editor with YAML support: save it, and begin a workflow with the line
    # yaml-language-server: $schema=workflow.schema.json
    """
    print_json(schema_of(name))


def schema_of(name: str) -> dict[str, Any]:
    """Made now."""
    module, function = SCHEMAS[name].split(":")
    made: dict[str, Any] = getattr(import_module(f"flowgauge.{module}"), function)()
    return made
