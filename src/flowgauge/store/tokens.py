"""Tokens in the store: who may call a server.

Only the hash of a secret is kept. Of one name at most one token is in use; what
was revoked stays, so that a list can say who had access.
"""

from __future__ import annotations

import re

import msgspec
from sqlalchemy import Connection, RowMapping, or_, select, update

from flowgauge.errors import Conflict, NotFound, UsageError
from flowgauge.model.service import Token
from flowgauge.store.database import Database, now_ms
from flowgauge.store.page import DEFAULT_LIMIT, Order, Page, fetch_page
from flowgauge.store.rows import RowEncoder
from flowgauge.store.schema import tokens

TOUCH_MS = 60_000
"""How exactly it is known when a token was used last: a write to the disk is not worth more."""
_SPEAKABLE = re.compile(r"\w[\w.@+-]{0,99}")
_NEWEST_FIRST = Order("tokens", tokens.c.created_at, descending=True, tie=tokens.c.sid)


class Tokens:
    """The part of a Store that keeps tokens."""

    _database: Database
    _encoder: RowEncoder

    def put_token(self, token: Token) -> None:
        """A new one. Conflict where one of that name is in use, be it over or not."""
        if not _SPEAKABLE.fullmatch(token.name):
            raise UsageError(f"A token cannot be called {token.name!r}.", remedy="Take letters, digits and . @ + - _ (up to 100).")
        if self._encoder.hides(token.name):
            raise UsageError("The name of a token holds a secret.", remedy="Choose another name.")
        insert = self._database.backend.insert(tokens).values(**msgspec.structs.asdict(token))
        with self._database.writing() as connection:
            if connection.scalar(insert.on_conflict_do_nothing().returning(tokens.c.sid)) is None:
                raise Conflict(
                    f"There is a token {token.name} already.",
                    remedy=f"Choose another name, or revoke it: flowgauge token revoke {token.name}",
                )

    def get_token_by_hash(self, digest: str) -> Token | None:
        """Whatever became of it: whoever asks looks at `revoked_at` and `expires_at`."""
        with self._database.reading() as connection:
            row = connection.execute(select(tokens).where(tokens.c.hash == digest)).mappings().one_or_none()
        return None if row is None else _read(row)

    def list_tokens(self, cursor: str | None = None, limit: int = DEFAULT_LIMIT) -> Page[Token]:
        """Newest first, also those that were revoked."""
        with self._database.reading() as connection:
            return fetch_page(connection, select(tokens), _NEWEST_FIRST, _read, cursor, limit)

    def revoke_token(self, name_or_sid: str) -> Token:
        """From now on it opens nothing. One that was revoked before stays as it was."""
        with self._database.writing() as connection:
            found = _find(connection, name_or_sid)
            unused = tokens.c.sid == found.sid, tokens.c.revoked_at == 0
            connection.execute(update(tokens).where(*unused).values(revoked_at=now_ms()))
            return _find(connection, found.sid)

    def touch_token(self, token: Token) -> None:
        """It was used just now. Written once a minute at the most, by whoever sees first that it is time."""
        moment = now_ms()
        if abs(moment - token.last_used_at) < TOUCH_MS:
            return
        seen = tokens.c.sid == token.sid, tokens.c.last_used_at == token.last_used_at
        with self._database.writing() as connection:
            connection.execute(update(tokens).where(*seen).values(last_used_at=moment))


def _find(connection: Connection, name_or_sid: str) -> Token:
    """Of several of a name the one that is in use, else the newest."""
    query = select(tokens).where(or_(tokens.c.sid == name_or_sid, tokens.c.name == name_or_sid))
    order = (tokens.c.revoked_at != 0, tokens.c.created_at.desc())
    row = connection.execute(query.order_by(*order).limit(1)).mappings().one_or_none()
    if row is None:
        raise NotFound(f"No token {name_or_sid!r} is stored.", remedy="See what there is with: flowgauge token list")
    return _read(row)


def _read(row: RowMapping) -> Token:
    return Token(**{name: row[name] for name in Token.__struct_fields__})
