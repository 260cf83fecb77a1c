"""`flowgauge mock-server`: the mock provider as an HTTP server, for real client libraries."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import click


@click.command("mock-server")
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
@click.option("--port", default=8322, show_default=True, type=click.IntRange(0, 65535), help="0 picks a free one.")
@click.option("--profiles", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="YAML with further mock profiles.")
def command(host: str, port: int, profiles: Path | None) -> None:
    """Serve the mock provider on loopback, as OpenAI and as Anthropic.

    OpenAI's dialect is at /v1/chat/completions and /v1/models, Anthropic's at /v1/messages.
    """
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(host, port, profiles))


async def _serve(host: str, port: int, profiles: Path | None) -> None:
    from flowgauge.providers.mock.server import running_mock_server

    async with running_mock_server(host=host, port=port, profiles=profiles) as url:
        click.echo(f"mock server at {url}  (OpenAI: {url}/v1, Anthropic: {url}; Ctrl-C stops)")
        await asyncio.Event().wait()
