"""Workflows made from templates: what there is, and storing one.

A template that is stored is a workflow like any other, to be changed and saved
as versions. One that was stored before is left as it is: the version in use is
its user's choice, also where the product brings a newer state of the template.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.templates import TEMPLATES, template_text
from flowgauge.app.workflows import Saved, save_workflow
from flowgauge.model.workflow import InputDecl

if TYPE_CHECKING:
    from flowgauge.model.workflow import Workflow
    from flowgauge.store.store import Store


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow that comes with the product."""

    name: str
    description: str
    inputs: tuple[InputDecl, ...]


def templates() -> tuple[Template, ...]:
    """All of them, by name."""
    read = ((name, _read(name)) for name in TEMPLATES)
    return tuple(Template(name=name, description=workflow.description, inputs=workflow.inputs) for name, workflow in read)


def add_template(store: Store, name: str, *, make_current: bool = False) -> Saved:
    """Store a template as a workflow of its name. Where there is one, the version in use stays, unless asked for. Raises NotFound."""
    return save_workflow(store, _read(name), make_current=make_current)


def _read(name: str) -> Workflow:
    from flowgauge.define.workflow import parse_workflow_text

    return parse_workflow_text(template_text(name)).workflow
