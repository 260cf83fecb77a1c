"""Bench files become benches, or one BadFile that lists every mistake with its line.

In: a file (or plain values from a program), the target, its workflow where it
is one, and what a command line lays over the file. Out: LoadedBench: a bench
with every default filled in and every case read, and warnings. Every
configuration is laid over the workflow and checked as a whole before anything runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

import msgspec

from flowgauge.define.bench_cases import Casting, name_complaint, read_cases
from flowgauge.define.bench_checks import CheckTypes, Complain, check_names, read_checks
from flowgauge.define.bench_file import BENCH_KEYS, BenchFile, bench_value, normal_value
from flowgauge.define.bench_filters import Filter, chosen_configs, parse_filters
from flowgauge.define.fields import field_names
from flowgauge.define.overrides import override_workflow
from flowgauge.define.shape import check_shape
from flowgauge.documents.document import Way, scan_document
from flowgauge.documents.findings import Findings
from flowgauge.documents.tree import Place
from flowgauge.errors import BadFile
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.bench import Bench, Configuration, Target
from flowgauge.model.problem import Problem
from flowgauge.model.workflow import Workflow

DEFAULT = Configuration(name="default")
_WORKFLOW_KEYS = frozenset(field_names(Workflow))
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


class LoadedBench(msgspec.Struct, frozen=True):
    """A bench as read, and what is odd about it without being wrong."""

    bench: Bench
    warnings: tuple[Problem, ...] = ()
    file: str = ""


class BenchOptions(TypedDict, total=False):
    """What is laid over the file; None and absent leave the file's word."""

    name: str | None
    runs: int | None
    max_concurrency: int | None
    limit: int | None
    seed: int | None
    budget_usd: float | None
    timeout_s: float | None
    cache: bool | None
    tags: Mapping[str, str] | None
    """Added to the file's."""
    filters: Sequence[str]
    check_types: frozenset[str] | None
    """The types of checks that there are; None: any."""
    complain: Complain | None
    """What a type has to say about a check of it."""


def load_bench(path: str | Path | None, target: Target, workflow: Workflow | None = None, **options: Unpack[BenchOptions]) -> LoadedBench:
    """Read and check a bench file; without one, one configuration and one case. Raises BadFile."""
    if path is None:
        return bench_from_value(None, target, workflow, **options)
    document = scan_document(path)
    findings = Findings(document.file, document.find)
    findings.problems.extend(document.problems)
    return _Reading(findings, Path(path).parent, target, workflow, options).bench(document.value)


def bench_from_value(
    value: Any, target: Target, workflow: Workflow | None = None, *, folder: Path | None = None, **options: Unpack[BenchOptions]
) -> LoadedBench:
    """The same for plain values: a whole bench, a list of configurations, or overrides by name. Data sets are looked for in `folder`."""
    findings = Findings("configs", lambda _: Place(0))
    try:
        plain_value = bench_value(value)
    except TypeError as error:
        raise BadFile(
            "configs", [Problem(0, "", f"There is a value that no file could hold: {error}.", "Give text, numbers, lists and mappings.")]
        ) from None
    return _Reading(findings, folder or Path(), target, workflow, options).bench(plain_value)


