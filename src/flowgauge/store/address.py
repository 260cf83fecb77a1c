"""Where a store is: a path or URL in, an address out.

Refuses what is neither SQLite nor PostgreSQL, and databases in memory: a store
keeps things. An address never shows its password.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from flowgauge.errors import UsageError

FOLDER = ".flowgauge"
DEFAULT = f"{FOLDER}/flowgauge.db"
ENVIRONMENT = "FLOWGAUGE_DB"
_FORMS = "Give a path, sqlite:///PATH or postgresql://USER@HOST/DATABASE."
_SECRET_OPTIONS = frozenset({"password", "sslpassword", "passfile"})
HIDDEN = "***"


class SqliteAddress(msgspec.Struct, frozen=True):
    """A file."""

    path: Path

    @property
    def place(self) -> str:
        """How messages name it."""
        return str(self.path)


class PostgresAddress(msgspec.Struct, frozen=True):
    """A server and a database on it."""

    url: URL

    @property
    def place(self) -> str:
        """How messages name it, without any password."""
        shown = {name: HIDDEN if name in _SECRET_OPTIONS else value for name, value in self.url.query.items()}
        return self.url.set(drivername="postgresql", query=shown).render_as_string(hide_password=True)

    def hide(self, text: str) -> str:
        """The text without this address's passwords, however they are spelt."""
        found = [self.url.password, *(self.url.query.get(name) for name in _SECRET_OPTIONS)]
        for secret in filter(None, (str(value) for value in found if value)):
            for spelling in {secret, quote(secret, safe=""), unquote(secret)}:
                text = text.replace(spelling, HIDDEN)
        return text


Address = SqliteAddress | PostgresAddress


def read_address(url_or_path: str | None) -> Address:
    """The address that was asked for, or the default."""
    given = url_or_path or os.environ.get(ENVIRONMENT) or DEFAULT
    if "://" not in given:
        return _file(given)
    url = _parse(given)
    match url.get_backend_name():
        case "sqlite":
            return _file(url.database or "")
        case "postgresql" | "postgres":
            return PostgresAddress(url.set(drivername="postgresql+psycopg"))
        case other:
            raise UsageError(f"A store cannot be kept in {other!r}.", remedy=_FORMS)


def _parse(given: str) -> URL:
    try:
        return make_url(given)
    except (ArgumentError, ValueError):
        scheme = given.split("://", 1)[0]
        raise UsageError(f"The store's URL ({scheme}://{HIDDEN}) cannot be read.", remedy=_FORMS) from None


def _file(path: str) -> SqliteAddress:
    if not path or path == ":memory:" or path.startswith("file:"):
        raise UsageError(f"A store needs a file of its own, not {path or 'an empty path'!r}.", remedy=_FORMS)
    return SqliteAddress(Path(path).expanduser().absolute())
