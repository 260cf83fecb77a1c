"""Record exchanges with the outside, and answer from a recording.

Three tapes (model.ports.Tape): Live lets everything through, Recorder also
writes it down, Replayer answers from what was written and asks nobody. Keyed
by the SHA-256 of the request and by the turn: how often it was asked before.
Secrets are taken out before anything is hashed or written. A request that is
not in the recording is a failure; an answer is never invented.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from flowgauge._version import __version__
from flowgauge.errors import Conflict, Failed, UsageError
from flowgauge.model.play import Failure
from flowgauge.model.redaction import Redact, cleaned, redactor, secrets_of
from flowgauge.model.workflow import Json
from flowgauge.providers.recordings.file import FORMAT, VERSION, Header, Line, Place, Seal, read_line, scan
from flowgauge.providers.recordings.search import nearest

Answer = TypeVar("Answer")
Perform = Callable[[], Awaitable[Answer]]
_encode = msgspec.json.Encoder(order="sorted").encode


def key_of(kind: str, request: Json, *, redact: Redact | None = None) -> str:
    """What a request is known by: SHA-256 of its kind and its sorted JSON, secrets taken out."""
    return _key(kind, _canonical(request, redact))


class Live:
    """Lets every exchange through."""

    live = True

    async def exchange(self, kind: str, request: Json, perform: Perform[Answer], answer: type[Answer]) -> Answer:  # noqa: ARG002
        """Perform it."""
        return await perform()


class Recorder:
    """Performs every exchange and appends it to a file, failures too.

    A line is written whole, in one piece, as soon as the exchange is over: a
    crash of this process loses none that was over, a crash of the machine the last ones.
    """

    live = False

    def __init__(self, path: str | Path, *, redact: Redact | None = None, append: bool = False) -> None:
        self.path = Path(path)
        self._redact = redact or _environment_redactor()
        self._turns: Counter[str] = Counter()
        self._count = 0
        self._digest = hashlib.sha256()
        self._file = self._opened(append=append)

    async def exchange(self, kind: str, request: Json, perform: Perform[Answer], answer: type[Answer]) -> Answer:  # noqa: ARG002
        """Perform it and write it down; the turn is counted when it is asked, so that order does not depend on speed."""
        canonical = _canonical(request, self._redact)
        key = _key(kind, canonical)
        turn = self._turns[key]
        self._turns[key] += 1
        started = time.perf_counter()
        try:
            result = await perform()
        except BaseException as error:
            duration_ms = (time.perf_counter() - started) * 1000
            failure = msgspec.convert(cleaned(msgspec.to_builtins(_failure(error, duration_ms)), self._redact), Failure)
            self._write(Line(kind=kind, key=key, turn=turn, request=msgspec.Raw(canonical), failure=failure, duration_ms=duration_ms))
            raise
        duration_ms = (time.perf_counter() - started) * 1000
        response = msgspec.Raw(_canonical(result, self._redact))
        self._write(Line(kind=kind, key=key, turn=turn, request=msgspec.Raw(canonical), response=response, duration_ms=duration_ms))
        return result

    def close(self) -> None:
        """Seal the recording and put it on disk."""
        if self._file < 0:
            return
        self._put(msgspec.json.encode(Seal(seal=self._digest.hexdigest(), exchanges=self._count)) + b"\n")
        os.fsync(self._file)
        os.close(self._file)
        self._file = -1

    def __enter__(self) -> Recorder:
        """For a with block."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Seal."""
        self.close()

    def _write(self, line: Line) -> None:
        self._count += 1
        self._put(msgspec.json.encode(line) + b"\n")

    def _put(self, content: bytes) -> None:
        if self._file < 0:
            raise UsageError(f"The recording {self.path} is closed.", remedy="Open another Recorder.")
        self._digest.update(content)
        try:
            while content:
                content = content[os.write(self._file, content) :]
        except OSError as error:
            raise UsageError(
                f"The recording {self.path} cannot be written: {error.strerror}.", remedy="Make room, or run without it."
            ) from error

    def _opened(self, *, append: bool) -> int:
        """A new file with its header, or an old one without its seal and without a line that was cut short."""
        end = self._take_up() if append and self.path.exists() else None
        flags = os.O_WRONLY | os.O_APPEND | (os.O_CREAT | os.O_EXCL if end is None else 0)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, flags, 0o600)
        except FileExistsError as error:
            raise Conflict(f"The recording {self.path} exists already.", remedy="Choose another name, or move it away.") from error
        except OSError as error:
            raise UsageError(f"The recording {self.path} cannot be written: {error.strerror}.", remedy="Check the path.") from error
        if end is not None:
            os.ftruncate(file, end)
            return file
        header = Header(format=FORMAT, version=VERSION, writer=f"flowgauge {__version__}", started_at=int(time.time() * 1000))
        self._file = file
        self._put(msgspec.json.encode(header) + b"\n")
        return file

    def _take_up(self) -> int:
        contents = scan(self.path)
        for place in contents.places:
            self._turns[place.key] = max(self._turns[place.key], place.turn + 1)
        self._count = len(contents.places)
        with self.path.open("rb") as file:
            self._digest.update(file.read(contents.end))
        return contents.end


