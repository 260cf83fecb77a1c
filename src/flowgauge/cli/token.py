"""`flowgauge token`: who may call a server."""

from __future__ import annotations

import click

from flowgauge.cli.options import db_option, json_option, limit_option, now_ms, print_json
from flowgauge.cli.spans import Span
from flowgauge.model.service import SCOPES, Scope


@click.group("token")
def command() -> None:
    """Tokens for callers of a server: create, list, revoke."""


@command.command("create")
@click.argument("name")
@click.option("--scope", type=click.Choice(SCOPES), required=True, help="What it may: read, run (and read), admin (everything).")
@click.option("--expires", type=Span(), metavar="SPAN", help="It ends after 12h, 30d, …; by default never.")
@json_option
@db_option
def create(name: str, scope: Scope, expires: int | None, as_json: bool, db: str | None) -> None:
    """Make a token called NAME and print its secret: once, and never again.

    The store keeps only a hash of it. Whoever calls sends it as `Authorization: Bearer SECRET`.
    """
    from flowgauge.app.tokens import create_token
    from flowgauge.app.workspace import opened_store
    from flowgauge.report import words

    with opened_store(db) as store:
        made = create_token(store, name, scope, now_ms=now_ms(), lasts_s=expires or 0)
    token = made.token
    if as_json:
        shown = {field: getattr(token, field) for field in ("sid", "name", "scope", "created_at", "expires_at")}
        print_json(shown | {"secret": made.secret})
        return
    click.echo(made.secret)
    until = f"until {words.moment(token.expires_at)}" if token.expires_at else "until it is revoked"
    click.echo(f"{name} may {scope}, {until}. Keep the secret now: it is shown only this once.", err=True)


@command.command("list")
@click.option("--cursor", default="", help="Where the last page ended.")
@limit_option
@json_option
@db_option
def list_all(cursor: str, limit: int, as_json: bool, db: str | None) -> None:
    """List tokens, newest first, with what became of them. Secrets are not known here."""
    from flowgauge.app.workspace import opened_store
    from flowgauge.report.lists import token_table
    from flowgauge.report.play import show

    with opened_store(db) as store:
        page = store.list_tokens(cursor or None, limit)
    if as_json:
        fields = [field for field in page.items[0].__struct_fields__ if field != "hash"] if page.items else []
        shown = [{field: getattr(token, field) for field in fields} for token in page.items]
        print_json({"tokens": shown, "next_cursor": page.next_cursor})
        return
    show(token_table(page.items, now_ms()))
    if page.next_cursor:
        click.echo(f"more: --cursor {page.next_cursor}", err=True)


@command.command("revoke")
@click.argument("token", metavar="NAME|SID")
@db_option
def revoke(token: str, db: str | None) -> None:
    """End a token: from the next call on it opens nothing, on every server of this store."""
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        gone = store.revoke_token(token)
    click.echo(f"{gone.name} ({gone.sid}) is revoked.")
