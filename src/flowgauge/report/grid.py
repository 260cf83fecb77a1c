"""A table as plain text in rows: what every writer (terminal, Markdown, HTML) lays out in its own way.

Nothing is escaped here: each writer escapes for its own medium.
"""

from __future__ import annotations

import msgspec


class Grid(msgspec.Struct, frozen=True):
    """A table: its columns, which of them stand to the right, its rows."""

    columns: tuple[str, ...]
    right: frozenset[str]
    rows: tuple[tuple[str, ...], ...]
    legend: tuple[str, ...] = ()
