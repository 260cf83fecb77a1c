"""A comparison as JSON: verdicts in, one indented object out."""

from __future__ import annotations

from collections import Counter
from typing import BinaryIO, Literal

from flowgauge.model.verdict import CategoryDrift, Comparison, RateVerdict
from flowgauge.report.compare_report import (
    FORMAT,
    VERSION,
    Aggregate,
    Bounds,
    Category,
    Compared,
    CompareReport,
    Experiment,
    Gate,
    Result,
    Scenario,
    ScenarioReference,
    Summary,
)
from flowgauge.report.compare_sentences import verdict_sentence, why_not
from flowgauge.report.compare_source import CompareSource
from flowgauge.report.finite import finite_json


def write_json(source: CompareSource, out: BinaryIO) -> None:
    """One object, indented."""
    out.write(finite_json(compare_report(source)))


def compare_report(source: CompareSource) -> CompareReport:
    """The whole document as a value."""
    comparison, gate = source.comparison, source.gate
    compared = comparison.attempt == "ok"
    return CompareReport(
        format=FORMAT,
        version=VERSION,
        commit=source.commit or comparison.candidate_commit,
        command=source.command,
        experiment_name=comparison.candidate,
        summary=_summary(source),
        comparison=Compared(baseline=comparison.baseline, result=_result(comparison)) if compared else None,
        comparison_status=comparison.attempt,
        comparison_error=None if compared else why_not(comparison),
        gate=None if gate is None else Gate(status=gate.status, exit_code=gate.exit_code, policy=gate.policy, lines=gate.lines),
        verdicts=comparison,
    )


def _summary(source: CompareSource) -> Summary:
    comparison = source.comparison
    plain: Literal["compared", "not_compared"] = "compared" if comparison.attempt == "ok" else "not_compared"
    return Summary(
        status=source.gate.status if source.gate is not None else plain,
        exit_code=source.gate.exit_code if source.gate is not None else None,
        sentence=verdict_sentence(source),
        scenarios_total=len(comparison.rates),
        tiers=dict(Counter[str](one.tier for one in comparison.rates)),
        metrics=dict(Counter[str](one.verdict for one in comparison.metrics)),
    )


def _result(comparison: Comparison) -> Result:
    return Result(
        pr=Experiment(experiment_name=comparison.candidate),
        baseline=Experiment(experiment_name=comparison.baseline),
        aggregate=_aggregate(comparison),
        scenarios=tuple(map(_scenario, comparison.rates)),
        pr_only=tuple(map(_reference, comparison.only_candidate)),
        baseline_only=tuple(map(_reference, comparison.only_baseline)),
        failure_categories=tuple(map(_category, comparison.drift)),
    )


def _aggregate(comparison: Comparison) -> Aggregate | None:
    found = comparison.aggregate
    if found is None:
        return None
    mine, theirs = found.candidate, found.baseline
    return Aggregate(
        intersection_size=len(comparison.rates),
        pr_aggregate_pass_rate=mine.value,
        baseline_aggregate_pass_rate=theirs.value,
        pr_aggregate_ci=Bounds(lower=mine.interval.low, upper=mine.interval.high),
        baseline_aggregate_ci=Bounds(lower=theirs.interval.low, upper=theirs.interval.high),
        delta=found.delta,
        verdict=found.tier,
    )


def _place(key: str) -> tuple[str, str]:
    """File and scenario; a case of a bench has no file."""
    file, slash, name = key.partition("/")
    return (file, name) if slash else ("", key)


def _reference(key: str) -> ScenarioReference:
    file, name = _place(key)
    return ScenarioReference(test_case_file=file, scenario_name=name)


def _scenario(one: RateVerdict) -> Scenario:
    file, name = _place(one.key)
    return Scenario(
        test_case_file=file,
        scenario_name=name,
        verdict=one.tier,
        pr_passes=one.candidate.count,
        pr_total=one.candidate.total,
        pr_pass_rate=one.candidate.value,
        baseline_passes=one.baseline.count,
        baseline_total=one.baseline.total,
        baseline_pass_rate=one.baseline.value,
        delta=one.delta,
        p_value=one.p_value,
        failed_runs=one.failed_runs,
    )


def _category(one: CategoryDrift) -> Category:
    mine, theirs = one.candidate.value, one.baseline.value
    return Category(
        category=one.category,
        pr_count=one.candidate.count,
        pr_rate=mine,
        baseline_count=one.baseline.count,
        baseline_rate=theirs,
        delta=None if mine is None or theirs is None else mine - theirs,
        notable=True,
    )
