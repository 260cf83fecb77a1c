"""How a play is followed and shown on the terminal, for `run` and `play`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from flowgauge.app.workflows import Saved
    from flowgauge.model.play import NodeRun, Play, PlayEvent
    from flowgauge.model.workflow import Workflow

EXIT_CODES = {"success": 0, "failed": 1, "timeout": 1, "budget_exceeded": 4, "cancelled": 130}


def exit_code(play: Play) -> int:
    """The command's answer for a play."""
    return EXIT_CODES[play.status]


def title(saved: Saved, play_sid: str) -> str:
    """What stands over a play: name, version, sid."""
    return f"{saved.record.name} v{saved.version.number} · {play_sid}"


def show_play(play: Play, runs: Sequence[NodeRun], saved: Saved, *, quiet: bool = False) -> None:
    """The whole play for people, or its output alone; a failure goes to stderr."""
    from flowgauge.nodes.codec import read_workflow
    from flowgauge.nodes.topology import scheduled
    from flowgauge.report.play import output_text, play_view, show

    if quiet:
        if play.error is not None:
            click.echo(f"error: {play.error.node_id}: {play.error.message} [{play.error.kind}]", err=True)
        else:
            click.echo(output_text(play.output))
        return
    order = scheduled(read_workflow(saved.version.content).nodes)
    show(play_view(play, runs, title=title(saved, play.sid), order=order))


@contextlib.contextmanager
def follow(workflow: Workflow, *, live: bool) -> Iterator[Callable[[PlayEvent], None] | None]:
    """A listener that redraws the nodes as they go; None where nobody watches."""
    if not (live and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.live import Live

    from flowgauge.nodes.topology import scheduled
    from flowgauge.report.play import Row, node_table, top_node

    rows = {node_id: Row(node_id) for node_id in scheduled(workflow.nodes)}
    with Live(console=Console(stderr=True), refresh_per_second=12, transient=True) as display:

        def listener(event: PlayEvent) -> None:
            row = rows.get(top_node(event.node_id))
            if row is not None:
                if event.run is not None:
                    row.add(event.run)
                elif row.node_id == event.node_id:
                    row.status = "running"
            display.update(node_table(list(rows.values())))

        yield listener
