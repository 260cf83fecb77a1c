"""What parent and worker say to each other, as JSON.

The worker's half of this is plain dictionaries (guest.main); these are the
parent's structs, so that an answer of another shape is noticed.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from flowgauge.model.ports import Job
from flowgauge.model.workflow import Json
from flowgauge.sandbox.tier import Tier

FailedAs = Literal["code_error", "timeout", "killed", "invalid_output", "isolation"]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The first frame to a worker."""

    parent_pid: int
    tier: Tier
    scratch: str
    read: tuple[str, ...]
    write: tuple[str, ...]
    network: bool
    processes: int
    file_mb: int


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's first word: what is in force, or why it is not."""

    abi: int = 0
    seccomp: bool = False
    error: str = ""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a job. `retire` says why the worker must not run another."""

    id: int
    value: Json = None
    failure: FailedAs | None = None
    message: str = ""
    traceback: str = ""
    retire: str = ""


class _Request(msgspec.Struct, frozen=True):
    id: int
    code: str
    function: str
    arguments: Json
    memory_mb: int


encode = msgspec.json.Encoder().encode
read_ready = msgspec.json.Decoder(Ready).decode
_read_answer = msgspec.json.Decoder(Answer).decode


def encode_request(number: int, job: Job) -> bytes:
    """Raises TypeError, ValueError or RecursionError where the arguments are no JSON."""
    return encode(_Request(number, job.code, job.function, job.arguments, job.memory_mb))


def read_answer(frame: bytes, number: int) -> Answer:
    """The answer to that job; whatever else the frame holds costs the worker."""
    try:
        answer = _read_answer(frame)
    except RecursionError:
        return Answer(id=number, failure="invalid_output", message="result is nested too deeply")
    except msgspec.MsgspecError as error:
        return Answer(id=number, failure="killed", message=f"The worker's answer cannot be read: {error}", retire="unreadable")
    if answer.id == number:
        return answer
    return Answer(id=number, failure="killed", message="The worker answered another job.", retire="out of step")
