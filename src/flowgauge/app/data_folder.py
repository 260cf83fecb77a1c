"""Where files are kept that are no part of the store: snapshots, baselines of agents, installed adapters."""

from __future__ import annotations

import os
from pathlib import Path

from flowgauge.store.address import FOLDER, SqliteAddress, read_address

VARIABLE = "FLOWGAUGE_DATA"


def data_folder(db: str | None = None) -> Path:
    """What FLOWGAUGE_DATA names, else `.flowgauge` beside the store (or here, where the store is a server). It need not be there."""
    if said := os.environ.get(VARIABLE):
        return Path(said).expanduser().absolute()
    address = read_address(db)
    folder = address.path.parent if isinstance(address, SqliteAddress) else Path.cwd()
    return folder if folder.name == FOLDER else folder / FOLDER