class _Reading:
    """One file on its way to a bench."""

    def __init__(self, findings: Findings, folder: Path, target: Target, workflow: Workflow | None, options: BenchOptions) -> None:
        self.findings = findings
        self.folder = folder
        self.target = target
        self.workflow = workflow
        self.options = options
        self.declared = None if workflow is None else {item.name: item for item in workflow.inputs}

    def bench(self, value: Any) -> LoadedBench:
        chosen = parse_filters(self.options.get("filters", ()))
        given = _given(self.options)
        if not isinstance(value, dict):
            self.findings.add((), "A bench must be a mapping.", "Begin with `configs:`.")
            self.findings.raise_any()
        value = normal_value(value)
        self._check_shape(value)
        configs = self._configs(value)
        types = CheckTypes(self.folder, self.options.get("check_types"), self.options.get("complain"))
        checks = read_checks(value, types, self.findings)
        cases = read_cases(
            value, self._casting(types, tuple(check.name for check in checks if check.name), chosen, given.get("limit", value.get("limit")))
        )
        if not self.findings.problems:
            check_names(value, cases, self.declared, self.findings)
        self.findings.raise_any()
        configs = chosen_configs(configs, chosen) or (DEFAULT,)
        bench = Bench(target=self.target, configs=configs, cases=cases, checks=checks, **self._settings(value, given))
        return LoadedBench(bench, tuple(self.findings.warnings), self.findings.file)

    def _settings(self, value: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """Converted, so that 60 and 60.0 are the same time limit."""
        written = {key: value[key] for key in _SETTINGS if value.get(key) is not None}
        tags = {**value.get("tags", {}), **given.get("tags", {})}
        whole = msgspec.convert({**written, **given, "tags": tags}, BenchFile)
        settings = {key: getattr(whole, key) for key in _SETTINGS}
        return {**settings, "name": whole.name or self.target.name}

    def _casting(self, types: CheckTypes, names: tuple[str, ...], chosen: Filter, limit: Any) -> Casting:
        return Casting(
            folder=self.folder,
            declared=self.declared,
            types=types,
            check_names=names,
            chosen=chosen,
            limit=limit if isinstance(limit, int) and limit > 0 else None,
            findings=self.findings,
        )

    def _check_shape(self, value: Mapping[str, Any]) -> None:
        for key in value:
            if key in _WORKFLOW_KEYS - BENCH_KEYS:
                self.findings.add(
                    (key,),
                    f"`{key}` belongs in the workflow file.",
                    "Move it there, or write `configs: [{name: …, workflow_overrides: {…}}]`.",
                )
            elif key not in BENCH_KEYS:
                self.findings.add((key,), f"Unknown key '{key}'.", did_you_mean(key, sorted(BENCH_KEYS)))
        check_shape(BenchFile, {key: part for key, part in value.items() if key in BENCH_KEYS}, (), self.findings)

    def _configs(self, value: Mapping[str, Any]) -> tuple[Configuration, ...]:
        items = value.get("configs")
        found: dict[str, Configuration] = {}
        for number, item in enumerate(items if isinstance(items, list) else ()):
            way = ("configs", number)
            if self.findings.has_fault(way):
                continue
            config = msgspec.convert(item, Configuration)
            self._check_name(config.name, found, way)
            self._check_overrides(config, way)
            self._warn_of_twin(config, found, way)
            found.setdefault(config.name, config)
        return tuple(found.values())

    def _check_name(self, name: str, found: Mapping[str, Configuration], way: Way) -> None:
        complaint = name_complaint(name) or (f"Two configurations are called '{name}'." if name in found else "")
        if complaint:
            self.findings.add((*way, "name"), complaint, "Give each configuration a name of its own.")

    def _check_overrides(self, config: Configuration, way: Way) -> None:
        for problem in self._problems(config):
            place = (*way, "workflow_overrides", *_keys(problem.where))
            self.findings.add(place, f"Configuration '{config.name}': {problem.message}", problem.remedy)

    def _problems(self, config: Configuration) -> Iterator[Problem]:
        if self.workflow is not None:
            try:
                override_workflow(self.workflow, config.workflow_overrides, config.name)
            except BadFile as error:
                yield from error.problems
            return
        for key, part in config.workflow_overrides.items():
            if key != "config":
                yield Problem(0, key, f"A {self.target.kind} target takes only `config`.", "Put what it should be handed under `config`.")
            elif not isinstance(part, dict):
                yield Problem(0, key, "Expected a mapping of names to values.", "Write name: value.")

    def _warn_of_twin(self, config: Configuration, found: Mapping[str, Configuration], way: Way) -> None:
        twin = next((name for name, other in found.items() if other.workflow_overrides == config.workflow_overrides), None)
        if twin is not None and twin != config.name:
            self.findings.warn(way, f"'{config.name}' is the same as '{twin}'.", "Right for an A/A test; else change one of them.")


_SETTINGS = ("name", "runs", "max_concurrent_runs", "limit", "seed", "budget_usd", "timeout_s", "cache", "tags")


def _given(options: BenchOptions) -> dict[str, Any]:
    """What is laid over the file's settings, held to the same limits."""
    named = {**options, "max_concurrent_runs": options.get("max_concurrency")}
    given = {key: named[key] for key in _SETTINGS if named.get(key) is not None}
    given.update(tags=dict(options.get("tags") or {}))
    findings = Findings("options", lambda _: Place(0))
    check_shape(BenchFile, given, (), findings)
    findings.raise_any()
    return given


def _keys(where: str) -> Way:
    """`nodes.a.tools[0]` as a way."""
    return tuple(int(number) if number else name for number, name in _STEP.findall(where))
