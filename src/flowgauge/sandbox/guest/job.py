"""Runs one job: fresh names, the call, the answer.

Comes in: a decoded request. Goes out: the answer's bytes. Whatever the code does
short of ending the process is an answer; nothing is raised.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any

from .result import CODE_FILE, failed, to_json
from .state import State

MODULE_NAME = "flowgauge_code"
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class WrongCall(Exception):
    """The function is not there or cannot be called with these arguments."""


def answer(request: dict[str, Any], state: State) -> bytes:
    """The frame that goes back to the parent."""
    state.begin()
    fields: dict[str, Any] = {"id": request["id"]}
    text = "null"
    memory_mb = request["memory_mb"]
    try:
        limit_memory(state, memory_mb)
        value = _call(request)
        state.restore_builtins()
        text = to_json(value)
    except BaseException as error:  # noqa: BLE001  (sys.exit and KeyboardInterrupt are the code's own doing, too)
        state.restore_builtins()
        limit_memory(state, 0)
        fields |= _described(error, request["code"], memory_mb)
    if os.getpid() != state.pid:
        os._exit(0)  # a fork that the code let run on: its parent answers
    limit_memory(state, 0)
    fields["retire"] = _restored(state) or ("it ran out of memory" if fields.get("failure") == "killed" else "")
    return f'{json.dumps(fields)[:-1]},"value":{text}}}'.encode()


def _described(error: BaseException, source: str, memory_mb: int) -> dict[str, Any]:
    if isinstance(error, WrongCall):
        return {"failure": "code_error", "message": str(error)}
    try:
        return failed(error, source, memory_mb)
    except Exception as second:  # noqa: BLE001  (an exception of the user's own class may fail when shown)
        return {"failure": "code_error", "message": f"{type(error).__name__} (showing it failed: {type(second).__name__})"}


def _restored(state: State) -> str:
    sys.modules.pop(MODULE_NAME, None)
    try:
        return state.restore()
    except Exception as error:  # noqa: BLE001  (replaced streams and handlers may raise anything)
        return f"it could not be put back: {type(error).__name__}: {error}"


def limit_memory(state: State, memory_mb: int) -> None:
    """Private writable memory beyond what the worker has now; 0 lifts the limit."""
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    soft = state.data_pages() * _PAGE_BYTES + (memory_mb << 20) if memory_mb else hard
    resource.setrlimit(resource.RLIMIT_DATA, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


@lru_cache(maxsize=256)
def _compiled(source: str) -> CodeType:
    return compile(source, CODE_FILE, "exec", dont_inherit=True)


def _call(request: dict[str, Any]) -> Any:
    source = request["code"]
    linecache = sys.modules.get("linecache")
    if linecache is not None:
        linecache.cache[CODE_FILE] = (len(source), None, source.splitlines(keepends=True), CODE_FILE)
    module = sys.modules[MODULE_NAME] = ModuleType(MODULE_NAME)
    names = module.__dict__
    names["__file__"] = CODE_FILE
    exec(_compiled(source), names)  # noqa: S102  (running the user's code is what this process is for)
    value = _invoke(_function(names, request["function"]), request["function"], request["arguments"])
    if hasattr(value, "__await__"):
        import asyncio

        return asyncio.run(_awaited(value))
    return value


async def _awaited(value: Any) -> Any:
    return await value


def _function(names: dict[str, Any], name: str) -> Callable[..., Any]:
    function = names.get(name)
    if callable(function):
        return function  # type: ignore[no-any-return]  # callable() narrows to an untyped callable
    defined = sorted(other for other, value in names.items() if callable(value) and not other.startswith("_"))
    have = f"It defines: {', '.join(defined)}." if defined else "It defines no function."
    raise WrongCall(f"The code defines no function '{name}'. {have} Add: def {name}(...).")


def _invoke(function: Callable[..., Any], name: str, arguments: dict[str, Any]) -> Any:
    try:
        return function(**arguments)
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        import inspect

        given = ", ".join(arguments) or "nothing"
        try:
            takes = str(inspect.signature(function))
        except ValueError:
            raise error from None
        raise WrongCall(f"{error}. The call gives: {given}; the function is {name}{takes}.") from None
