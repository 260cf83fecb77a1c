"""`flowgauge completion`: a script that completes commands and options in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a completion script for SHELL.

    \b
    bash:  eval "$(flowgauge completion bash)"
    zsh:   eval "$(flowgauge completion zsh)"
    fish:  flowgauge completion fish | source
    """
    from flowgauge.cli.root import cli

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "flowgauge", "_FLOWGAUGE_COMPLETE").source())
