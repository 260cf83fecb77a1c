"""Scenario files become scenarios, or one BadFile that lists every mistake with its line.

In: a file and who knows stored workflows. Out: LoadedScenario: rows whose
functions exist, whose workflows are whole and whose inputs fit. No code of the
scenario is run here: it is only looked at.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from flowgauge.define.schema import DIALECT
from flowgauge.define.shape import check_shape
from flowgauge.define.workflow import load_workflow
from flowgauge.documents.document import Way, scan_document
from flowgauge.documents.findings import Findings
from flowgauge.errors import BadFile, BadInputs, NotFound
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.workflow import Config, Workflow
from flowgauge.nodes.inputs import checked_inputs
from flowgauge.perf.loading import is_file, split_reference
from flowgauge.perf.model import Scenario

FILE_ENDINGS = (".yaml", ".yml", ".json")
_OF_AGENTS = ("environment", "allow")
_FUNCTIONS = ("agent", "environment", "validator")


class PlayedWorkflow(msgspec.Struct, frozen=True, kw_only=True):
    """What a row plays, and the stored workflows that it names."""

    workflow: Workflow
    others: dict[str, Workflow] = {}


Lookup = Callable[[str], PlayedWorkflow]
"""A stored workflow by NAME or NAME@VERSION. Raises NotFound."""


class LoadedScenario(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario as read."""

    scenario: Scenario
    folder: Path
    file: str
    workflows: dict[int, PlayedWorkflow]
    """By row."""


def load_scenario(path: str | Path, lookup: Lookup) -> LoadedScenario:
    """Read and check a scenario file. Raises BadFile."""
    document = scan_document(path)
    findings = Findings(document.file, document.find)
    findings.problems.extend(document.problems)
    if not isinstance(document.value, dict):
        findings.add((), "A scenario must be a mapping.", "Begin with `name:` and `rows:`.")
        findings.raise_any()
    check_shape(Scenario, document.value, (), findings, ("name", "rows"))
    reading = _Reading(findings, Path(path).resolve().parent, lookup)
    rows = document.value.get("rows")
    for number, row in enumerate(rows if isinstance(rows, list) else ()):
        if isinstance(row, dict):
            reading.row(row, number)
    findings.raise_any()
    scenario = msgspec.convert(document.value, Scenario)
    return LoadedScenario(scenario=scenario, folder=reading.folder, file=document.file, workflows=reading.workflows)


def scenario_json_schema() -> dict[str, Any]:
    """For editors: `flowgauge schema perf-scenario` prints it."""
    _, parts = msgspec.json.schema_components([Scenario], ref_template="#/$defs/{name}")
    return {"$schema": DIALECT, "title": "Flowgauge perf scenario", **parts.pop("Scenario"), "$defs": dict(sorted(parts.items()))}


class _Reading:
    """One file on its way to a scenario."""

    def __init__(self, findings: Findings, folder: Path, lookup: Lookup) -> None:
        self.findings = findings
        self.folder = folder
        self.workflows: dict[int, PlayedWorkflow] = {}
        self._lookup = lookup
        self._defined: dict[Path, dict[str, bool] | None] = {}

    def row(self, row: Mapping[str, Any], number: int) -> None:
        """Whatever of it has its shape is looked at, also where the rest has not."""
        way: Way = ("rows", number)
        if bool(row.get("agent")) == bool(row.get("workflow")):
            self.findings.add(way, "A row runs an agent or a workflow.", "Give exactly one of `agent:` and `workflow:`.")
        for field in _FUNCTIONS:
            if (reference := row.get(field)) and self._has_shape((*way, field)):
                self._function(reference, (*way, field))
        if row.get("workflow") and row.get("agent"):
            return
        for field in _OF_AGENTS if row.get("workflow") else ("config",):
            if row.get(field):
                whose = "an agent" if row.get("workflow") else "a workflow"
                self.findings.add((*way, field), f"'{field}' is for rows with {whose}.", "Remove it.")
        if row.get("workflow") and self._has_shape((*way, "workflow")):
            self._workflow(row, number)

    def _has_shape(self, way: Way) -> bool:
        return not self.findings.has_fault(way)

    def _function(self, reference: str, way: Way) -> None:
        place, name = split_reference(reference)
        if not place or not name.isidentifier():
            self.findings.add(way, f"'{reference}' names no function.", "Write file.py:function or package.module:function.")
            return
        if not is_file(reference):
            return
        names = self._names(self.folder / place, way)
        if names is not None and name not in names:
            own = sorted(known for known, is_own in names.items() if is_own)
            self.findings.add(way, f"{place} defines no '{name}'.", did_you_mean(name, own))

    def _names(self, path: Path, way: Way) -> dict[str, bool] | None:
        """What a file defines; None where that cannot be said, which is told."""
        if path not in self._defined:
            self._defined[path] = None
            try:
                self._defined[path] = dict(_top_names(ast.parse(path.read_bytes())))
            except OSError as error:
                self.findings.add(way, f"{path.name} cannot be read: {error.strerror}.", "Paths start at the scenario's folder.")
            except (SyntaxError, ValueError) as error:
                line = getattr(error, "lineno", None)
                self.findings.add(way, f"{path.name}{f':{line}' if line else ''} is no Python: {error}.", "Correct the file.")
        return self._defined[path]

    def _workflow(self, row: Mapping[str, Any], number: int) -> None:
        way: Way = ("rows", number)
        if (played := self._played(row["workflow"], (*way, "workflow"))) is None:
            return
        if self._has_shape((*way, "inputs")) and self._has_shape((*way, "seed")):
            self._inputs(played.workflow, row.get("inputs", {}), row.get("seed", 0), (*way, "inputs"))
        if self._has_shape((*way, "config")):
            check_shape(Config, row.get("config", {}), (*way, "config"), self.findings)
        self.workflows[number] = played

    def _inputs(self, workflow: Workflow, inputs: Mapping[str, Any], seed: int, way: Way) -> None:
        takes_seed = any(item.name == "seed" for item in workflow.inputs)
        try:
            checked_inputs(workflow, {"seed": seed, **inputs} if takes_seed else dict(inputs))
        except BadInputs as error:
            for problem in error.problems:
                self.findings.add(way, problem)

    def _played(self, reference: str, way: Way) -> PlayedWorkflow | None:
        try:
            if not reference.endswith(FILE_ENDINGS):
                return self._lookup(reference)
            return PlayedWorkflow(workflow=load_workflow(self.folder / reference).workflow)
        except NotFound as error:
            self.findings.add(way, error.message, error.remedy or "Name a file, or what `flowgauge workflow list` shows.")
        except BadFile as error:
            for problem in error.problems:
                self.findings.add(way, f"{reference}:{problem}")
        return None


def _top_names(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """What a module names at its top; true: it is a function or class of its own."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, True
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name, False) for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((target.id, False) for target in targets if isinstance(target, ast.Name))
