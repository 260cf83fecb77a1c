"""What the built-in agents act in: each function makes one environment from a seed, with its tools and its own judge."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flowgauge.perf.recorder import InvalidAction

CURRENCIES = {"EUR": 100, "USD": 92, "GBP": 117, "CHF": 104}
"""What a hundred of each are worth in euros."""
LABELS = ("billing", "technical", "general")
MOVES = {"north": (0, -1), "south": (0, 1), "west": (-1, 0), "east": (1, 0)}


@dataclass(frozen=True)
class Environment:
    """Tools by name, what is seen first, and who says whether the answer is right."""

    tools: dict[str, Callable[..., Any]]
    observation: Any
    validate: Callable[[Any], bool | str]


def vault(seed: int, inputs: dict[str, Any]) -> Environment:
    """A tree of folders; the three parts of a code stand in three of its notes."""
    del inputs
    chance = random.Random(seed)
    notes, folders = _tree(chance)
    code = [f"{chance.randrange(1000):03d}" for _ in range(3)]
    for number, path in enumerate(chance.sample(sorted(notes), 3)):
        notes[path] += f" Part {number + 1} of 3 is {code[number]}."

    def list_folder(path: str) -> list[str]:
        if path not in folders:
            raise InvalidAction(f"There is no folder {path}.")
        return folders[path]

    def read(path: str) -> str:
        if path not in notes:
            raise InvalidAction(f"There is no note {path}.")
        return notes[path]

    return Environment({"list": list_folder, "read": read}, {"folder": "/"}, lambda answer: answer == "-".join(code))


def _tree(chance: random.Random) -> tuple[dict[str, str], dict[str, list[str]]]:
    words = ("ledger", "letters", "attic", "harbour", "orchard", "workshop", "cellar", "archive")
    notes: dict[str, str] = {}
    folders: dict[str, list[str]] = {"/": []}
    for first in chance.sample(words, 4):
        folders["/"].append(f"/{first}/")
        folders[f"/{first}/"] = []
        for number in range(chance.randint(2, 5)):
            path = f"/{first}/note-{number}.txt"
            folders[f"/{first}/"].append(path)
            notes[path] = f"Written in the {chance.choice(words)}, of no interest to the {chance.choice(words)}."
    return notes, folders


def maze(seed: int, inputs: dict[str, Any]) -> Environment:
    """A maze that is carved by chance; one sees only the cells around."""
    size = int(inputs["size"])
    walls = _carved(size, random.Random(seed))
    place = [1, 1]

    def look() -> list[str]:
        return [name for name, (dx, dy) in MOVES.items() if (place[0] + dx, place[1] + dy) not in walls]

    def move(direction: str) -> dict[str, Any]:
        if direction not in look():
            raise InvalidAction(f"There is a wall to the {direction}.")
        place[:] = place[0] + MOVES[direction][0], place[1] + MOVES[direction][1]
        return {"at": list(place), "out": place == [size - 2, size - 2]}

    def validate(answer: Any) -> bool | str:
        return place == [size - 2, size - 2] or f"It stopped at {place} and answered {answer}."

    return Environment({"look": look, "move": move}, {"at": [1, 1], "out": False}, validate)


def _carved(size: int, chance: random.Random) -> set[tuple[int, int]]:
    """All walls but those that a walk by chance took down; every cell can be reached."""
    walls = {(x, y) for x in range(size) for y in range(size)}
    stack = [(1, 1)]
    walls.discard((1, 1))
    while stack:
        x, y = stack[-1]
        steps = [(dx, dy) for dx, dy in MOVES.values() if 0 < x + 2 * dx < size - 1 and 0 < y + 2 * dy < size - 1]
        fresh = [(dx, dy) for dx, dy in steps if (x + 2 * dx, y + 2 * dy) in walls]
        if not fresh:
            stack.pop()
            continue
        dx, dy = chance.choice(fresh)
        walls -= {(x + dx, y + dy), (x + 2 * dx, y + 2 * dy)}
        stack.append((x + 2 * dx, y + 2 * dy))
    return walls


def ledger(seed: int, inputs: dict[str, Any]) -> Environment:
    """A file of bookings in four currencies; what is each account worth in euro cents?"""
    chance = random.Random(seed)
    bookings = [
        (chance.choice(("rent", "food", "travel", "tools")), chance.choice(sorted(CURRENCIES)), chance.randint(1, 90_000))
        for _ in range(int(inputs["bookings"]))
    ]
    with Path("bookings.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("account", "currency", "cents"), *bookings])
    right: dict[str, int] = {}
    for account, currency, cents in bookings:
        right[account] = right.get(account, 0) + cents * CURRENCIES[currency]

    def rate(currency: str) -> int:
        if currency not in CURRENCIES:
            raise InvalidAction(f"Nobody knows {currency}.")
        return CURRENCIES[currency]

    def validate(answer: Any) -> bool:
        return bool(answer == {account: total // 100 for account, total in right.items()})

    return Environment({"rate": rate}, {"file": "bookings.csv"}, validate)


def inbox(seed: int, inputs: dict[str, Any]) -> Environment:
    """Messages to be put into trays."""
    chance = random.Random(seed)
    subjects = ("the invoice of {}", "an error after the update of {}", "the opening hours in {}", "a refund for {}", "the login on {}")
    months = ("January", "March", "May", "July", "October")
    messages = [f"It is about {chance.choice(subjects).format(chance.choice(months))}." for _ in range(int(inputs["messages"]))]
    trays: dict[int, str] = {}

    def read(number: int) -> str:
        if not 0 <= number < len(messages):
            raise InvalidAction(f"There is no message {number}.")
        return messages[number]

    def put(number: int, tray: str) -> int:
        if tray not in LABELS:
            raise InvalidAction(f"There is no tray {tray}.")
        trays[number] = tray
        return len(messages) - len(trays)

    def validate(answer: Any) -> bool | str:
        return (len(trays) == len(messages) and answer == len(messages)) or f"{len(messages) - len(trays)} messages are left."

    return Environment({"read": read, "put": put}, {"messages": len(messages)}, validate)


def triaged(output: Any, inputs: dict[str, Any], seed: int) -> bool | str:
    """Of the workflow: a label of the three, and the words that its code counted."""
    del inputs, seed
    if output["label"] not in LABELS:
        return f"'{output['label']}' is no label."
    return bool(output["words"] == len(output["answer"].split()))
