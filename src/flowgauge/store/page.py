"""Pages of long lists, by cursor.

A cursor names the last row that was seen, not a count of rows, so that rows
which come or go meanwhile neither repeat nor hide others. It is opaque: what
it holds may change.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from sqlalchemy import Column, Connection, Integer, RowMapping, Select, tuple_

from flowgauge.errors import BadParameter

Item = TypeVar("Item")

DEFAULT_LIMIT = 50
LARGEST_LIMIT = 1000
_Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Page(msgspec.Struct, Generic[Item], frozen=True):
    """Some items, and the cursor of the next page; None on the last."""

    items: tuple[Item, ...]
    next_cursor: str | None = None


class Order(msgspec.Struct, frozen=True):
    """By which column a list goes, and which way. `kind` keeps one list's cursor out of another.

    The column is unique, or `tie` decides between rows that are alike in it.
    """

    kind: str
    column: Column[Any]
    descending: bool = False
    tie: Column[Any] | None = None

    @property
    def columns(self) -> list[Column[Any]]:
        """All that the list goes by."""
        return [self.column] if self.tie is None else [self.column, self.tie]

    @property
    def numbers(self) -> list[bool]:
        """Which of them are numbers."""
        return [isinstance(column.type, Integer) for column in self.columns]


def fetch_page(
    connection: Connection, query: Select[Any], order: Order, make: Callable[[RowMapping], Item], cursor: str | None, limit: int
) -> Page[Item]:
    """One page: asks for one row more than it gives, to know whether there is a next."""
    if not 1 <= limit <= LARGEST_LIMIT:
        raise BadParameter("limit", f"A page holds 1 to {LARGEST_LIMIT} items, not {limit}.")
    columns = order.columns
    if cursor is not None:
        after = _read(cursor, order)
        query = query.where(tuple_(*columns) < after if order.descending else tuple_(*columns) > after)
    query = query.order_by(*(column.desc() if order.descending else column for column in columns))
    rows = connection.execute(query.limit(limit + 1)).mappings().all()
    shown = rows[:limit]
    more = _write(order.kind, [shown[-1][column.name] for column in columns]) if len(rows) > limit else None
    return Page(tuple(make(row) for row in shown), more)


def _write(kind: str, last: list[Any]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode([kind, *last])).decode().rstrip("=")


def _read(cursor: str, order: Order) -> tuple[str | int, ...]:
    try:
        found, *last = msgspec.json.decode(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), type=list[str | _Whole])
    except (msgspec.DecodeError, binascii.Error, ValueError) as error:
        raise BadParameter("cursor", "The cursor is damaged.", remedy="Start again without a cursor.") from error
    if found != order.kind or [isinstance(each, int) for each in last] != order.numbers:
        told = f"The cursor belongs to a list of {found}, not of {order.kind}."
        raise BadParameter("cursor", told, remedy="Start again without a cursor.")
    return tuple(last)
