"""`flowgauge demo`: the main job, offline, in a few seconds."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from flowgauge.cli.options import db_option


@click.command("demo")
@db_option
def command(db: str | None) -> int:
    """Show the main job, offline, in a few seconds.

    A workflow is played in two versions, measured in three configurations, and gated, on the mock models.
    """
    return asyncio.run(_demo(db))


async def _demo(db: str | None) -> int:
    from flowgauge.app.comparing import distributions_of
    from flowgauge.app.demo import TICKETS, demo_bench, demo_gate, demo_scene, demo_workflows
    from flowgauge.app.workspace import open_workspace
    from flowgauge.cli.playing import show_play
    from flowgauge.define.diff import diff_workflows, render_diff
    from flowgauge.report.bench_source import Source
    from flowgauge.report.bench_terminal import bench_view
    from flowgauge.report.compare_formats import write_compare_report
    from flowgauge.report.compare_source import compare_source
    from flowgauge.report.compare_terminal import compare_view
    from flowgauge.report.formats import write_report
    from flowgauge.report.play import show

    first, second = demo_workflows()
    async with open_workspace(db) as workspace:
        scenes = [await demo_scene(workspace, first, TICKETS[0])]
        for scene in scenes:
            show_play(scene.play, scene.runs, scene.saved)
            click.echo()
        click.secho("Then somebody changes a prompt:", bold=True)
        click.echo(render_diff(diff_workflows(first, second)))
        click.echo()
        scenes.append(await demo_scene(workspace, second, TICKETS[0]))
        show_play(scenes[-1].play, scenes[-1].runs, scenes[-1].saved)
        click.echo()
        click.secho("Which model should it run on? 3 configurations × 3 tickets × 5 runs:", bold=True)
        outcome = await demo_bench(workspace, scenes[-1].saved)
        show(bench_view(Source(outcome.summary, lambda: workspace.store.iter_trials(outcome.record.uid))))
        place = workspace.store.place
        page = Path(place).parent / "demo.html" if "://" not in place else Path("demo.html")
        write_report(page, outcome.summary, lambda: workspace.store.iter_trials(outcome.record.uid))
        click.echo()
        click.secho("The large model is as right as the small one. May it take its place?", bold=True)
        compared, gate = demo_gate(workspace.store, outcome)
        verdicts = compare_source(gate, distributions=distributions_of(compared))
        show(compare_view(verdicts))
        write_compare_report(page.with_name("demo-gate.html"), verdicts)
    click.echo(
        f"""
Open in a browser: {page} (the bench) and {page.with_name("demo-gate.html")} (the verdict)
Everything is stored in {place}. Look at it:
  flowgauge report latest                  # the same table as Markdown
  flowgauge trial list --failed            # what went wrong, run by run
  flowgauge gate latest:large --baseline demo; echo $?   # may it ship? 0 yes, 1 no, 3 not measured
  flowgauge play show latest --node answer # one node: its request, answer, tokens, time
  flowgauge workflow diff ticket-triage 1 2
  flowgauge init && flowgauge run ticket-triage.yaml -i ticket="Where is my parcel?"
"""
    )
    return 0 if all(scene.play.status == "success" for scene in scenes) else 1
