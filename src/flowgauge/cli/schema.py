"""`flowgauge schema`: JSON Schemas of our file formats, for editors and validators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from flowgauge.cli.options import print_json


def _workflow() -> dict[str, Any]:
    from flowgauge.define.schema import workflow_json_schema

    return workflow_json_schema()


def _bench() -> dict[str, Any]:
    from flowgauge.define.bench_schema import bench_json_schema

    return bench_json_schema()


def _bench_report() -> dict[str, Any]:
    from flowgauge.report.bench_json import bench_report_json_schema

    return bench_report_json_schema()


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {"workflow": _workflow, "bench": _bench, "bench-report": _bench_report}


@click.command("schema")
@click.argument("name", type=click.Choice(list(SCHEMAS)))
def command(name: str) -> None:
    """Print the JSON Schema of a file format.

    In an editor with YAML support: save it, and begin a workflow with the line
    # yaml-language-server: $schema=workflow.schema.json
    """
    print_json(SCHEMAS[name]())
