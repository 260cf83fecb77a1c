"""Pages of long lists, by cursor.

A cursor names the last row that was seen, not a count of rows, so that rows
which come or go meanwhile neither repeat nor hide others. It is opaque: what
it holds may change.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec
from sqlalchemy import Column, Connection, RowMapping, Select

from flowgauge.errors import UsageError

Item = TypeVar("Item")

DEFAULT_LIMIT = 50
LARGEST_LIMIT = 1000


class Page(msgspec.Struct, Generic[Item], frozen=True):
    """Some items, and the cursor of the next page; None on the last."""

    items: tuple[Item, ...]
    next_cursor: str | None = None


class Order(msgspec.Struct, frozen=True):
    """By which unique column a list goes, and which way. `kind` keeps one list's cursor out of another."""

    kind: str
    column: Column[Any]
    descending: bool = False


def fetch_page(
    connection: Connection, query: Select[Any], order: Order, make: Callable[[RowMapping], Item], cursor: str | None, limit: int
) -> Page[Item]:
    """One page: asks for one row more than it gives, to know whether there is a next."""
    if not 1 <= limit <= LARGEST_LIMIT:
        raise UsageError(f"A page holds 1 to {LARGEST_LIMIT} items, not {limit}.")
    column = order.column
    if cursor is not None:
        after = _read(cursor, order.kind)
        query = query.where(column < after if order.descending else column > after)
    rows = connection.execute(query.order_by(column.desc() if order.descending else column).limit(limit + 1)).mappings().all()
    shown = rows[:limit]
    more = _write(order.kind, shown[-1][column.name]) if len(rows) > limit else None
    return Page(tuple(make(row) for row in shown), more)


def _write(kind: str, last: Any) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode([kind, last])).decode().rstrip("=")


def _read(cursor: str, kind: str) -> Any:
    try:
        found, last = msgspec.json.decode(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), type=tuple[str, str | int])
    except (msgspec.DecodeError, binascii.Error, ValueError) as error:
        raise UsageError("The cursor is damaged.", remedy="Start again without a cursor.") from error
    if found != kind:
        raise UsageError(f"The cursor belongs to a list of {found}, not of {kind}.", remedy="Start again without a cursor.")
    return last
