"""What a driver's error means to the person who sees it.

A driver's exception and a place in, a StoreFailure with a remedy out. The
tables are read from the top; the last row fits everything.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

from flowgauge.errors import StoreFailure

_SQLITE: tuple[tuple[str, str, str], ...] = (
    ("locked", "is locked by another process.", "Wait until it is done, or stop the process that holds it."),
    ("busy", "is locked by another process.", "Wait until it is done, or stop the process that holds it."),
    ("not a database", "is not a database.", "Name another file with --db or FLOWGAUGE_DB."),
    ("malformed", "is damaged.", "Put a backup in its place, or recover what can be read with: sqlite3 FILE .recover"),
    ("disk image", "is damaged.", "Put a backup in its place, or recover what can be read with: sqlite3 FILE .recover"),
    ("full", "cannot grow: the disk is full.", "Make room, or run: flowgauge store prune"),
    ("readonly", "cannot be written.", "Check the rights of the file and of its folder."),
    ("unable to open", "cannot be opened.", "Check that its folder exists and that you may write there."),
    ("disk i/o", "cannot be read or written (disk error).", "Check the disk and the rights of the folder."),
    ("no such table", "lacks a table of Flowgauge.", "Put a backup in its place, or name another file with --db."),
)
_POSTGRES: tuple[tuple[str, str, str], ...] = (
    ("authentication failed", "refused the user or the password.", "Check the URL's user and password."),
    ("no password supplied", "asks for a password.", "Put it in the URL, or set PGPASSWORD."),
    ('" does not exist', "knows no such database, user or table.", "Create it (createdb), or correct the URL."),
    ("permission denied", "does not permit this.", "Grant the user CREATE on the schema and all rights on its tables."),
    ("too many", "has no connection left.", "Close other clients, or raise max_connections."),
    ("translate host", "cannot be found.", "Correct the host in the URL."),
    ("refused", "does not answer.", "Start the server, or correct host and port."),
    ("no such file", "does not answer.", "Start the server, or correct the socket folder."),
    ("timeout", "did not answer in time.", "Check the network and whether the server is overloaded."),
    ("closed", "closed the connection.", "Check the server's log; it may have been restarted."),
)


def sqlite_failure(error: BaseException, place: str) -> StoreFailure:
    """For an error of sqlite3, or of the file system below it."""
    return _failure(error, f"The store {place}", _SQLITE)


def postgres_failure(error: BaseException, place: str, hide: Callable[[str], str]) -> StoreFailure:
    """For an error of psycopg. `hide` takes the password out of what the server says."""
    return _failure(error, f"The store {place}", _POSTGRES, hide)


def _failure(error: BaseException, subject: str, table: Iterable[tuple[str, str, str]], hide: Callable[[str], str] = str) -> StoreFailure:
    said = " ".join(str(error).split())
    for sign, what, remedy in table:
        if sign in said.lower():
            return StoreFailure(f"{subject} {what} ({hide(said)})", remedy=remedy)
    return StoreFailure(f"{subject} failed: {hide(said) or type(error).__name__}.", remedy="Look with: flowgauge doctor")


def sqlite_transient(error: BaseException) -> bool:
    """Whether trying again may help."""
    return isinstance(error, sqlite3.OperationalError) and any(sign in str(error).lower() for sign in ("locked", "busy"))
