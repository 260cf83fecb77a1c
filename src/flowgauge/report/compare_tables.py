"""A comparison's tables, once for the terminal, Markdown, the comment and HTML.

Verdicts in, plain text in rows out; nothing is escaped here. What failed comes
first; what is stable is counted, not listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from flowgauge.model.verdict import Comparison, GateLine, MetricVerdict, NodeShift, RateVerdict
from flowgauge.report import words
from flowgauge.report.compare_lines import ranked_lines
from flowgauge.report.compare_sentences import by_how_much, is_open, p_of
from flowgauge.report.compare_source import CompareSource
from flowgauge.report.compare_words import STATUSES, TIERS, VERDICTS, amount, in_words, p_value, points, ratio, share, signed
from flowgauge.report.grid import Grid

NODES_SHOWN = 12
RATES_SHOWN = 60
_QUIET = frozenset({"stable", "insufficient_data"})
_RANKS = {verdict: rank for rank, verdict in enumerate(VERDICTS)}


def ranked_metrics(comparison: Comparison) -> list[MetricVerdict]:
    """Regressed first, then as given."""
    return sorted(comparison.metrics, key=lambda metric: _RANKS[metric.verdict])


def metrics(comparison: Comparison) -> Grid | None:
    """One row a metric; None where there is none."""
    rows = tuple(_metric_row(metric) for metric in ranked_metrics(comparison))
    columns = ("metric", "candidate", "baseline", "ratio (95 %)", "verdict", "that is", "p")
    return Grid(columns, frozenset({"candidate", "baseline", "ratio (95 %)", "p"}), rows) if rows else None


def _metric_row(metric: MetricVerdict) -> tuple[str, ...]:
    return (
        metric.metric,
        amount(metric.candidate.value, metric.unit),
        amount(metric.baseline.value, metric.unit),
        ratio(metric.ratio, metric.interval),
        metric.verdict,
        _that_is(metric),
        p_value(p_of(metric)),
    )


def _that_is(metric: MetricVerdict) -> str:
    """How much worse or better; where it is open, what would decide it or why it cannot be."""
    if metric.verdict in ("regressed", "improved"):
        return by_how_much(metric)
    if metric.verdict == "inconclusive" and metric.runs_needed:
        return f"needs {words.plural(metric.runs_needed, 'run')} a side"
    return metric.reason


def methods(comparison: Comparison) -> Grid | None:
    """How each metric was judged: by how many samples, how, and why it is open where it is."""
    columns = ("metric", "better", "n", "tolerance", "judged")
    rows = tuple(
        (one.metric, one.direction, f"{one.candidate.n:,} / {one.baseline.n:,}", words.percent(one.tolerance), _judged(one))
        for one in ranked_metrics(comparison)
    )
    return Grid(columns, frozenset({"n", "tolerance"}), rows) if rows else None


def _judged(metric: MetricVerdict) -> str:
    return ". ".join(part.rstrip(".") for part in (metric.method, metric.reason) if part) or words.UNKNOWN


def rates(verdicts: Sequence[RateVerdict], subject: str = "case") -> Grid | None:
    """One row a case, in the order of its tier; None where there is none."""
    columns = (subject, "candidate", "baseline", "Δ", "p", "verdict")
    rows = tuple(
        (one.key, share(one.candidate), share(one.baseline), points(one.delta), p_value(one.p_value), in_words(one.tier))
        for one in verdicts
    )
    return Grid(columns, frozenset({"candidate", "baseline", "Δ", "p"}), rows) if rows else None


def notable_rates(comparison: Comparison) -> Grid | None:
    """The cases that are not stable, the first of them; the legend counts the rest."""
    loud = [one for one in comparison.rates if one.tier not in _QUIET]
    grid = rates(loud[:RATES_SHOWN])
    legend = quiet_cases(comparison) + ((f"{len(loud) - RATES_SHOWN:,} more are not shown",) if len(loud) > RATES_SHOWN else ())
    return None if grid is None else Grid(grid.columns, grid.right, grid.rows, legend)


def quiet_cases(comparison: Comparison) -> tuple[str, ...]:
    """How many cases are stable or had too few runs, and what only one side has."""
    tiers = Counter(one.tier for one in comparison.rates)
    lines = [f"{words.plural(tiers[tier], 'case')} {'is ' if tiers[tier] == 1 else 'are '}stable" for tier in ("stable",) if tiers[tier]]
    if tiers["insufficient_data"]:
        lines.append(f"{words.plural(tiers['insufficient_data'], 'case')} without a run on one side")
    for whose, keys in (("candidate", comparison.only_candidate), ("baseline", comparison.only_baseline)):
        if keys:
            lines.append(f"only the {whose} has {words.plural(len(keys), 'case')}: {words.cut(', '.join(keys), 200)}")
    return tuple(lines)


def nodes(comparison: Comparison, limit: int = NODES_SHOWN) -> Grid | None:
    """Those that moved most; None where there is none."""
    columns = ("node", "candidate", "baseline", "change", "share of the change", "ratio (95 %)", "more than noise")
    rows = tuple(_node_row(node) for node in comparison.nodes[:limit])
    left = len(comparison.nodes) - limit
    legend = (f"{words.plural(left, 'node')} that moved less {'is' if left == 1 else 'are'} not shown",) if left > 0 else ()
    return Grid(columns, frozenset(columns[1:6]), rows, legend) if rows else None


def _node_row(node: NodeShift) -> tuple[str, ...]:
    return (
        node.node_id,
        "gone" if node.candidate_ms is None else words.duration(node.candidate_ms),
        "new" if node.baseline_ms is None else words.duration(node.baseline_ms),
        signed(words.duration(abs(node.delta_ms)), node.delta_ms),
        words.percent(node.share),
        ratio(node.ratio, node.interval),
        "yes" if node.significant else "no",
    )


def drift(comparison: Comparison) -> Grid | None:
    """Failure categories that are more or less common than expected."""
    columns = ("failure", "candidate", "baseline", "expected", "Δ")
    rows = tuple(
        (
            one.category,
            share(one.candidate),
            share(one.baseline),
            words.number(one.expected),
            points(_difference(one.candidate.value, one.baseline.value)),
        )
        for one in comparison.drift
    )
    return Grid(columns, frozenset(columns[1:]), rows) if rows else None


def _difference(candidate: float | None, baseline: float | None) -> float | None:
    return None if candidate is None or baseline is None else candidate - baseline


def differences(comparison: Comparison) -> Grid | None:
    """What the two sides do not share."""
    columns = ("differs", "candidate", "baseline", "what that means")
    rows = tuple(
        (one.what.replace("_", " "), one.candidate or words.UNKNOWN, one.baseline or words.UNKNOWN, one.words)
        for one in comparison.differences
    )
    return Grid(columns, frozenset(), rows) if rows else None


def gate_lines(source: CompareSource) -> Grid | None:
    """What the gate asked and the answers, the failing first; None where there is no gate."""
    if source.gate is None:
        return None
    return Grid(("gate", "subject", "rule", "verdict", "in words"), frozenset(), tuple(_gate_row(line) for line in ranked_lines(source)))


def _gate_row(line: GateLine) -> tuple[str, ...]:
    mark, name = ("?", "undecided") if is_open(line) else STATUSES[line.status][:2]
    return (f"{mark} {name}", line.subject, line.rule, in_words(line.verdict), line.words)


def pass_rate(comparison: Comparison) -> Grid | None:
    """Over all cases that both have, as judged and with every failure counted."""
    found = comparison.aggregate
    if found is None:
        return None
    judged = "every failure counted" if comparison.count_all_failures else "as judged, without infrastructure failures"
    rows = [
        (judged, words.rate(found.candidate), words.rate(found.baseline), points(found.delta), p_value(found.p_value), TIERS[found.tier][0])
    ]
    if not comparison.count_all_failures and (found.candidate_all, found.baseline_all) != (found.candidate, found.baseline):
        moved = points(_difference(found.candidate_all.value, found.baseline_all.value))
        rows.append(
            ("every failure counted", words.rate(found.candidate_all), words.rate(found.baseline_all), moved, words.UNKNOWN, "not judged")
        )
    columns = ("pass rate", "candidate", "baseline", "Δ", "p", "verdict")
    return Grid(columns, frozenset({"candidate", "baseline", "Δ", "p"}), tuple(rows))


def facts(source: CompareSource) -> list[tuple[str, str]]:
    """Which two benchmarks, of which commits, under which policy."""
    comparison = source.comparison
    pairs = (
        ("candidate", _side(comparison.candidate, comparison.candidate_sid, source.commit or comparison.candidate_commit)),
        ("baseline", _side(comparison.baseline, comparison.baseline_sid, comparison.baseline_commit)),
        ("policy", source.gate.policy if source.gate else ""),
        ("infrastructure failures", _infrastructure(comparison)),
        ("command", source.command),
    )
    return [(name, value) for name, value in pairs if value]


def _side(label: str, sid: str, commit: str) -> str:
    return ", ".join(filter(None, (label, sid, f"commit {commit}" if commit else "")))


def _infrastructure(comparison: Comparison) -> str:
    sides = ((comparison.candidate_infrastructure, "candidate"), (comparison.baseline_infrastructure, "baseline"))
    return ", ".join(f"{name} {share(found)}" for found, name in sides if found is not None and found.total)
