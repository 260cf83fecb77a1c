"""Call an operation by its name: plain values in, plain values out.

JSON-RPC, MCP and `operation` nodes come this way, so that one check of the
parameters serves them all. Raises NotFound for an unknown name and
BadParameter, with the field, for what does not fit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import msgspec

from flowgauge.app.operations.misfits import in_words
from flowgauge.app.operations.operation import Operation, Params
from flowgauge.app.operations.table import OPERATIONS
from flowgauge.errors import BadParameter, NotAllowed, NotFound
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.service import SCOPES, Scope
from flowgauge.model.workflow import Json

if TYPE_CHECKING:
    from flowgauge.app.host import Host

_PLACE = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")
_NAMED = re.compile(r"(?:missing required|contains unknown) field `(?P<name>[^`]+)`")


def find_operation(name: str) -> Operation:
    """Raises NotFound with the nearest name."""
    operation = OPERATIONS.get(name)
    if operation is None:
        raise NotFound(f"There is no operation '{name}'. {did_you_mean(name, OPERATIONS)}".rstrip(), remedy="See: rpc.discover")
    return operation


def read_params(operation: Operation, values: Mapping[str, Json]) -> Params:
    """The typed parameters. Raises BadParameter."""
    try:
        return msgspec.convert(values, operation.params, strict=True)
    except msgspec.ValidationError as error:
        raise _bad(operation, str(error)) from error


async def call(host: Host, name: str, values: Mapping[str, Json], *, scope: Scope = "admin") -> Any:
    """The result as plain values: what JSON can hold. Raises NotAllowed for what needs more than the scope of whoever calls."""
    operation = find_operation(name)
    if SCOPES.index(scope) < SCOPES.index(operation.scope):
        raise NotAllowed(f"{name} needs the scope {operation.scope}, and is called with {scope}.", remedy="Call it from outside.")
    return msgspec.json.decode(msgspec.json.encode(await operation.run(host, read_params(operation, values))))


def _bad(operation: Operation, told: str) -> BadParameter:
    """Msgspec says what is wrong and where; the where is the field."""
    place, named = _PLACE.search(told), _NAMED.search(told)
    path = place["path"] if place else ""
    if named:
        path = f"{path}.{named['name']}" if path else named["name"]
    what = _PLACE.sub("", told)
    known = ", ".join(field.encode_name for field in msgspec.structs.fields(operation.params)) or "none"
    where = f"Parameter '{path}' of" if path else "The parameters of"
    words = _choices(operation, path)
    remedy = f"It takes {', '.join(words)}." if words and not named else f"Parameters: {known}."
    return BadParameter(path, f"{where} {operation.name}: {in_words(what)}.", remedy=remedy)


def _choices(operation: Operation, path: str) -> tuple[str, ...]:
    """The words of a parameter that takes only some."""
    hint = next((field.type for field in msgspec.structs.fields(operation.params) if field.encode_name == path), None)
    return next((get_args(each) for each in (hint, *get_args(hint)) if get_origin(each) is Literal), ())
