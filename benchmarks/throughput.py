"""Trials a second where the target does nothing: what a bench itself costs, ours beside its peers.

A no-op trial with one check, 50 at once. Flowgauge's time is that of the whole
`fg.abench`: opening the store, planning, running, every trial durable in SQLite
before it counts, aggregating and storing the aggregate.

    python benchmarks/throughput.py [--quick] [--peers-python PATH] [--promptfoo PATH]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.peers.field import Peer, Places, compiled, median, options, present, rounds, table

AT_ONCE = 50
PEERS = (
    Peer("flowgauge, callable", "with_flowgauge", "noop", "flowgauge", keeps="every trial, SQLite"),
    Peer("flowgauge, callable, each trial a case", "with_flowgauge", "cases", "flowgauge", share=0.5, keeps="every trial, SQLite"),
    Peer("flowgauge, one-node workflow", "with_flowgauge", "play", "flowgauge", share=0.5, keeps="trial, play, node run, SQLite"),
    Peer("pydantic-evals", "with_pydantic_evals", "noop", "pydantic_evals", share=0.1, keeps="nothing"),
    Peer("Inspect AI", "with_inspect", "noop", "inspect_ai", share=0.02, keeps="a log file"),
    Peer("promptfoo", "with_promptfoo", "noop", "promptfoo", share=0.0125, keeps="SQLite, of its own"),
    Peer("DeepEval", "with_deepeval", "noop", "deepeval", share=0.02, keeps="nothing"),
)
BASE = "pydantic-evals"


def main() -> None:
    chosen = options(__doc__).parse_args()
    places = Places(chosen.peers_python, chosen.promptfoo)
    compiled()
    number = chosen.rounds or (2 if chosen.quick else 5)
    found = rounds(present(PEERS, places), places, number=number, count=10_000 if chosen.quick else 40_000, at_once=AT_ONCE)
    base = median(found[BASE], "rate") if BASE in found else None
    rows = []
    for peer in PEERS:
        if results := found.get(peer.label):
            rate, run_s, cpu_us = (median(results, name) for name in ("rate", "run_seconds", "cpu_us"))
            rows.append(
                (
                    f"{peer.label} {results[0]['version']}",
                    f"{rate:,.0f}",
                    f"{results[0]['count'] / run_s:,.0f}" if run_s else "",
                    f"{max(result['rate'] for result in results):,.0f}",
                    f"{rate / base:.2f}×" if rate and base else "",
                    f"{cpu_us:.0f}" if cpu_us else "",
                    peer.keeps,
                )
            )
    table(("no-op trial, one check, 50 at once", "trials/s", "while running", "best", f"of {BASE}", "CPU µs/trial", "on disk"), rows)


if __name__ == "__main__":
    main()
