"""`flowgauge template`: workflows that come with the product."""

from __future__ import annotations

import click
import msgspec

from flowgauge.cli.options import db_option, json_option, print_json


@click.group("template")
def command() -> None:
    """Workflows that come with Flowgauge: list, show, add."""


@command.command("list")
@json_option
def list_templates(as_json: bool) -> None:
    """List the templates."""
    from flowgauge.app.made_workflows import templates
    from flowgauge.report.lists import template_table
    from flowgauge.report.play import show

    found = templates()
    if as_json:
        print_json({"templates": msgspec.to_builtins(found)})
    else:
        show(template_table([(one.name, [item.name for item in one.inputs], one.description) for one in found]))


@command.command("show")
@click.argument("name")
def show_one(name: str) -> None:
    """Show a template as the file that it is."""
    from flowgauge.app.templates import template_text

    click.echo(template_text(name), nl=False)


@command.command("add")
@click.argument("name")
@click.option("--use", is_flag=True, help="Put it in use also where a workflow of that name has another version in use.")
@json_option
@db_option
def add(name: str, use: bool, as_json: bool, db: str | None) -> None:
    """Store the template NAME as a workflow; the same content again makes no version."""
    from flowgauge.app.made_workflows import add_template
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        saved = add_template(store, name, make_current=use)
    if as_json:
        print_json({"workflow": saved.record, "version": saved.version, "created": saved.created})
        return
    how = "added" if saved.created else "was there already"
    click.echo(f"{saved.record.name} v{saved.version.number} {how} · {saved.version.sid} · {saved.version.hash[:12]}")
    if saved.record.current_version_sid != saved.version.sid:
        click.echo(f"Another version stays in use. To change that: flowgauge workflow use {saved.record.name} {saved.version.number}")
