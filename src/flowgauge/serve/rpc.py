"""JSON-RPC 2.0: bytes in, bytes out.

Single calls, batches and notifications, to the operations of the table and to
`rpc.discover`. Parameters are given by name. A batch is worked off in its
order, one call after the other. Whatever comes in, an answer goes out: never an
exception, never a traceback, and reads end within their time.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import traceback
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from flowgauge.app.operations.calling import read_params
from flowgauge.app.operations.table import OPERATIONS
from flowgauge.errors import BadParameter, FlowgaugeError, NoAnswer, NotAllowed
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.workflow import Json
from flowgauge.serve.caller import Caller
from flowgauge.serve.discover import DISCOVER, discovered
from flowgauge.serve.limits import Limits
from flowgauge.serve.rpc_errors import INVALID_REQUEST, PARSE_ERROR, UNKNOWN_METHOD, RpcError, internal, refused, told

if TYPE_CHECKING:
    from flowgauge.app.host import Host
    from flowgauge.app.operations.operation import Operation

Observe = Callable[[str, int, float], None]
"""Is told of every call: method (empty where there is none of that name), code (0: it went well), seconds."""
LONGEST_NAME = 100
_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<rest>[^u]))|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
"""Escapes of JSON, those that are whole before those that are half a character."""
_LOG = logging.getLogger("flowgauge.serve")


class Rpc:
    """The calls of one host."""

    def __init__(self, host: Host, limits: Limits, observe: Observe) -> None:
        self._host = host
        self._limits = limits
        self._observe = observe

    async def answer(self, body: bytes, caller: Caller) -> bytes | None:
        """None where only notifications came in."""
        try:
            value = _read(body, self._limits.depth)
        except _Unreadable as error:
            self._observe("", error.told.code, 0.0)
            return _write(None, error=error.told)
        if isinstance(value, list):
            return await self._batch(value, caller)
        return await self._one(value, caller)

    async def _batch(self, requests: list[Json], caller: Caller) -> bytes | None:
        if not 1 <= len(requests) <= self._limits.batch:
            words = f"A batch holds 1 to {self._limits.batch} calls, not {len(requests)}."
            self._observe("", INVALID_REQUEST, 0.0)
            return _write(None, error=refused(INVALID_REQUEST, words, "Send several."))
        answers: list[bytes] = []
        room = self._limits.answer_bytes
        for request in requests:
            answer = await self._one(request, caller) if room > 0 else self._no_room(request)
            if answer is not None:
                answers.append(answer)
                room -= len(answer)
        return b"[" + b",".join(answers) + b"]" if answers else None

    async def _one(self, request: Json, caller: Caller) -> bytes | None:
        wrong = wrong_with(request)
        if wrong:
            self._observe("", INVALID_REQUEST, 0.0)
            return _write(_id_of(request), error=refused(INVALID_REQUEST, f"This is no JSON-RPC 2.0 request: {wrong}."))
        started = time.perf_counter()
        name, wanted = request["method"], "id" in request
        answer, code = await self._answered(name, request.get("params"), caller, request.get("id"))
        self._observe(name if name in OPERATIONS or name == DISCOVER else "", code, time.perf_counter() - started)
        return answer if wanted else None

    async def _answered(self, name: str, params: Json, caller: Caller, request_id: Json) -> tuple[bytes, int]:
        """The whole answer, and its code."""
        try:
            return _write(request_id, result=await self._called(name, params, caller)), 0
        except _Unreadable as error:
            failed = error.told
        except FlowgaugeError as error:
            failed = told(error)
        except Exception:  # noqa: BLE001 - whatever it is, the caller gets an answer, and the log the rest
            failed = internal(self._logged(name))
        return _write(request_id, error=failed), failed.code

    async def _called(self, name: str, params: Json, caller: Caller) -> Any:
        if name == DISCOVER:
            return discovered()
        operation = OPERATIONS.get(name)
        if operation is None:
            near = did_you_mean(name, OPERATIONS) if len(name) <= LONGEST_NAME else ""
            raise _Unreadable(refused(UNKNOWN_METHOD, f"There is no method '{name[:LONGEST_NAME]}'.", near))
        if not caller.may(operation.scope):
            raise NotAllowed(
                f"{name} needs a token with the scope {operation.scope}; this one has {caller.scope}.",
                remedy=f"Run where the store is: flowgauge token create NAME --scope {operation.scope}",
            )
        return await self._run(operation, read_params(operation, _named(operation, params)))

    async def _run(self, operation: Operation, params: Any) -> Any:
        """What reads is cut off after its time; what writes is let end, so that nobody has to guess whether it was done."""
        if operation.scope != "read":
            return await operation.run(self._host, params)
        try:
            async with asyncio.timeout(self._limits.read_s) as time_limit:
                return await operation.run(self._host, params)
        except TimeoutError as error:
            if not time_limit.expired():
                raise
            raise NoAnswer(f"{operation.name} took more than {self._limits.read_s:g} s.", remedy="Ask for less at once.") from error

    def _logged(self, name: str) -> str:
        """The reference under which the log tells what happened."""
        reference = uuid.uuid4().hex[:12]
        _LOG.error("%s: %s failed\n%s", reference, name[:LONGEST_NAME], self._host.workspace.redact(traceback.format_exc()))
        return reference

    def _no_room(self, request: Json) -> bytes | None:
        """A call that is not made any more."""
        if isinstance(request, dict) and "id" not in request:
            return None
        words = f"The answers to this batch were more than {self._limits.answer_bytes} bytes; this call was not made."
        return _write(_id_of(request), error=refused(INVALID_REQUEST, words, "Send it again, alone."))


class _Unreadable(Exception):
    """Never came as far as an operation."""

    def __init__(self, told: RpcError) -> None:
        super().__init__(told.message)
        self.told = told


def _read(body: bytes, most_depth: int) -> Json:
    try:
        value = msgspec.json.decode(body)
    except RecursionError as error:
        raise _Unreadable(_too_deep(most_depth)) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _Unreadable(refused(PARSE_ERROR, f"The body is not JSON: {why_no_json(body) or error}.")) from error
    if body.count(b"[") + body.count(b"{") > most_depth and _deeper(value, most_depth):
        raise _Unreadable(_too_deep(most_depth))
    return value


def why_no_json(body: bytes) -> str:
    """Where the text of a body is at fault, and not its form, in words; a decoder counts from the beginning of a string."""
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return f"it is not UTF-8 (byte 0x{body[error.start]:02x} at position {error.start})"
    lone = next((found for found in _ESCAPES.finditer(body) if found["lone"]), None)
    return f"{lone['lone'].decode()} at position {lone.start('lone')} is half a surrogate pair" if lone else ""


def _too_deep(most: int) -> RpcError:
    return refused(INVALID_REQUEST, f"The body nests more than {most} objects and arrays in each other.")


def _deeper(value: Json, most: int) -> bool:
    """Level by level, so that no nesting is too deep to be looked at."""
    level = [value]
    for _ in range(most):
        level = [inner for each in level for inner in _inside(each) if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def _inside(value: Json) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def wrong_with(request: Json) -> str:
    """What is wrong, for people; empty where nothing is."""
    if not isinstance(request, dict):
        return "it is no object"
    checks = (
        (request.get("jsonrpc") == "2.0", "'jsonrpc' must be \"2.0\""),
        (isinstance(request.get("method"), str), "'method' must be a string"),
        (isinstance(request.get("params"), dict | list | None), "'params' must be an object"),
        (_is_id(request.get("id")), "'id' must be a string, a number or null"),
    )
    return next((words for right, words in checks if not right), "")


def _is_id(value: Json) -> bool:
    return value is None or (isinstance(value, str | int | float) and not isinstance(value, bool))


def _id_of(request: Json) -> Json:
    """Null where there is none that can be sent back."""
    value = request.get("id") if isinstance(request, dict) else None
    return value if _is_id(value) else None


def _named(operation: Operation, params: Json) -> dict[str, Json]:
    if not params:
        return {}
    if isinstance(params, list):
        fields = ", ".join(field.encode_name for field in msgspec.structs.fields(operation.params)) or "none"
        raise BadParameter("", f"{operation.name} takes its parameters by name, not by position.", remedy=f"Parameters: {fields}.")
    named: dict[str, Json] = params
    return named


def _write(request_id: Json, *, result: Any = None, error: RpcError | None = None) -> bytes:
    if error is not None:
        return msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "error": error})
    return msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "result": result})
