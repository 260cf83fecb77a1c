"""How much of a model's speed reaches the user: 2,000 calls of 50 ms, 100 at once, against a server on loopback.

The ideal is one second. The floor is a bare aiohttp loop that parses and stores
nothing; Flowgauge runs a whole bench through its OpenAI dialect, every trial
with its play and node run durable. Both have the same server in the same run.

    python benchmarks/saturation.py [--quick] [--peers-python PATH] [--promptfoo PATH]
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.peers.callers import AT_ONCE, CALLERS, COUNT, FLOOR, OURS
from benchmarks.peers.field import Places, compiled, median, options, present, rounds, slow_server, table
from benchmarks.peers.told import DELAY_MS

IDEAL = AT_ONCE * 1000 / DELAY_MS


def paired(results: list[dict[str, Any]], floor: list[dict[str, Any]], name: str) -> str:
    """The median of the ratios, round by round, so that a slow moment counts for both sides."""
    ratios = [its[name] / bare[name] for its, bare in zip(results, floor, strict=False) if its.get(name)]
    return f"{statistics.median(ratios):.0%}" if ratios else ""


def main() -> None:
    chosen = options(__doc__).parse_args()
    places = Places(chosen.peers_python, chosen.promptfoo)
    compiled()
    with slow_server() as url:
        found = rounds(
            present(CALLERS, places), places, number=chosen.rounds or (2 if chosen.quick else 5), count=COUNT, at_once=AT_ONCE, url=url
        )
    floor = found[FLOOR]
    for result in found.get(OURS, ()):
        result["running"] = result["count"] / result["run_seconds"]
    for result in floor:
        result["running"] = result["rate"]
    rows = []
    for label, results in found.items():
        rate, running = median(results, "rate"), median(results, "running")
        rows.append(
            (
                f"{label} {results[0]['version']}",
                f"{running or rate:,.0f}",
                f"{(running or rate or 0) / IDEAL:.0%}",
                paired(results, floor, "running" if running else "rate"),
                f"{rate:,.0f}",
                f"{cpu_us:.0f}" if (cpu_us := median(results, "cpu_us")) else "",
            )
        )
    head = ("calls/s", "of ideal", "of bare loop", "start and end included", "CPU µs/call")
    table((f"{COUNT:,} calls of {DELAY_MS} ms, {AT_ONCE} at once", *head), rows)


if __name__ == "__main__":
    main()
