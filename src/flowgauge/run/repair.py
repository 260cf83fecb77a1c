"""Code that failed is given to the node on call, and what it answers is tried next.

Each repair is a node run of its own, `id/repair[1]`, stored before the repaired
code runs, so that a play that is taken up again goes on with the better code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from flowgauge.errors import Failed
from flowgauge.model.play import Failure
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import UNFORGIVING, fail
from flowgauge.nodes.output import fenced_code
from flowgauge.nodes.python import FAILING, REPAIRED, PythonNode, source_of
from flowgauge.run.graph import Vertex
from flowgauge.run.history import Past

if TYPE_CHECKING:
    from flowgauge.run.playing import Playing


async def repair(
    playing: Playing, vertex: Vertex, path: str, scope: Mapping[str, Json], memory: dict[str, Any], attempt: int, failure: Failure
) -> None:
    """Leave better code in `memory`. Where that fails, the node has failed for good, by its own failure."""
    from flowgauge.run.attempts import try_node

    helper = vertex.helper
    if helper is None or FAILING not in memory:
        return
    error_text = f"{failure.message}\n{failure.detail}".strip()
    wider = {**scope, "repair": {"code": memory[FAILING], "error": error_text}}
    try:
        memory[REPAIRED] = _code_in(await try_node(playing, helper, f"{path}/repair[{attempt}]", wider), helper.id)
    except Failed as error:
        if error.failure.kind in UNFORGIVING:
            raise
        message = f"{failure.message} The repair by {helper.id} failed too: {error.failure.message}"
        raise Failed(msgspec.structs.replace(failure, message=message)) from error


async def recall_repair(playing: Playing, vertex: Vertex, path: str, scope: Mapping[str, Json], memory: dict[str, Any], past: Past) -> None:
    """Take up the repairs of an earlier run: the newest code that was stored, and a repair that was due and is not there."""
    done = playing.history.done
    latest = next((number for number in range(past.attempt, 0, -1) if f"{path}/repair[{number}]" in done), 0)
    if latest and vertex.helper is not None:
        memory[REPAIRED] = _code_in(done[f"{path}/repair[{latest}]"], vertex.helper.id)
    due = past.failure is not None and past.failure.kind in vertex.retry.on
    if due and latest < past.attempt and isinstance(vertex.node, PythonNode):
        fields = {name: value.render(scope) for name, value in vertex.fields}
        memory[FAILING] = source_of(vertex.node, fields, memory)
        assert past.failure is not None
        await repair(playing, vertex, path, scope, memory, past.attempt, past.failure)


def _code_in(output: Json, helper_id: str) -> str:
    code = fenced_code(str(output["text"]))
    if not code.strip():
        raise fail("invalid_output", f"{helper_id} answered without code.")
    return code
