"""`flowgauge replay`: a bundle, verified and run again without the network."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from flowgauge.cli.options import db_option, json_option, print_json

if TYPE_CHECKING:
    from flowgauge.perf.replay.bundle import Bundle
    from flowgauge.perf.replay.replaying import Replayed

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_KEY = click.Path(exists=True, dir_okay=False, path_type=Path)
_CUT = {
    "kernel": "network cut off by the kernel",
    "interpreter": "network refused in Python; programs that it starts are not held by that",
}


@click.command("replay")
@click.argument("bundle", type=click.Path(exists=True, path_type=Path))
@click.option("--strict", is_flag=True, help="No more steps and no more tool calls than were recorded.")
@click.option("--trust", multiple=True, type=_KEY, help="Refuse what is not signed by this public key; repeat for more.")
@click.option("--folder", type=_FOLDER, help="Where the scenario's files are. Default: where they were, seen from here.")
@click.option("--out", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write the run artifact of the replay, for diff.")
@json_option
@db_option
def command(**options: Any) -> int:
    """Verify a bundle, run it again without the network, and hold it to what was recorded.

    Exit code: 0 the same, 1 it differs, 2 the bundle is not sound or not trusted, 3 could not be run.
    """
    from flowgauge.perf.replay.bundle import open_bundle

    bundle = open_bundle(options["bundle"], trust=options["trust"])
    replayed = asyncio.run(_replay(bundle, options))
    if options["out"]:
        _write(options["out"], replayed)
    if options["as_json"]:
        print_json(_plain(replayed, strict=options["strict"]))
    else:
        _show(replayed)
    return 1 if replayed.changes else 0


async def _replay(bundle: Bundle, options: dict[str, Any]) -> Replayed:
    from flowgauge.app.replay import replay_bundle

    return await replay_bundle(bundle, db=options["db"] or "", folder=options["folder"], strict=options["strict"])


def _write(path: Path, replayed: Replayed) -> None:
    from flowgauge.errors import UsageError

    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(replayed.run), indent=2) + b"\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.", remedy="Check the path.") from error


def _plain(replayed: Replayed, *, strict: bool) -> dict[str, Any]:
    bundle = replayed.bundle
    return {
        "bundle": str(bundle.path),
        "same": not replayed.changes,
        "strict": strict,
        "network": replayed.network,
        "edited": replayed.edited,
        "signer": bundle.signer or None,
        "trusted": bundle.trusted,
        "changes": replayed.changes,
        "recorded": bundle.run,
        "replayed": replayed.run,
    }


def _show(replayed: Replayed) -> None:
    from flowgauge.perf.replay.wording import change_lines, first_step, run_line
    from flowgauge.report.words import one_line, plural

    bundle = replayed.bundle
    click.echo(f"bundle    {bundle.path} · intact · {_signed(bundle)} · {plural(bundle.manifest.calls, 'call')}")
    click.echo(f"recorded  {run_line(bundle.run)}")
    click.echo(f"replayed  {run_line(replayed.run)}")
    edited = " · what is run was edited since" if replayed.edited else ""
    verdict = f"✗ differs{first_step(replayed.changes)}" if replayed.changes else "✓ the same"
    click.echo(f"{verdict} · {_CUT[replayed.network]}{edited}")
    if replayed.changes and replayed.run.failure_reason:
        click.echo(f"  it ended: {one_line(replayed.run.failure_reason, 600)}")
    for change in replayed.changes:
        for line in change_lines(change):
            click.echo(f"  {line}")


def _signed(bundle: Bundle) -> str:
    from flowgauge.perf.replay.bundle import fingerprint

    if not bundle.signer:
        return "not signed"
    who = fingerprint(bundle.signer)
    return f"signed by {who}, trusted" if bundle.trusted else f"signed by {who}, which proves nothing without --trust"
