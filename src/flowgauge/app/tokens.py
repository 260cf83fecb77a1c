"""Tokens for callers of a server: made here, shown once, kept only as a hash."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import msgspec

from flowgauge.errors import UsageError
from flowgauge.model.ids import TOKEN, content_hash, new_sid
from flowgauge.model.service import Scope, Token

if TYPE_CHECKING:
    from flowgauge.store.store import Store

PREFIX = "fg_"
"""So that a token is known for one wherever it turns up, and hidden there."""
SECRET_BYTES = 32
LONGEST_S = 100 * 366 * 86_400


class NewToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token with its secret, which nobody can ask for again."""

    token: Token
    secret: str


def create_token(store: Store, name: str, scope: Scope, *, now_ms: int, lasts_s: int = 0) -> NewToken:
    """A new one; with `lasts_s` it opens nothing after that. Raises Conflict where one of that name is in use."""
    if not 0 <= lasts_s <= LONGEST_S:
        raise UsageError("A token lasts up to a hundred years.", remedy="Leave --expires out for one that never ends.")
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    token = Token(
        sid=new_sid(TOKEN, now_ms=now_ms),
        name=name,
        scope=scope,
        hash=content_hash(secret.encode()),
        created_at=now_ms,
        expires_at=now_ms + lasts_s * 1000 if lasts_s else 0,
    )
    store.put_token(token)
    return NewToken(token=token, secret=secret)
