"""The built-in agents: plain programs that look, act and decide, one step after the other."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

from flowgauge.perf.recorder import Run

BACK = {"north": "south", "south": "north", "west": "east", "east": "west"}


def explorer(run: Run) -> str:
    """Reads every note, nearest folder first, until it holds all parts of the code."""
    parts: dict[int, str] = {}
    waiting = [run.observation["folder"]]
    while waiting:
        for path in run.act("list", path=waiting.pop(0)):
            if path.endswith("/"):
                waiting.append(path)
            elif found := re.search(r"Part (\d) of (\d) is (\d+)", run.act("read", path=path)):
                parts[int(found[1])] = found[3]
                if len(parts) == int(found[2]):
                    return "-".join(parts[number] for number in sorted(parts))
    return ""


def walker(run: Run) -> int:
    """Walks a maze by memory: the first way not taken, else back."""
    seen, moves = {tuple(run.observation["at"])}, 0
    trail: list[str] = []
    while not run.observation["out"]:
        at = run.observation["at"]
        ways = [way for way in run.act("look") if _ahead(at, way) not in seen]
        direction = ways[0] if ways else BACK[trail.pop()]
        if ways:
            trail.append(direction)
        run.act("move", direction=direction)
        seen.add(tuple(run.observation["at"]))
        moves += 1
    return moves


def _ahead(at: list[int], direction: str) -> tuple[int, int]:
    dx, dy = {"north": (0, -1), "south": (0, 1), "west": (-1, 0), "east": (1, 0)}[direction]
    return at[0] + dx, at[1] + dy


def clerk(run: Run) -> dict[str, int]:
    """Adds up a file of bookings, asks for each rate once, and leaves its reckoning in a file."""
    name = run.observation["file"]
    with Path(name).open(newline="", encoding="utf-8") as file:
        bookings = list(csv.DictReader(file))
    run.step({"type": "read_file", "args": {"name": name}}, observation={"file": name}, result={"bookings": len(bookings)})
    rates = {currency: run.act("rate", currency=currency) for currency in sorted({row["currency"] for row in bookings})}
    totals: dict[str, int] = {}
    for row in bookings:
        totals[row["account"]] = totals.get(row["account"], 0) + int(row["cents"]) * rates[row["currency"]]
    answer = {account: total // 100 for account, total in totals.items()}
    Path("reckoning.json").write_text(json.dumps(answer, sort_keys=True), encoding="utf-8")
    run.step({"type": "write_file", "args": {"name": "reckoning.json"}}, result=answer)
    return answer


def sorter(run: Run) -> int:
    """Lets a model say which tray a message belongs to, and puts it there."""
    for number in range(run.observation["messages"] if isinstance(run.observation, dict) else 0):
        message = run.act("read", number=number)
        label = run.complete(f"billing, technical or general? {message}", model="mock/fast", system="Answer with one word.")
        run.act("put", number=number, tray=_tray(label))
    return int(run.inputs["messages"])


def _tray(label: Any) -> str:
    word = str(label).strip().lower().rstrip(".")
    return word if word in ("billing", "technical") else "general"
