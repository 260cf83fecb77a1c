"""`map`: the same node over a list, several at a time.

The node under `each` sees `item` and `index`. Every item is a node run of its
own (`id[3]`), so that after a crash only unfinished items run again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta

from flowgauge.errors import Failed
from flowgauge.model.workflow import Json, Node
from flowgauge.nodes.context import Context, fail
from flowgauge.nodes.kind import Complaint, Kind


class MapNode(Node, frozen=True, kw_only=True, tag="map", tag_field="type"):
    """Run one node for every item of a list."""

    over: Annotated[Json, Meta(description="A list, or a template that names one.")]
    each: Annotated[dict[str, Any], Meta(description="The node to run, without an id; sees {{ item }} and {{ index }}.")]
    concurrency: Annotated[int, Meta(ge=1, le=1000)] = 4
    on_item_failure: Annotated[Literal["fail", "keep"], Meta(description="keep: a failed item is null, the others count.")] = "fail"


def check(node: MapNode) -> Iterable[Complaint]:
    """An item's node has no place in the graph of its own."""
    for name in ("id", "needs"):
        if name in node.each:
            yield Complaint(f"each.{name}", f"The node under `each` takes no `{name}`.", "Remove it.")


async def run(node: MapNode, fields: Mapping[str, Json], context: Context) -> Json:
    """{items, count, failed}: the outputs in the list's order."""
    from flowgauge.nodes.codec import node_from_value

    items = fields["over"]
    if not isinstance(items, list):
        raise fail("template", f"`over` must be a list and is {type(items).__name__}.")
    body = node_from_value(node.each)
    slots = asyncio.Semaphore(node.concurrency)
    results: list[Json] = [None] * len(items)
    failures: list[Failed] = []

    async def one(index: int, item: Json) -> None:
        async with slots:
            if failures and node.on_item_failure == "fail":
                return
            try:
                results[index] = await context.play.run_body(body, f"{context.node_id}[{index}]", context, {"item": item, "index": index})
            except Failed as error:
                failures.append(error)

    async with asyncio.TaskGroup() as group:
        for index, item in enumerate(items):
            group.create_task(one(index, item))
    if failures and node.on_item_failure == "fail":
        raise failures[0]
    return {"items": results, "count": len(items), "failed": len(failures)}


KIND = Kind(
    struct=MapNode,
    run=run,
    summary="Run one node for every item of a list.",
    templates=("over",),
    outputs=("items", "count", "failed"),
    check=check,
    retry_on=frozenset(),
    body="each",
)
