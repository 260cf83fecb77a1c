"""`flowgauge models`: models with a known price."""

from __future__ import annotations

import click

from flowgauge.cli.options import json_option, print_json


@click.command("models")
@click.argument("filter_text", metavar="[FILTER]", default="")
@json_option
def command(filter_text: str, as_json: bool) -> None:
    """List models with a known price, in USD per million tokens. FILTER: part of provider/model."""
    from flowgauge.providers.prices import table as prices
    from flowgauge.report.lists import price_table
    from flowgauge.report.play import show

    table = prices.table()
    rows = [row for row in table.known() if filter_text.lower() in f"{row.provider}/{row.model}".lower()]
    if as_json:
        print_json({"price_table": table.label, "models": rows})
        return
    show(price_table(rows))
    click.echo(f"{len(rows)} {'model' if len(rows) == 1 else 'models'} · {table.label}", err=True)