class Replayer:
    """Answers from a recording. Holds only the places of its exchanges in memory."""

    live = False

    def __init__(self, path: str | Path, *, redact: Redact | None = None) -> None:
        self.path = Path(path)
        self._redact = redact or _environment_redactor()
        contents = scan(self.path)
        self.warnings = contents.warnings
        self._places = {(place.key, place.turn): place for place in contents.places}
        self._turns: Counter[str] = Counter()
        self._file = self.path.open("rb")

    def __len__(self) -> int:
        """How many exchanges are recorded."""
        return len(self._places)

    async def exchange(self, kind: str, request: Json, perform: Perform[Answer], answer: type[Answer]) -> Answer:  # noqa: ARG002
        """The recorded answer, or the recorded failure; `perform` is never called."""
        canonical = _canonical(request, self._redact)
        key = _key(kind, canonical)
        turn = self._turns[key]
        place = self._places.get((key, turn))
        if place is None:
            raise Failed(self._missing(kind, key, turn, canonical))
        self._turns[key] += 1
        line = self._read(place)
        if line.failure is not None:
            raise Failed(line.failure)
        assert isinstance(line.response, msgspec.Raw)
        return msgspec.json.decode(line.response, type=answer)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __enter__(self) -> Replayer:
        """For a with block."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close."""
        self.close()

    def _read(self, place: Place) -> Line:
        self._file.seek(place.offset)
        return read_line(self._file.read(place.length))

    def _missing(self, kind: str, key: str, turn: int, canonical: bytes) -> Failure:
        remedy = "Record again with --record, or replay the run that was recorded."
        if (key, 0) in self._places:
            message = f"The {kind} request {key[:12]} is asked for the {turn + 1}. time, but {self.path} has only {turn} answers to it."
            return Failure(kind="not_recorded", message=f"{message} {remedy}", detail=_short(canonical))
        others = (
            (f"{place.key[:12]} (turn {place.turn})", bytes(self._read(place).request))
            for place in self._places.values()
            if place.kind == kind and place.turn == 0
        )
        message = f"The {kind} request {key[:12]} is not in {self.path}. {nearest(canonical, others)} {remedy}"
        return Failure(kind="not_recorded", message=message, detail=_short(canonical))


def _key(kind: str, canonical: bytes) -> str:
    return hashlib.sha256(b'{"kind":' + msgspec.json.encode(kind) + b',"request":' + canonical + b"}").hexdigest()


def _canonical(value: Any, redact: Redact | None) -> bytes:
    """Sorted JSON; taken apart for redaction only where there is a secret in it."""
    encoded = _encode(value)
    if redact is None or redact(text := encoded.decode()) == text:
        return encoded
    return _encode(cleaned(msgspec.json.decode(encoded), redact))


def _failure(error: BaseException, duration_ms: float) -> Failure:
    """What to replay. A time limit around an exchange cancels it, so cancelled is recorded as timed out."""
    if isinstance(error, Failed):
        return error.failure
    if isinstance(error, asyncio.CancelledError):
        return Failure(kind="timeout", message=f"When this was recorded it was cut off after {duration_ms:.0f} ms.")
    return Failure(kind="internal", message=f"{type(error).__name__}: {error}")


def _environment_redactor() -> Redact:
    return redactor(secrets_of(os.environ))


def _short(canonical: bytes) -> str:
    text = canonical.decode()
    return text if len(text) <= 600 else f"{text[:600]}…"
