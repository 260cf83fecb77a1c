"""Keys by their beginning, so that an index finds them: LIKE would not use one, and does not know case on SQLite."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, ColumnElement, and_

_LAST = "\U0010ffff"


def begins_with(column: Column[Any], beginning: str) -> ColumnElement[bool]:
    """For columns of keys, which are compared byte by byte on every database."""
    return and_(column >= beginning, column < beginning + _LAST)
