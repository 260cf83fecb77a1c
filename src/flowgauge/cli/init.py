"""`flowgauge init`: a first workflow in this folder."""

from __future__ import annotations

from pathlib import Path

import click

FILES = {"ticket-triage.yaml": "ticket-triage"}


@click.command("init")
@click.argument("folder", default=".", type=click.Path(file_okay=False, path_type=Path))
def command(folder: Path) -> None:
    """Put a first workflow into FOLDER (default: here). A file that is there is never overwritten."""
    from flowgauge.app.templates import template_text
    from flowgauge.errors import Conflict, UsageError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}.", remedy="Name another folder.") from error
    there = [name for name in FILES if (folder / name).exists()]
    if there:
        raise Conflict(f"{folder / there[0]} is there already.", remedy="Move it away, or name another folder.")
    for name, template in FILES.items():
        try:
            (folder / name).write_text(template_text(template), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{folder / name} cannot be written: {error.strerror}.", remedy="Name another folder.") from error
        click.echo(f"wrote {folder / name}")
    where = "" if folder == Path() else f"{folder}/"
    click.echo(
        f"""
Next:
  flowgauge run {where}ticket-triage.yaml -i ticket="I was charged twice"   # offline, on the mock models
  flowgauge workflow save {where}ticket-triage.yaml                         # keep it as version 1
  flowgauge validate {where}ticket-triage.yaml                              # after each edit"""
    )
