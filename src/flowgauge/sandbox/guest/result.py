"""What a job answers with, as JSON, and what is wrong with it where it is not.

Comes in: any value, any exception. Goes out: JSON text, or the fields of a failed
outcome. Tuples become lists and keys that are numbers become text, as in `json`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from types import TracebackType
from typing import Any

CODE_FILE = "<python code>"
ANSWER_LIMIT_BYTES = 64 << 20
_TEXT_LIMIT = 16_000

_encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode


class NotJson(Exception):
    """The value cannot be written as JSON; the text says where and why."""


def to_json(value: Any) -> str:
    """JSON text of a value that a function returned."""
    try:
        text = _encode(value)
        size_bytes = len(text) if text.isascii() else len(text.encode())
    except RecursionError:
        raise NotJson("result is nested too deeply, or holds itself") from None
    except (TypeError, ValueError) as error:
        raise NotJson(next(_faults(value, "result", ()), f"result: {error}")) from None
    if size_bytes > ANSWER_LIMIT_BYTES:
        raise NotJson(f"result is {size_bytes >> 20} MB as JSON; at most {ANSWER_LIMIT_BYTES >> 20} MB are taken")
    return text


def failed(error: BaseException, source: str, memory_mb: int) -> dict[str, Any]:
    """The outcome of an exception: what, in which line, with the user's own frames."""
    if isinstance(error, NotJson):
        return {"failure": "invalid_output", "message": str(error)}
    shown = _traceback(error, source)
    if isinstance(error, MemoryError):
        return {"failure": "killed", "message": f"The code went over its memory limit of {memory_mb} MB.", "traceback": shown}
    if isinstance(error, SystemExit):
        return {"failure": "code_error", "message": f"The code called sys.exit({error.code!r}).", "traceback": shown}
    return {"failure": "code_error", "message": _message(error), "traceback": shown}


def _faults(value: Any, path: str, above: tuple[int, ...]) -> Iterator[str]:
    if id(value) in above:
        yield f"{path}: holds itself"
    elif isinstance(value, dict):
        for key, item in value.items():
            if key is not None and not isinstance(key, str | int | float):
                yield f"{path}: a key of type {type(key).__name__} is not JSON ({_short(key)})"
            yield from _faults(item, f"{path}[{_short(key)}]", (*above, id(value)))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _faults(item, f"{path}[{index}]", (*above, id(value)))
    else:
        yield from _leaf_faults(value, path)


def _leaf_faults(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, str):
        if any("\ud800" <= character <= "\udfff" for character in value):
            yield f"{path}: text with a lone surrogate is not UTF-8"
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield f"{path}: {value} is not JSON"
    elif value is not None and not isinstance(value, int):
        yield f"{path}: {type(value).__name__} is not JSON"


def _short(value: object) -> str:
    return repr(value)[:60]


def _message(error: BaseException) -> str:
    import traceback

    *_, last = traceback.TracebackException(type(error), error, None).format_exception_only()
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else _line(error.__traceback__)
    place = f" (line {line})" if line else ""
    return f"{last.strip()[:2000]}{place}"


def _line(at: TracebackType | None) -> int:
    """The innermost line of the user's own code."""
    line = 0
    while at is not None:
        if at.tb_frame.f_code.co_filename == CODE_FILE:
            line = at.tb_lineno
        at = at.tb_next
    return line


def _traceback(error: BaseException, source: str) -> str:
    import linecache
    import traceback

    linecache.cache[CODE_FILE] = (len(source), None, source.splitlines(keepends=True), CODE_FILE)
    at = error.__traceback__
    while at is not None and at.tb_frame.f_code.co_filename != CODE_FILE:
        at = at.tb_next
    text = "".join(traceback.TracebackException(type(error), error, at).format())
    return text if len(text) <= _TEXT_LIMIT else f"{text[:1000]}\n…\n{text[-_TEXT_LIMIT:]}"
