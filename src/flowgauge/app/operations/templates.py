"""Workflows that come with the product."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from flowgauge.app.made_workflows import Template, add_template, templates
from flowgauge.app.operations.operation import Nothing, Operation, Params, about
from flowgauge.app.operations.workflows import WorkflowSaved, saved_view

if TYPE_CHECKING:
    from flowgauge.app.host import Host


class Templates(msgspec.Struct, frozen=True, kw_only=True):
    """All of them, by name."""

    items: tuple[Template, ...]


class FromTemplate(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which template."""

    name: Annotated[str, Meta(min_length=1, max_length=128, description="As template_list has it; the workflow is called the same.")]
    make_current: Annotated[bool, Meta(description="Put it in use also where a workflow of that name has another version in use.")] = False


async def template_list(_host: Host, _params: Nothing) -> Templates:
    """They are few: there are no pages."""
    return Templates(items=await asyncio.to_thread(templates))


async def workflow_from_template(host: Host, params: FromTemplate) -> WorkflowSaved:
    """Asked for again, it is there already."""
    with about("name"):
        saved = await asyncio.to_thread(add_template, host.store, params.name, make_current=params.make_current)
    return await asyncio.to_thread(saved_view, saved)


ROWS = (
    Operation(
        name="template_list",
        scope="read",
        params=Nothing,
        result=Templates,
        run=template_list,
        summary="The workflows that come with Flowgauge.",
    ),
    Operation(
        name="workflow_from_template",
        scope="run",
        params=FromTemplate,
        result=WorkflowSaved,
        run=workflow_from_template,
        summary="Store a workflow that comes with Flowgauge, such as benchmark_flow, so that it can be played.",
    ),
)
