"""Who calls, as far as the operations care: by which scope."""

from __future__ import annotations

import msgspec

from flowgauge.model.service import SCOPES, Scope


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who calls, and what they may. Without a token: anybody on this machine, who may do all."""

    scope: Scope = "admin"
    token_hash: str = ""

    def may(self, needed: Scope) -> bool:
        """Each scope holds those before it."""
        return SCOPES.index(self.scope) >= SCOPES.index(needed)
