"""integrity.sha256: a line for every file of a bundle, and a seal over the lines.

    8d96…  calls.jsonl
    …
    # seal 51ab…

`sha256sum -c integrity.sha256` reads it, too. Files in, problems out, all of
them: a file that was changed, is missing or is too many is named. It finds
accidents and edits; only a signature tells who sealed it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from flowgauge.perf.replay.archive import INTEGRITY, SEALED, SIGNATURE, Files

_SEAL = "# seal "


def integrity_of(files: Files) -> bytes:
    """The integrity file for these."""
    lines = "".join(f"{_digest(files[name])}  {name}\n" for name in sorted(files))
    return f"{lines}{_SEAL}{_digest(lines.encode())}\n".encode()


def broken(files: Files) -> list[str]:
    """What is not as it was sealed; empty where all is."""
    return list(_missing(files)) or list(_changed(files))


def _missing(files: Files) -> Iterator[str]:
    for name in (*SEALED, INTEGRITY):
        if name not in files:
            yield f"{name} is missing."


def _changed(files: Files) -> Iterator[str]:
    lines, seal = _parted(files[INTEGRITY])
    if seal != f"{_SEAL}{_digest(lines)}\n".encode():
        yield f"{INTEGRITY} was changed: its seal does not fit its lines."
        return
    listed = {line.partition(b"  ")[2].decode(errors="replace"): line for line in lines.splitlines()}
    for name, content in files.items():
        if name in (INTEGRITY, SIGNATURE):
            continue
        if name not in listed:
            yield f"{name} is not in {INTEGRITY}: it was added after the bundle was sealed."
        elif listed[name] != f"{_digest(content)}  {name}".encode():
            yield f"{name} was changed: it does not fit its line in {INTEGRITY}."
    yield from (f"{name} is in {INTEGRITY} and not in the bundle." for name in listed if name not in files)


def _parted(content: bytes) -> tuple[bytes, bytes]:
    """The lines, and the last one."""
    at = content.rfind(b"\n", 0, -1) + 1
    return content[:at], content[at:]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
