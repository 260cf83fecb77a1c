"""A bundle's files, from a folder or a zip, and back.

In: a path. Out: names and bytes. A zip has exactly one form (fixed order, date
and rights, nothing compressed), so that every byte of it counts. Refused before
anything is read or unpacked: names that are no bundle's, links, other kinds of
file, too many files, too many bytes. Nothing is ever written where a name in a
zip says: a zip is read in memory.
"""

from __future__ import annotations

import io
import os
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from flowgauge.errors import BadFile, Conflict, NotFound, UsageError
from flowgauge.model.problem import Problem

MANIFEST, RUN, CALLS, VALIDATOR = "manifest.json", "run.json", "calls.jsonl", "validator.json"
INTEGRITY, SIGNATURE = "integrity.sha256", "signature.json"
SEALED = (CALLS, MANIFEST, RUN, VALIDATOR)
"""What the integrity file covers: all of them, and nothing else."""
NAMES = (*SEALED, INTEGRITY, SIGNATURE)
MAX_FILE_BYTES = 256 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)
_RIGHTS = stat.S_IFREG | 0o600
_AGAIN = "Restore the bundle, or record again."

Files = Mapping[str, bytes]


def read_files(path: Path) -> dict[str, bytes]:
    """Every file of a bundle by name. Raises BadFile that names what is wrong."""
    try:
        return _read_folder(path) if path.is_dir() else _read_zip(path)
    except OSError as error:
        raise bad(path, f"The bundle cannot be read: {error.strerror}.", "Check the path.") from error


def write_files(path: Path, files: Files) -> None:
    """A new zip where the name ends in .zip, else a new folder; whole or not at all. What is there is never replaced."""
    check_free(path)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
            if path.suffix == ".zip":
                _put(made := Path(folder, "bundle"), zipped(files))
                _take_place(made, path)
            else:
                _put_folder(made := Path(folder, "bundle"), files)
                made.rename(path)
    except FileExistsError as error:
        raise _taken(path) from error
    except OSError as error:
        raise UsageError(f"The bundle {path} cannot be written: {error.strerror}.", remedy="Check the path, or make room.") from error


def check_free(path: Path) -> None:
    """Raises Conflict where something of that name is there, NotFound where its folder is not."""
    if path.exists() or path.is_symlink():
        raise _taken(path)
    if not path.parent.is_dir():
        raise NotFound(f"There is no folder {path.parent}.", remedy="Make it, or choose another path.")


def zipped(files: Files) -> bytes:
    """The one form of a zip with these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            member = zipfile.ZipInfo(name, _EPOCH)
            member.create_system = 3  # UNIX, wherever it is made
            member.external_attr = _RIGHTS << 16
            archive.writestr(member, files[name])
    return buffer.getvalue()


def bad(path: Path | str, message: str, remedy: str = _AGAIN) -> BadFile:
    """One thing that is wrong with a bundle, or with a file of it."""
    return BadFile(str(path), [Problem(0, "", message, remedy)])


def _taken(path: Path) -> Conflict:
    return Conflict(f"{path} exists already.", remedy="Choose another name, or move it away.")


def _take_place(made: Path, path: Path) -> None:
    """A link never replaces, unlike a rename; not every file system has them."""
    try:
        os.link(made, path)
    except FileExistsError:
        raise
    except OSError:
        check_free(path)
        made.rename(path)


def _put_folder(folder: Path, files: Files) -> None:
    folder.mkdir(mode=0o700)
    for name, content in files.items():
        _put(folder / name, content)


def _put(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _read_folder(path: Path) -> dict[str, bytes]:
    files = {}
    for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
        _check_name(path, entry.name)
        files[entry.name] = _read_file(path, entry.name)
    return files


def _read_file(folder: Path, name: str) -> bytes:
    """O_NOFOLLOW: a link is refused by the system itself, however late it was put there."""
    try:
        opened = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise bad(folder, f"{name} cannot be opened: {error.strerror}. A bundle holds plain files only.") from error
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise bad(folder, f"{name} is no plain file. A bundle holds nothing else.")
    with os.fdopen(opened, "rb") as file:
        return _read_bounded(folder, file, name)


def _read_bounded(where: Path, file: io.BufferedReader, name: str) -> bytes:
    content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise bad(where, f"{name} is larger than {MAX_FILE_BYTES >> 20} MB, which no bundle is.")
    return content


def _read_zip(path: Path) -> dict[str, bytes]:
    with path.open("rb") as file:
        content = _read_bounded(path, file, "The zip")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for problem in _unsafe(archive.infolist()):
                raise bad(path, problem)
            files = {member.filename: archive.read(member) for member in archive.infolist()}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        raise bad(path, f"The zip is damaged, or it is none: {error}.") from error
    _check_form(path, content, files)
    return files


def _unsafe(members: list[zipfile.ZipInfo]) -> Iterator[str]:
    """What must not be read at all."""
    seen: set[str] = set()
    for member in members:
        name = member.filename
        kind = stat.S_IFMT(member.external_attr >> 16)
        if name not in NAMES:
            yield _strange(member.orig_filename)
        if name in seen:
            yield f"{name} is in the zip twice."
        if kind not in (0, stat.S_IFREG):
            yield f"{name} is a link or another kind of file. A bundle holds plain files only."
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            yield f"{name} is compressed ({member.compress_size} bytes that say they are {member.file_size}). Bundles never are."
        seen.add(name)


def _check_name(path: Path, name: str) -> None:
    if name not in NAMES:
        raise bad(path, _strange(name), "Take it out, or restore the bundle.")


def _strange(name: str) -> str:
    return f"{name!r} does not belong to a bundle."


def _check_form(path: Path, content: bytes, files: Files) -> None:
    """Every byte of the zip that is not a file's is one that we would write, too."""
    whole = zipped(files)
    if content == whole:
        return
    at = next(
        (place for place, (one, other) in enumerate(zip(content, whole, strict=False)) if one != other), min(len(content), len(whole))
    )
    raise bad(
        path,
        f"The zip was changed: byte {at} is not as record wrote it.",
        "Restore the bundle. If another program packed it, unpack it and replay the folder.",
    )
