"""Cells of a table, each drawn from a seed of its own, on all cores at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from typing import Any, TypeVar

T = TypeVar("T")
_cells: Sequence[Callable[[], Any]] = ()
"""Set before processes are forked, so that a cell may be any function."""


def computed(cells: Sequence[Callable[[], T]]) -> list[T]:
    """What they give, in their order."""
    global _cells
    _cells = cells
    with get_context("fork").Pool(os.cpu_count()) as pool:
        return pool.map(_one, range(len(cells)), chunksize=1)


def _one(place: int) -> Any:
    return _cells[place]()
