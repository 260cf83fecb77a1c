"""Errors on the wire: ours to JSON-RPC's and back, so that a client raises what the server raised.

An error of Flowgauge keeps its class, words, remedy and field. Anything else
leaves as "internal error" with a reference to the server's log: no traceback,
no path, no value.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from flowgauge import errors
from flowgauge.errors import FlowgaugeError
from flowgauge.model.play import Failure
from flowgauge.model.problem import Problem

PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, BAD_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
MOST_WORDS = 20_000
"""Characters of a message: an error may quote what was sent."""

KINDS: dict[str, type[FlowgaugeError]] = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, FlowgaugeError)
}


class ErrorData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a program can go by."""

    type: str = ""
    """The name of the error's class."""
    remedy: str = ""
    field: str | UnsetType = UNSET
    """Of a bad parameter: its path; empty where all of them are meant."""
    file: str = ""
    problems: tuple[Problem | str, ...] = ()
    extra: str = ""
    failure: Failure | None = None
    reference: str = ""
    """Of an internal error: where the server's log tells more."""


class RpcError(msgspec.Struct, frozen=True, kw_only=True):
    """JSON-RPC's error object."""

    code: int
    message: str
    data: ErrorData = ErrorData()


def told(error: FlowgaugeError) -> RpcError:
    """One of our errors, for the wire."""
    field: str | UnsetType = getattr(error, "field", "") if error.rpc_code == BAD_PARAMS else UNSET
    data = ErrorData(
        type=type(error).__name__,
        remedy=error.remedy,
        field=field,
        file=getattr(error, "file", ""),
        problems=getattr(error, "problems", ()),
        extra=getattr(error, "extra", ""),
        failure=getattr(error, "failure", None),
    )
    return RpcError(code=error.rpc_code, message=_short(error.message), data=data)


def refused(code: int, message: str, remedy: str = "") -> RpcError:
    """For what never came as far as an operation."""
    return RpcError(code=code, message=_short(message), data=ErrorData(remedy=remedy))


def internal(reference: str) -> RpcError:
    """For what should not happen."""
    words = "Internal error: the server failed, not the call."
    return RpcError(
        code=INTERNAL, message=words, data=ErrorData(reference=reference, remedy=f"The server's log tells more at {reference}.")
    )


def raised(told: RpcError) -> FlowgaugeError:
    """The error that the server raised, for whoever called it."""
    data = told.data
    kind = KINDS.get(data.type) or _BY_CODE.get(told.code, FlowgaugeError)
    error = kind.__new__(kind)
    FlowgaugeError.__init__(error, told.message, remedy=data.remedy)
    known = {"file": data.file, "problems": data.problems, "extra": data.extra, "failure": data.failure}
    for name, value in known.items():
        if value:
            setattr(error, name, value)
    if data.field is not UNSET and data.field:
        setattr(error, "field", data.field)  # noqa: B010 - only some of the classes have it
    return error


_BY_CODE: dict[int, type[FlowgaugeError]] = {
    UNKNOWN_METHOD: errors.NotFound,
    INVALID_REQUEST: errors.UsageError,
    BAD_PARAMS: errors.UsageError,
    **{kind.rpc_code: kind for kind in (errors.NotAllowed, errors.NoAnswer, errors.Conflict, errors.NotFound)},
}


def _short(words: str) -> str:
    return words if len(words) <= MOST_WORDS else f"{words[:MOST_WORDS]}…"
