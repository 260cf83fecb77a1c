"""`map`: the same node over a list, several at a time.

The node under `each` sees `item` and `index`. Every item is a node run of its
own (`id[3]`), so that after a crash only unfinished items run again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta

from flowgauge.errors import Failed
from flowgauge.lang.path import kind_of
from flowgauge.model.workflow import Json, Node
from flowgauge.nodes.context import UNFORGIVING, Context, fail
from flowgauge.nodes.kind import Complaint, Kind
from flowgauge.nodes.together import together


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
    """{items, count, failed}: the outputs in the list's order. At a failure that ends it, items under way are finished."""
    items = fields["over"]
    if not isinstance(items, list | tuple):
        raise fail("template", f"`over` must be a list and is {kind_of(items)}.")
    results: list[Json] = [None] * len(items)
    waiting = iter(enumerate(items))
    failures: list[Failed] = []
    ends: list[Failed] = []

    async def worker() -> None:
        for index, item in waiting:
            try:
                results[index] = await context.play.run_body(context, f"{context.node_id}[{index}]", {"item": item, "index": index})
            except Failed as error:
                failures.append(error)
                if node.on_item_failure == "fail" or error.failure.kind in UNFORGIVING:
                    ends.append(error)
            if ends:
                return

    await together(worker() for _ in range(min(node.concurrency, len(items))))
    if ends:
        raise ends[0]
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
