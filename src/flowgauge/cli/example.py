"""`flowgauge example`: stored inputs for a workflow."""

from __future__ import annotations

from pathlib import Path

import click

from flowgauge.cli.options import db_option, json_option, print_json, read_inputs_file


@click.group("example")
def command() -> None:
    """Stored inputs for a workflow."""


@command.command("add")
@click.argument("workflow")
@click.argument("name")
@click.option("--input", "-i", "inputs", multiple=True, metavar="NAME=VALUE", help="An input; repeat for more.")
@click.option("--input-file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="YAML or JSON with input values.")
@click.option("--description", default="", help="What it is an example of.")
@json_option
@db_option
def add(
    workflow: str, name: str, inputs: tuple[str, ...], input_file: Path | None, description: str, as_json: bool, db: str | None
) -> None:
    """Store inputs under NAME for WORKFLOW. Keys that the workflow does not declare are dropped with a warning."""
    from flowgauge.app.examples import add_example
    from flowgauge.app.workspace import opened_store

    given = read_inputs_file(input_file) if input_file else {}
    with opened_store(db) as store:
        example, warnings = add_example(store, workflow, name, given, inputs, description=description)
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        print_json(example)
    else:
        click.echo(f"Example {example.name} is stored · {example.sid}")


@command.command("list")
@click.argument("workflow")
@json_option
@db_option
def list_examples(workflow: str, as_json: bool, db: str | None) -> None:
    """List the examples of WORKFLOW."""
    from flowgauge.app.workspace import opened_store
    from flowgauge.report.lists import example_table
    from flowgauge.report.play import show

    with opened_store(db) as store:
        found = store.list_examples(workflow, limit=1000).items
    if as_json:
        print_json({"examples": found})
    else:
        show(example_table(found))


@command.command("delete")
@click.argument("workflow")
@click.argument("name")
@db_option
def delete(workflow: str, name: str, db: str | None) -> None:
    """Delete an example."""
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        store.delete_example(workflow, name)
    click.echo(f"Example {name} is deleted.")
