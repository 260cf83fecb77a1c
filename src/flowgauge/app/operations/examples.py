"""Examples: stored inputs of workflows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from flowgauge.app.examples import add_example
from flowgauge.app.operations.operation import Done, Operation, Paged, Params, about
from flowgauge.app.operations.workflows import WorkflowRef
from flowgauge.model.workflow import Example, Json
from flowgauge.store.page import Page

if TYPE_CHECKING:
    from flowgauge.app.host import Host

ExampleRef = Annotated[str, Meta(min_length=1, description="An example's sid, or its name.")]


class ExampleList(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of which workflow."""

    workflow_sid: WorkflowRef


class ExampleGet(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which example of which workflow."""

    workflow_sid: WorkflowRef
    sid: ExampleRef


class ExampleSet(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Inputs under a name."""

    workflow_sid: WorkflowRef
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    input_values: Annotated[dict[str, Json], Meta(description="By input. What the workflow does not declare is dropped with a warning.")]
    description: str = ""


class ExampleSaved(Example, frozen=True, kw_only=True):
    """An example after it was saved."""

    warnings: tuple[str, ...] = ()


async def example_list(host: Host, params: ExampleList) -> Page[Example]:
    """By name."""
    return await asyncio.to_thread(host.store.list_examples, params.workflow_sid, params.cursor or None, params.limit)


async def example_get(host: Host, params: ExampleGet) -> Example:
    """Raises NotFound."""
    return await asyncio.to_thread(host.store.get_example, params.workflow_sid, params.sid)


async def example_set(host: Host, params: ExampleSet) -> ExampleSaved:
    """One of that name is replaced, and keeps its sid."""
    with about("input_values"):
        saved, warnings = await asyncio.to_thread(
            add_example, host.store, params.workflow_sid, params.name, params.input_values, description=params.description, replace=True
        )
    return ExampleSaved(**{name: getattr(saved, name) for name in saved.__struct_fields__}, warnings=tuple(warnings))


async def example_delete(host: Host, params: ExampleGet) -> Done:
    """Raises NotFound."""
    found = await asyncio.to_thread(host.store.get_example, params.workflow_sid, params.sid)
    await asyncio.to_thread(host.store.delete_example, params.workflow_sid, found.sid)
    return Done(sid=found.sid, message=f"The example {found.name} is deleted.")


ROWS = (
    Operation(
        name="example_list",
        scope="read",
        params=ExampleList,
        result=Page[Example],
        run=example_list,
        summary="The examples of a workflow, by name.",
    ),
    Operation(name="example_get", scope="read", params=ExampleGet, result=Example, run=example_get, summary="One example."),
    Operation(
        name="example_set",
        scope="run",
        params=ExampleSet,
        result=ExampleSaved,
        run=example_set,
        summary="Store inputs under a name, or change those that stand under it.",
    ),
    Operation(name="example_delete", scope="admin", params=ExampleGet, result=Done, run=example_delete, summary="Delete an example."),
)
