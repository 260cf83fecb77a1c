"""Inputs made up for a workflow: what a model is asked for, and whether what came back can be used.

Pure: declarations and examples in, JSON Schemas and checked input sets out. A
schema names every declared input with its type; what an object or a list holds
inside is read off its default and the examples, because a declaration does not
say. A set that does not fit the declarations is refused, and so is a number of
sets that was not asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from flowgauge.errors import BadInputs, BadParameter
from flowgauge.model.workflow import InputDecl, Json, Workflow
from flowgauge.nodes.inputs import checked_inputs, fits

SETS = "sets"
"""Under this name a model's answer holds its input sets."""
BATCH = 10
"""Input sets in one answer: more of them, and models lose count or run out of room."""
_DEEPEST = 6
_MOST_NAMES = 50


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is asked for at once."""

    first: int
    """The number of its first set, from 1."""
    last: int
    count: int
    schema: dict[str, Json]
    """Of the answer: {sets: [{input: value}]}."""


def batches(declared: Sequence[InputDecl], examples: Sequence[Mapping[str, Json]], count: int) -> tuple[Batch, ...]:
    """So many sets, in answers of bearable size; none where nothing is declared, because then there is nothing to make up."""
    if not declared:
        return ()
    one_set = set_schema(declared, examples)
    made = []
    for first in range(1, count + 1, BATCH):
        last = min(first + BATCH - 1, count)
        size = last - first + 1
        made.append(Batch(first=first, last=last, count=size, schema=answer_schema(one_set, size)))
    return tuple(made)


def answer_schema(one_set: Mapping[str, Json], count: int) -> dict[str, Json]:
    """Exactly so many sets, and nothing else."""
    listed = {"type": "array", "minItems": count, "maxItems": count, "items": one_set}
    return {"type": "object", "properties": {SETS: listed}, "required": [SETS], "additionalProperties": False}


def set_schema(declared: Sequence[InputDecl], examples: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """One value for every declared input: a set that leaves none out exercises them all, and providers can be held to it."""
    properties = {item.name: _declared(item, [example[item.name] for example in examples if item.name in example]) for item in declared}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def fitting(declared: Sequence[InputDecl], examples: Iterable[Mapping[str, Json]]) -> list[dict[str, Json]]:
    """What of the examples still fits: they may have been stored for another version."""
    kinds = {item.name: item.type for item in declared}
    kept = ({name: value for name, value in example.items() if name in kinds and fits(value, kinds[name])} for example in examples)
    return [example for example in kept if example]


def checked_sets(workflow: Workflow, sets: Sequence[Mapping[str, Json]], count: int) -> tuple[dict[str, Json], ...]:
    """As plays will be given them. Raises BadParameter for the first that does not fit, or where there are not so many."""
    if not workflow.inputs and not sets:
        return ({},) * count
    if count not in (0, len(sets)):
        raise BadParameter(
            "input_sets", f"There are {len(sets)} input sets, and {count} were asked for.", remedy="Give as many as num_runs."
        )
    checked = []
    for number, values in enumerate(sets):
        try:
            checked_inputs(workflow, values)
        except BadInputs as error:
            raise BadParameter(f"input_sets[{number}]", str(error), remedy="See: workflow_get, inputs.") from error
        checked.append(dict(values))
    return tuple(checked)


def _declared(item: InputDecl, seen: list[Json]) -> dict[str, Json]:
    if item.default is not msgspec.UNSET and item.default is not None:
        seen = [item.default, *seen]
    shape = _shape([value for value in seen if fits(value, item.type)], 1) if item.type in ("object", "array") and seen else {}
    described = {"description": item.description} if item.description else {}
    return {**shape, "type": item.type, **described}


def _shape(seen: Sequence[Json], depth: int) -> dict[str, Json]:
    """A schema of what was seen; open where that says nothing, or differs."""
    kinds = {_kind(value) for value in seen}
    kind = kinds.pop() if len(kinds) == 1 else "number" if kinds == {"integer", "number"} else None
    if kind is None or depth > _DEEPEST:
        return {}
    if kind == "object":
        return {"type": "object", **_properties(seen, depth)}
    if kind == "array":
        items = _shape([entry for value in seen for entry in value], depth + 1)
        return {"type": "array", "items": items} if items else {"type": "array"}
    return {"type": kind}


def _properties(seen: Sequence[Mapping[str, Json]], depth: int) -> dict[str, Json]:
    names = dict.fromkeys(name for value in seen for name in value)
    if not names or len(names) > _MOST_NAMES:
        return {}
    shapes = {name: _shape([value[name] for value in seen if name in value], depth + 1) for name in names}
    return {"properties": shapes, "required": [name for name in names if all(name in value for value in seen)]}


def _kind(value: Json) -> str | None:
    return next((kind for kind in ("boolean", "integer", "number", "string", "object", "array") if fits(value, kind)), None)
