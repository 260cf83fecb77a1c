"""`flowgauge ingest`: results that were made elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from flowgauge.cli.options import db_option, json_option, now_ms, print_json

FORMATS = ("pytest-benchmark", "hyperfine", "metrics")


@click.command("ingest")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--format", "form", type=click.Choice(FORMATS), help="By default told from the content.")
@click.option("--prefix", default="", help="Put before the name of every subject: suite/ .")
@click.option("--commit", default="", help="The commit that was measured. Default: the file's, or the one checked out here.")
@click.option("--tag", "tags", multiple=True, metavar="K=V", help="Kept with the benchmarks.")
@json_option
@db_option
def command(
    files: tuple[Path, ...], form: str | None, prefix: str, commit: str, tags: tuple[str, ...], as_json: bool, db: str | None
) -> None:
    """Store results of pytest-benchmark, hyperfine or a JSON file of metrics as benchmarks.

    They can then be a candidate or a baseline like any other: flowgauge gate latest --baseline NAME
    """
    from flowgauge.app.ingesting import ingest
    from flowgauge.app.workspace import opened_store
    from flowgauge.report.lists import benchmark_table
    from flowgauge.report.play import show

    pairs = dict(pair.partition("=")[::2] for pair in tags)
    with opened_store(db) as store:
        made = [each for path in files for each in ingest(store, path, form=form, prefix=prefix, commit=commit, tags=pairs)]
    if as_json:
        print_json({"benchmarks": made})
    else:
        show(benchmark_table(made, now_ms()))
