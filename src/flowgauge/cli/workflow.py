"""`flowgauge workflow`: stored workflows and their versions."""

from __future__ import annotations

from pathlib import Path

import click

from flowgauge.cli.options import db_option, json_option, limit_option, now_ms, print_json


@click.group("workflow")
def command() -> None:
    """Stored workflows and their versions."""


@command.command("save")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@db_option
def save(file: Path, as_json: bool, db: str | None) -> None:
    """Save FILE as a version and make it the one in use; the same content again makes no version."""
    from flowgauge.app.workflows import save_file
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        saved = save_file(store, file, make_current=True)
    for warning in saved.warnings:
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        print_json({"workflow": saved.record, "version": saved.version, "created": saved.created})
        return
    how = "saved" if saved.created else "was there already"
    click.echo(f"{saved.record.name} v{saved.version.number} {how} · {saved.version.sid} · {saved.version.hash[:12]}")


@command.command("list")
@limit_option
@click.option("--cursor", default="", help="Where the last page ended.")
@json_option
@db_option
def list_workflows(limit: int, cursor: str, as_json: bool, db: str | None) -> None:
    """List stored workflows."""
    from flowgauge.app.workspace import opened_store
    from flowgauge.report.lists import workflow_table
    from flowgauge.report.play import show

    with opened_store(db) as store:
        page = store.list_workflows(cursor or None, limit)
        numbers = {record.sid: store.get_version(record.current_version_sid).number for record in page.items}
    if as_json:
        print_json({"workflows": page.items, "next_cursor": page.next_cursor})
        return
    show(workflow_table(page.items, numbers, now_ms()))
    if page.next_cursor:
        click.echo(f"more: --cursor {page.next_cursor}", err=True)


@command.command("show")
@click.argument("name")
@click.option("--version", default="", help="Number, sid or hash. Default: the one in use.")
@json_option
@db_option
def show_one(name: str, version: str, as_json: bool, db: str | None) -> None:
    """Show a version as YAML."""
    from flowgauge.app.workflows import find_version
    from flowgauge.app.workspace import opened_store
    from flowgauge.nodes.codec import read_workflow
    from flowgauge.report.workflow import workflow_yaml

    with opened_store(db) as store:
        record = store.get_workflow(name)
        found = find_version(store, record.sid, version)
    if as_json:
        print_json({"workflow": record, "version": found})
        return
    in_use = " · in use" if found.sid == record.current_version_sid else ""
    click.echo(f"# {record.name} v{found.number} · {found.sid} · {found.hash[:12]}{in_use}")
    click.echo(workflow_yaml(read_workflow(found.content)), nl=False)


@command.command("versions")
@click.argument("name")
@json_option
@db_option
def versions(name: str, as_json: bool, db: str | None) -> None:
    """List the versions of a workflow, newest first."""
    from flowgauge.app.workspace import opened_store
    from flowgauge.report.lists import version_table
    from flowgauge.report.play import show

    with opened_store(db) as store:
        record = store.get_workflow(name)
        found = store.list_versions(record.sid, limit=1000).items
    if as_json:
        print_json({"workflow": record, "versions": found})
    else:
        show(version_table(found, record.current_version_sid))


@command.command("diff")
@click.argument("name")
@click.argument("old")
@click.argument("new", default="")
@json_option
@db_option
def diff(name: str, old: str, new: str, as_json: bool, db: str | None) -> None:
    """Show what changed from version OLD to version NEW (default: the one in use)."""
    from flowgauge.app.workflows import find_version
    from flowgauge.app.workspace import opened_store
    from flowgauge.define.diff import diff_workflows, render_diff
    from flowgauge.nodes.codec import read_workflow

    with opened_store(db) as store:
        before, after = find_version(store, name, old), find_version(store, name, new)
    found = diff_workflows(read_workflow(before.content), read_workflow(after.content))
    if as_json:
        print_json(found)
    else:
        click.echo(render_diff(found) or f"v{before.number} and v{after.number} are the same.")


@command.command("use")
@click.argument("name")
@click.argument("version")
@db_option
def use(name: str, version: str, db: str | None) -> None:
    """Make VERSION (number, sid or hash) the one in use."""
    from flowgauge.app.workflows import find_version
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        found = find_version(store, name, version)
        record = store.make_current(found.sid)
    click.echo(f"{record.name} v{found.number} is in use.")


@command.command("delete")
@click.argument("name")
@click.option("--force", is_flag=True, help="Also where plays of it are stored; they go with it.")
@db_option
def delete(name: str, force: bool, db: str | None) -> None:
    """Delete a workflow with its versions and examples."""
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        store.delete_workflow(name, force=force)
    click.echo(f"{name} is deleted.")
