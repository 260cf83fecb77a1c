"""Examples: inputs stored under a name, for a workflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from flowgauge.errors import BadInputs
from flowgauge.model.workflow import Example, Json
from flowgauge.nodes.codec import read_workflow
from flowgauge.nodes.inputs import misfit

if TYPE_CHECKING:
    from flowgauge.store.store import Store


def add_example(
    store: Store,
    workflow: str,
    name: str,
    values: Mapping[str, Json],
    spoken: Sequence[str] = (),
    *,
    description: str = "",
    replace: bool = False,
) -> tuple[Example, list[str]]:
    """Store inputs; unknown keys are dropped with a warning, wrong types are refused.

    `values` come typed from a file, `spoken` as name=value from the command line. `replace`: in place of one of that name.
    """
    from flowgauge.define.inputs import parse_assignments

    record = store.get_workflow(workflow)
    version = store.get_version(record.current_version_sid)
    definition = read_workflow(version.content)
    declared = {item.name: item for item in definition.inputs}
    said = {pair.partition("=")[0].strip(): pair for pair in spoken}
    warnings = [f"{key} is no input of {record.name} and was dropped." for key in (*values, *said) if key not in declared]
    known = {key: value for key, value in values.items() if key in declared}
    known |= parse_assignments(definition, [pair for key, pair in said.items() if key in declared])
    problems = [problem for key, value in known.items() if (problem := misfit(declared[key], value))]
    if problems:
        raise BadInputs(f"workflow '{record.name}'", problems)
    added = store.add_example(record.sid, name, known, description=description, workflow_version_sid=version.sid, replace=replace)
    return added, warnings
