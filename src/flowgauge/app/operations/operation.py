"""An operation: a name, who may call it, what goes in, what comes out."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from flowgauge.errors import Conflict, UsageError
from flowgauge.model.service import Scope

if TYPE_CHECKING:
    from flowgauge.app.host import Host

LARGEST = 10**15
"""Of moments, ids and counts: beyond all that is real, and within what a store can hold."""
Limit = Annotated[int, Meta(ge=1, le=1000, description="Items on a page.")]
Cursor = Annotated[str, Meta(description="Where the page before ended: its next_cursor. Empty: from the beginning.")]


class Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What goes in. Every operation has its own; unknown fields are refused."""


class Nothing(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For an operation that asks for nothing."""


class Paged(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every list can be asked."""

    cursor: Cursor = ""
    limit: Limit = 50


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of what only does: which thing it was done to, and what was done, in words."""

    sid: str
    message: str


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table. `run` is handed the host and `params`; its answer is a `result`, ready to be encoded by msgspec."""

    name: str
    scope: Scope
    params: type[Params]
    result: Any
    """A type that msgspec knows: a struct, `X | None`, `Page[X]`."""
    run: Callable[[Host, Any], Awaitable[Any]]
    summary: str
    """One sentence."""


@contextlib.contextmanager
def about(field: str) -> Iterator[None]:
    """Around what only looks at one parameter: an error of it says so."""
    try:
        yield
    except Conflict:
        raise  # that is about what others do
    except UsageError as error:
        error.field = error.field or field
        raise
