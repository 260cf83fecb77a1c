"""Is the latency that a tool reports the model's, or its own? A model of 50 ms, 100 calls at once.

Each tool reports p50 and p95 in its own words (its results file, its report, a
timer around the SDK's call); beside it stands what a bare aiohttp loop sees of the same server in
the same run. Aim: p50 within 10 % and p95 within 20 % of that loop.

    python benchmarks/fidelity.py [--quick] [--peers-python PATH] [--promptfoo PATH]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.peers.callers import AT_ONCE, CALLERS, COUNT, FLOOR
from benchmarks.peers.field import Places, compiled, median, options, present, rounds, slow_server, table
from benchmarks.peers.told import DELAY_MS


def main() -> None:
    chosen = options(__doc__).parse_args()
    places = Places(chosen.peers_python, chosen.promptfoo)
    compiled()
    with slow_server() as url:
        found = rounds(
            present(CALLERS, places), places, number=chosen.rounds or (2 if chosen.quick else 5), count=COUNT, at_once=AT_ONCE, url=url
        )
    floor_p50, floor_p95 = median(found[FLOOR], "p50_ms") or 0.0, median(found[FLOOR], "p95_ms") or 0.0
    rows = []
    for label, results in found.items():
        p50, p95 = median(results, "p50_ms"), median(results, "p95_ms")
        if p50 is not None and p95 is not None:
            rows.append(
                (
                    f"{label} {results[0]['version']}",
                    f"{p50:.1f}",
                    f"{p50 / floor_p50 - 1:+.0%}",
                    f"{p95:.1f}",
                    f"{p95 / floor_p95 - 1:+.0%}",
                    f"{p50 - DELAY_MS:+.1f}",
                )
            )
    head = (f"a {DELAY_MS} ms model, {AT_ONCE} at once", "p50 ms", "from bare loop", "p95 ms", "from bare loop", "p50 less model ms")
    table(head, rows)


if __name__ == "__main__":
    main()
