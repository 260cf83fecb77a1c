"""Random declarations of inputs, and whether what benchmark_flow makes up for them fits."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
from hypothesis import strategies as st
from tests.app.flows import INSTANT, Operations, flow_benchmark

from flowgauge.model.workflow import InputDecl, Workflow
from flowgauge.nodes.inputs import checked_inputs

EXAMPLES = 200
_NUMBERS = itertools.count()
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | TEXT
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT.filter(bool), inner, max_size=3), max_leaves=6
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXT,
    "number": st.floats(-1e9, 1e9) | st.integers(-(2**53), 2**53),
    "integer": st.integers(-(2**53), 2**53),
    "boolean": st.booleans(),
    "object": st.dictionaries(TEXT.filter(bool), JSON, max_size=4),
    "array": st.lists(JSON, max_size=4),
}
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,15}", fullmatch=True)


@st.composite
def declarations(draw: st.DrawFn) -> dict[str, Any]:
    """Inputs of a workflow with every type, some with defaults, and some examples that give values to some of them."""
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    declared = []
    for name in names:
        kind = draw(st.sampled_from(sorted(VALUES)))
        one: dict[str, Any] = {"name": name, "type": kind, "required": draw(st.booleans()), "description": draw(TEXT)}
        if draw(st.booleans()):
            one["default"] = draw(VALUES[kind])
        declared.append(one)
    seeds = st.fixed_dictionaries({}, optional={one["name"]: VALUES[one["type"]] for one in declared})
    return {"inputs": declared, "examples": draw(st.lists(seeds.filter(bool), max_size=2)), "count": draw(st.integers(1, 4))}


def read(declared: list[dict[str, Any]]) -> Workflow:
    return Workflow(name="target", inputs=tuple(msgspec.convert(one, InputDecl) for one in declared))


async def check_flow(host: Operations, config: dict[str, Any], case: dict[str, Any]) -> None:
    """Play benchmark_flow for a declaration, and hold every input set to it."""
    node = {"id": "said", "type": "ai", "prompt": "Say yes."}
    definition = {"name": f"target-{next(_NUMBERS)}", "inputs": case["inputs"], "config": INSTANT, "nodes": [node]}
    target = await host.call("workflow_set", {"definition": definition})
    for number, values in enumerate(case["examples"]):
        await host.call("example_set", {"workflow_sid": target["sid"], "name": f"example {number}", "input_values": values})
    benchmark = await flow_benchmark(host, config=config, target_workflow_sid=target["sid"], num_runs=case["count"])
    assert (benchmark["num_runs"], benchmark["success_rate"]) == (case["count"], 100.0)
    assert benchmark["workflow_version_sid"] == target["version"]["sid"]
    workflow = read(case["inputs"])
    for run in benchmark["runs"]:
        checked_inputs(workflow, run["input_values"])
        assert set(run["input_values"]) == {one["name"] for one in case["inputs"]}, "every input is exercised"
