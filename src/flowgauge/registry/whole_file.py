"""Files of the data folder: a folder that can be made, a file that is written whole or not at all.

Refuses, with a remedy, a place where nothing can be kept.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from flowgauge.errors import UsageError


def make_folder(folder: Path) -> Path:
    """With those above it. Raises UsageError where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"The data folder cannot be used: {folder} cannot be made ({error.strerror or error}).",
            remedy="Name a folder that you may write to: FLOWGAUGE_DATA=FOLDER.",
        ) from error
    return folder


def write_whole(place: Path, content: bytes) -> Path:
    """What was there stays until all of the new is on the disk. Raises UsageError where it cannot be written."""
    make_folder(place.parent)
    try:
        _replace(place, content)
    except OSError as error:
        raise UsageError(
            f"{place} cannot be written: {error.strerror or error}.", remedy="Make room, or see to the folder's permissions."
        ) from error
    return place


def _replace(place: Path, content: bytes) -> None:
    descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name[:80]}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        part.chmod(0o644)
        part.replace(place)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
