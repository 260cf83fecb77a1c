"""A bench's rows → its summary: every cell, configuration and node, leads, front, agreement.

Rows are read once and in any order; the result does not depend on it. Memory
grows by some 40 bytes a trial and a few hundred a cell, whatever the models said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from flowgauge.aggregate.agreement import Gold, agreements, gold_of
from flowgauge.aggregate.leads import Contender, front, leads, quality_race
from flowgauge.aggregate.nodes import node_stats
from flowgauge.aggregate.notes import notes_of
from flowgauge.aggregate.rows import AnyRow, TrialRow
from flowgauge.aggregate.tally import Tally, Weighing
from flowgauge.model.bench import Bench, BenchRecord, CheckSpec, check_names, score_scale
from flowgauge.model.benchmark import BenchSummary, Cell, ConfigurationStats

_Tallies = dict[str, dict[str, Tally]]
"""By configuration, then case."""
_MODEL = TrialRow._fields.index("model")


def summarise(record: BenchRecord, rows: Iterable[AnyRow], node_rows: Iterable[AnyRow] = (), *, gold: Gold | None = None) -> BenchSummary:
    """`gold`: what is right by check and case; unless given, the `expected.*` columns that are named like a judge or a score."""
    bench = record.definition
    models: dict[str, set[str]] = {}
    tallies = _count(bench, rows, models)
    nodes = node_stats(node_rows)
    agreed = agreements(tallies, gold_of(bench) if gold is None else gold, seed=bench.seed)
    contenders, configs = [], []
    for name, cases in tallies.items():
        model = ", ".join(sorted(models.get(name, ())))
        contender, cells = _configuration(name, model, cases)
        contenders.append(contender)
        configs.append(ConfigurationStats(name=name, model=model, overall=contender.cell, cases=cells, nodes=nodes.get(name, {})))
    race = quality_race(contenders)
    return BenchSummary(
        bench=record,
        configs=tuple(configs),
        trials=sum(one.tally.runs for one in contenders),
        pareto=front(contenders),
        quality_by=race.name,
        quality={one.name: value for one in contenders if (value := race.value(one)) is not None},
        agreement=agreed,
        notes=notes_of(record, contenders, agreed),
        **leads(contenders, seed=bench.seed),
    )


def _count(bench: Bench, rows: Iterable[AnyRow], models: dict[str, set[str]]) -> _Tallies:
    """Configurations in the order of the definition, also those without a row; cases likewise, where they have one. Fills `models`."""
    shared = _weighing(bench.checks)
    weighing = {case.name: _weighing(case.checks, shared) if case.checks else shared for case in bench.cases}
    tallies: _Tallies = {config.name: {} for config in bench.configs}
    for row in rows:
        cases = tallies.get(row[0])
        if cases is None:
            cases = tallies[row[0]] = {}
        tally = cases.get(row[1])
        if tally is None:
            tally = cases[row[1]] = Tally(weighing.get(row[1], shared))
        tally.add(row)
        if row[_MODEL]:
            models.setdefault(row[0], set()).add(row[_MODEL])
    place = {name: i for i, name in enumerate(weighing)}
    return {
        config: dict(sorted(cases.items(), key=lambda item: (place.get(item[0], len(place)), item[0]))) for config, cases in tallies.items()
    }


def _weighing(checks: Iterable[CheckSpec], before: Mapping[str, Weighing] = MappingProxyType({})) -> dict[str, Weighing]:
    """By the name that a check's score goes by, after those of the bench."""
    specs = tuple(checks)
    own = {name: Weighing(spec.weight, *score_scale(spec)) for name, spec in zip(check_names(specs, before), specs, strict=True)}
    return {**before, **own}


def _configuration(name: str, model: str, cases: dict[str, Tally]) -> tuple[Contender, dict[str, Cell]]:
    """Takes the tallies out of `cases` one by one, so that tallies and cells need not all be there at once."""
    whole, cells = Tally({}), dict[str, Cell]()
    for case in tuple(cases):
        tally = cases.pop(case)
        cells[case] = tally.cell()
        whole.absorb(tally)
    overall = next(iter(cells.values())) if len(cells) == 1 else whole.cell()
    return Contender(name, model, whole, overall), cells
