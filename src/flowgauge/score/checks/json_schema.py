"""`json_schema`: the value fits a JSON Schema (draft 2020-12). Text is read as JSON first. Nothing is fetched.

A schema whose patterns may backtrack without end, and large values, are
checked in a worker process under a time limit.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Iterable, Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from flowgauge.errors import Failed
from flowgauge.model.bench import CheckSpec
from flowgauge.model.ports import Job
from flowgauge.model.workflow import Json
from flowgauge.nodes.ai import schema_problem
from flowgauge.nodes.context import Services, fail
from flowgauge.nodes.kind import Complaint
from flowgauge.score.check import PASSED, Check, Evidence, Finding, Measure, Options, wrong
from flowgauge.score.checks.regex import IN_PLACE_STEPS
from flowgauge.score.path import read_json
from flowgauge.score.pattern import worst_steps
from flowgauge.score.sandboxed import run_job
from flowgauge.score.templates import holds_template
from flowgauge.score.words import cut, shown

IN_PLACE_CHARS = 50_000
_SHOWN_ERRORS = 5
_CODE = """
def errors(schema, value):
    import jsonschema
    from referencing import Registry

    validator = jsonschema.Draft202012Validator(schema, registry=Registry())
    found = []
    for error in validator.iter_errors(value):
        found.append([error.json_path, error.message[:200]])
        if len(found) == 5:
            break
    return found
"""


class JsonSchemaOptions(Options, frozen=True, kw_only=True):
    """How the value is read."""

    parse: Annotated[bool, Meta(description="Text is read as JSON, with or without a fence around it.")] = True
    timeout_s: Annotated[float, Meta(gt=0, le=600, description="A check that takes longer is an error of the check.")] = 10.0


def prepare(options: JsonSchemaOptions, value: Json) -> Measure:
    """`value` is the schema."""
    if not isinstance(value, dict):
        raise fail("template", f"A JSON Schema is an object, not {shown(value)}.")
    validator = _validator(msgspec.json.encode(value, order="sorted"))
    patterns = tuple(_patterns(value))

    def measure(found: Json, evidence: Evidence) -> Finding | Awaitable[Finding]:
        length = len(found) if isinstance(found, str) else len(msgspec.json.encode(found))
        if isinstance(found, str) and options.parse:
            try:
                found = read_json(found, "The value")
            except Failed as error:
                return wrong(error.failure.message)
        if length > IN_PLACE_CHARS or any(worst_steps(pattern, length) > IN_PLACE_STEPS for pattern in patterns):
            return _apart(options, value, found, evidence.services)
        return _finding(_errors(validator, found))

    return measure


async def _apart(options: JsonSchemaOptions, schema: Json, value: Json, services: Services) -> Finding:
    arguments = {"schema": schema, "value": value}
    return _finding(await run_job(services, Job(code=_CODE, function="errors", arguments=arguments, timeout_s=options.timeout_s)))


def _errors(validator: Any, value: Json) -> list[tuple[str, str]]:
    from referencing.exceptions import Unresolvable

    try:
        return [(error.json_path, error.message) for error, _ in zip(validator.iter_errors(value), range(_SHOWN_ERRORS), strict=False)]
    except Unresolvable as error:
        raise fail("template", f"The schema refers to {error.ref}, which is not in it. Put it under $defs.") from error


def _finding(errors: Iterable[tuple[str, str]]) -> Finding:
    listed = "; ".join(f"{path}: {cut(message, 200)}" for path, message in errors)
    return wrong(f"It does not fit the schema: {listed}.") if listed else PASSED


def _patterns(schema: Json) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        if isinstance(schema.get("patternProperties"), dict):
            yield from schema["patternProperties"]
        for below in schema.values():
            yield from _patterns(below)
    elif isinstance(schema, list | tuple):
        for below in schema:
            yield from _patterns(below)


@functools.lru_cache(maxsize=256)
def _validator(schema: bytes) -> Any:
    import jsonschema
    from referencing import Registry

    decoded = msgspec.json.decode(schema)
    if problem := schema_problem(decoded):
        raise fail("template", f"Not a JSON Schema: {problem}.")
    # A registry of its own: without one, a $ref to a URL would be fetched.
    registry: Any = Registry()
    return jsonschema.Draft202012Validator(decoded, registry=registry)


def problems(spec: CheckSpec, options: JsonSchemaOptions) -> Iterable[Complaint]:
    """The schema must be one."""
    if holds_template(spec.value):
        return
    try:
        prepare(options, spec.value)
    except Failed as error:
        yield Complaint("value", error.failure.message, "See json-schema.org for its words.")


CHECK = Check(options=JsonSchemaOptions, prepare=prepare, summary="The value fits a JSON Schema.", problems=problems)
