"""Where everything is kept: one interface, SQLite and PostgreSQL.

`open_store` is the way in. Nothing heavy is imported before it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowgauge.model.redaction import Redact
    from flowgauge.store.store import Store

__all__ = ["open_store"]


def open_store(url_or_path: str | None = None, *, redact: Redact | None = None) -> Store:
    """Open a store by path or URL; by default FLOWGAUGE_DB, else `.flowgauge/flowgauge.db` here.

    An SQLite file that is not there is made by the first write; until then it
    reads as empty. `redact` is applied to all text that is stored; by default
    it hides the secrets of this process's environment.
    """
    from flowgauge.store.store import open_at

    return open_at(url_or_path, redact=redact)
