"""Examples: inputs stored under a name, for a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flowgauge.errors import BadInputs
from flowgauge.model.ids import EXAMPLE, new_sid
from flowgauge.model.workflow import Example, Json
from flowgauge.nodes.codec import read_workflow
from flowgauge.nodes.inputs import fit

if TYPE_CHECKING:
    from flowgauge.store import Store


def add_example(
    store: Store, workflow: str, name: str, values: Mapping[str, Json], spoken: Mapping[str, str], *, description: str = ""
) -> tuple[Example, list[str]]:
    """Store inputs; unknown keys are dropped with a warning, wrong types are refused. A name that is there is replaced.

    `values` come typed from a file, `spoken` as text from the command line.
    """
    from flowgauge.define.overrides import parse_assignments

    record = store.get_workflow(workflow)
    version = store.get_version(record.current_version_sid)
    definition = read_workflow(version.content)
    declared = {item.name: item for item in definition.inputs}
    warnings = [f"{key} is no input of {record.name} and was dropped." for key in (*values, *spoken) if key not in declared]
    known = {key: value for key, value in values.items() if key in declared}
    known |= parse_assignments(definition, {key: value for key, value in spoken.items() if key in declared})
    problems = [problem for key, value in known.items() if (problem := fit(declared[key], value)[0])]
    if problems:
        raise BadInputs(f"workflow '{record.name}'", problems)
    example = Example(
        sid=new_sid(EXAMPLE),
        workflow_sid=record.sid,
        workflow_version_sid=version.sid,
        name=name,
        description=description,
        input_values=known,
    )
    return store.add_example(example), warnings
