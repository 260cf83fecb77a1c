"""The field: who is measured, where each is found, and rounds in which they take turns.

Every measurement is a process of its own, so that no peer pays for another's
imports; each warms up before its clock starts. All traffic stays on loopback:
the peers' telemetry and update checks are switched off by their own variables.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
HERE = os.pathsep.join((str(ROOT), str(ROOT / "src")))
"""Adapters run in other folders, and measure this tree."""
SILENT = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "NO",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "ERROR_REPORTING": "NO",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "LOGFIRE_SEND_TO_LOGFIRE": "false",
    "NO_COLOR": "1",
}
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
LIMIT_S = 600


class Peer(NamedTuple):
    """One competitor: how it is shown, which adapter measures it, which package it needs."""

    label: str
    adapter: str
    what: str
    package: str
    share: float = 1.0
    """Of the trials: what is slow gets fewer, rates stay comparable."""
    keeps: str = ""
    """What is on disk afterwards."""


class Places(NamedTuple):
    """Where peers are installed."""

    python: str
    promptfoo: str


def options(description: str | None) -> argparse.ArgumentParser:
    """What all scripts take."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller rounds")
    parser.add_argument("--rounds", type=int, help="how often each takes its turn")
    parser.add_argument(
        "--peers-python", default=os.environ.get("FLOWGAUGE_PEERS_PYTHON", sys.executable), help="an interpreter that has the peers"
    )
    parser.add_argument("--promptfoo", default=os.environ.get("FLOWGAUGE_PROMPTFOO") or shutil.which("promptfoo") or "", help="its program")
    return parser


def present(peers: Sequence[Peer], places: Places) -> list[Peer]:
    """Those that are installed; a line for each that is not."""
    found = []
    for peer in peers:
        if remedy := _missing(peer, places):
            print(f"{peer.label}: not installed, left out. {remedy}")
        else:
            found.append(peer)
    return found


def _missing(peer: Peer, places: Places) -> str:
    if peer.package == "promptfoo":
        return "" if places.promptfoo else "npm install promptfoo, then --promptfoo node_modules/.bin/promptfoo"
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({peer.package!r}) is None)"
    absent = subprocess.run([_interpreter(peer, places), "-c", code], cwd=ROOT, check=False).returncode
    return (
        f"pip install {peer.package.replace('_', '-')} in an environment of its own, then --peers-python ITS/bin/python" if absent else ""
    )


def _interpreter(peer: Peer, places: Places) -> str:
    return sys.executable if peer.package in ("flowgauge", "aiohttp", "promptfoo") else places.python


def measured(peer: Peer, places: Places, count: int, at_once: int, url: str = "") -> dict[str, Any] | None:
    """One turn. None, with a line that says why, where it failed: one peer never ends the others."""
    count = max(at_once, int(count * peer.share))
    with tempfile.TemporaryDirectory() as folder:
        environment = {key: value for key, value in os.environ.items() if key not in PROXIES}
        environment |= {**SILENT, "PROMPTFOO": places.promptfoo, "PROMPTFOO_CONFIG_DIR": folder, "HOME": folder, "PYTHONPATH": HERE}
        command = [_interpreter(peer, places), "-m", f"benchmarks.peers.{peer.adapter}", peer.what, str(count), str(at_once)]
        done = subprocess.run(
            [*command, "--url", url, "--folder", folder],
            cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
    if done.returncode:
        print(f"{peer.label} failed: {(done.stderr.strip() or done.stdout.strip())[-400:]}")
        return None
    said: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return said | {"rate": count / said["seconds"], "count": count}


def rounds(
    peers: Sequence[Peer], places: Places, *, number: int, count: int, at_once: int, url: str = ""
) -> dict[str, list[dict[str, Any]]]:
    """All of them in turn, several times, so that a busy moment of the machine hits all. Prints the load as it goes."""
    found: dict[str, list[dict[str, Any]]] = {peer.label: [] for peer in peers}
    for turn in range(1, number + 1):
        print(f"round {turn} of {number}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
        for peer in peers:
            if (said := measured(peer, places, count, at_once, url)) is not None:
                found[peer.label].append(said)
    return {label: results for label, results in found.items() if results}


def median(results: Sequence[dict[str, Any]], name: str) -> float | None:
    """Over the rounds; None where it is not told."""
    values = [float(result[name]) for result in results if result.get(name) is not None]
    return statistics.median(values) if values else None


def compiled() -> None:
    """Bytecode first, so that no round pays for it."""
    import flowgauge

    for folder in (Path(flowgauge.__file__).parent, Path(__file__).parent):
        compileall.compile_dir(str(folder), quiet=2)


@contextmanager
def slow_server() -> Iterator[str]:
    """A server of 50 ms in a process of its own; its base address."""
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.peers.slow_server"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        finally:
            server.terminate()


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Markdown, so that it can be carried into the docs as it is."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        first, *rest = (
            cell.ljust(width) if at == 0 else cell.rjust(width) for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "| " + " | ".join((first, *rest)) + " |"

    print("\n" + line(head))
    print("|" + "|".join("-" * (width + 2) if at == 0 else "-" * (width + 1) + ":" for at, width in enumerate(widths)) + "|")
    for row in rows:
        print(line(row))
    print()
