"""Draws docs/run.svg: real output of a real play, offline. Run it after the output's looks have changed.

python docs/make_pictures.py
"""

from __future__ import annotations

import asyncio
import io
import re
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from flowgauge.app.demo import TICKETS, Scene, demo_scene, demo_workflows
from flowgauge.app.workspace import open_workspace
from flowgauge.cli.playing import title
from flowgauge.nodes.topology import scheduled
from flowgauge.report.play import play_view

HERE = Path(__file__).parent


async def scene() -> tuple[Scene, list[str]]:
    """One play of the demo's workflow; the second of two, when everything is warm."""
    workflow, _ = demo_workflows()
    with tempfile.TemporaryDirectory() as folder:
        async with open_workspace(f"{folder}/demo.db") as workspace:
            await demo_scene(workspace, workflow, TICKETS[1])
            return await demo_scene(workspace, workflow, TICKETS[0]), scheduled(workflow.nodes)


def main() -> None:
    """Play, draw, write."""
    played, order = asyncio.run(scene())
    console = Console(record=True, width=100, force_terminal=True, file=io.StringIO())
    console.print(Text(f'$ flowgauge run ticket-triage.yaml -i ticket="{TICKETS[0]}"', style="bold"))
    console.print(play_view(played.play, played.runs, title=title(played.saved, played.play.sid), order=order))
    picture = console.export_svg(title="flowgauge run")
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    (HERE / "run.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
