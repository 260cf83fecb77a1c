"""`flowgauge validate`: every mistake in workflow files, each with its line and remedy."""

from __future__ import annotations

from pathlib import Path

import click

from flowgauge.cli.options import json_option, print_json


@click.command("validate")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@json_option
def command(files: tuple[Path, ...], as_json: bool) -> int:
    """Check workflow FILES and list every mistake. Exit code 2 where there is one."""
    from flowgauge.define.workflow import load_workflow
    from flowgauge.errors import BadFile
    from flowgauge.report import words

    found = []
    for file in files:
        try:
            loaded = load_workflow(file)
        except BadFile as error:
            found.append({"file": str(file), "problems": error.problems})
            if not as_json:
                click.echo(str(error), err=True)
                if any(problem.where == "configs" for problem in error.problems):
                    click.echo(
                        f"{file} looks like a bench file. Check it with: flowgauge bench WORKFLOW --configs {file} --dry-run", err=True
                    )
            continue
        found.append({"file": str(file), "problems": [], "warnings": loaded.warnings})
        if not as_json:
            for warning in loaded.warnings:
                click.echo(f"warning: {file}:{warning}", err=True)
            click.echo(f"{file}: {loaded.workflow.name}: {words.plural(len(loaded.workflow.nodes), 'node')}, no mistake")
    if as_json:
        print_json({"files": found})
    return 2 if any(row["problems"] for row in found) else 0
