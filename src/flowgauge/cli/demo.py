"""`flowgauge demo`: the main job, offline, in a few seconds."""

from __future__ import annotations

import asyncio

import click

from flowgauge.cli.options import db_option


@click.command("demo")
@db_option
def command(db: str | None) -> int:
    """Show the main job, offline, in a few seconds.

    Plays of two versions of a workflow on the mock models, measured and stored.
    """
    return asyncio.run(_demo(db))


async def _demo(db: str | None) -> int:
    from flowgauge.app.demo import TICKETS, demo_scene, demo_workflows
    from flowgauge.app.workspace import open_workspace
    from flowgauge.cli.playing import show_play
    from flowgauge.define.diff import diff_workflows, render_diff

    first, second = demo_workflows()
    async with open_workspace(db) as workspace:
        scenes = [await demo_scene(workspace, first, ticket) for ticket in TICKETS[:2]]
        for scene in scenes:
            show_play(scene.play, scene.runs, scene.saved)
            click.echo()
        click.secho("Then somebody changes a prompt:", bold=True)
        click.echo(render_diff(diff_workflows(first, second)))
        click.echo()
        scenes.append(await demo_scene(workspace, second, TICKETS[0]))
        show_play(scenes[-1].play, scenes[-1].runs, scenes[-1].saved)
        where = workspace.store.place
    click.echo(
        f"""
Everything above is stored in {where}. Look at it:
  flowgauge play list                      # every play, newest first
  flowgauge play show latest --node answer # one node: its request, answer, tokens, time
  flowgauge workflow diff ticket-triage 1 2
  flowgauge init && flowgauge run ticket-triage.yaml -i ticket="Where is my parcel?"
"""
    )
    return 0 if all(scene.play.status == "success" for scene in scenes) else 1
