"""`call`: the user's own trusted function, in this process.

A coroutine function runs on the event loop and is cancelled at its time-out. A
plain function runs in a thread, which python cannot kill: at its time-out the
node fails and the thread is left to end by itself. Use `python` or `command`
for code that may hang.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from flowgauge.errors import Failed
from flowgauge.model.workflow import Json, Node
from flowgauge.nodes.context import Context, fail
from flowgauge.nodes.kind import Complaint, Kind
from flowgauge.nodes.output import as_json
from flowgauge.nodes.thread import in_thread


class CallNode(Node, frozen=True, kw_only=True, tag="call", tag_field="type"):
    """Call a function of your own package, in this process."""

    function: Annotated[str, Meta(description="package.module:function, sync or async.")]
    arguments: Annotated[dict[str, Json], Meta(description="Arguments by name; templates.")] = msgspec.field(
        name="with", default_factory=dict
    )


def check(node: CallNode) -> Iterable[Complaint]:
    """The name must have the form module:function; whether it exists is seen when it runs."""
    module, colon, name = node.function.partition(":")
    if not (colon and all(part.isidentifier() for part in [*module.split("."), *name.split(".")])):
        yield Complaint("function", f"'{node.function}' does not name a function.", "Write package.module:function.")


async def run(node: CallNode, fields: Mapping[str, Json], _context: Context) -> Json:
    """The function's answer: its object as it is, anything else as {value: …}."""
    function, is_async = _import(node.function)
    try:
        if is_async:
            value = await function(**fields["with"])
        else:
            value = await in_thread(function, fields["with"])
            if inspect.isawaitable(value):
                value = await value
    except Failed:
        raise
    except Exception as error:  # whatever the user's code raises is that node's failure
        tail = "".join(traceback.format_exception(error)[-6:])
        raise fail("code_error", f"{node.function} raised {type(error).__name__}: {error}", detail=tail[-4000:]) from error
    if value is None or value is True or value is False:
        return {"value": value}
    result = as_json(value, node.function)
    return result if isinstance(result, dict) else {"value": result}


@functools.lru_cache(maxsize=256)
def _import(name: str) -> tuple[Callable[..., Any], bool]:
    module_name, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise fail("code_error", f"Cannot find {name}: {error}. Is the package installed, or the folder on PYTHONPATH?") from error
    if not callable(found):
        raise fail("code_error", f"{name} is not a function.")
    return found, inspect.iscoroutinefunction(found)


KIND = Kind(
    struct=CallNode,
    run=run,
    summary="Call a function of your own package, in this process.",
    templates=("with",),
    check=check,
    retry_on=frozenset({"timeout", "code_error"}),
)
