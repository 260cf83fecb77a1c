"""A bench's tables and sentences, once for Markdown, HTML and the terminal.

A summary in, plain text in rows out: nothing is escaped here, each writer
escapes for its own medium. What is not known is a dash, never a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from flowgauge.model.bench import CheckSpec, Trial, score_scale
from flowgauge.model.benchmark import BenchSummary, Cell, ConfigurationStats, Lead, NodeStats, Rate, Spread
from flowgauge.model.workflow import Json
from flowgauge.report import words
from flowgauge.report.bench_source import NOT_THE_TARGET, Source, text_of, why
from flowgauge.report.grid import Grid

FEW_CASES = 20
MANY_COLUMNS = 8
MAX_SCORES = 4
JUDGE_COST = "judge cost, all runs"
EXAMPLE_CHARS = 240
PARTLY_MARK = "‡"
"""A cost that is known of some runs only."""
_INTERVAL = "_interval"


class Winner(msgspec.Struct, frozen=True):
    """Who is first in one respect, in words."""

    title: str
    config: str
    value: str
    rest: str
    """About the next one, and how sure the lead is."""
    significant: bool
    tie: bool = False


Column = tuple[str, bool, Callable[[ConfigurationStats], str]]
"""Title, whether it stands to the right, and what it shows."""


def _quantile(spread: Spread | None, name: str) -> str:
    return words.UNKNOWN if spread is None else words.duration(getattr(spread, name))


def cost(usd: float | None, cell: Cell) -> str:
    """The amount with the mark of its source; a dash where nothing was bought or it is not known per what."""
    if cell.cost_source == "unpriced":
        return words.cost(None, "unpriced")
    if usd is None or cell.cost_source == "none":
        return words.UNKNOWN
    marks = (words.COMPUTED_MARK if cell.cost_source == "computed" else "") + (PARTLY_MARK if cell.cost_unknown_runs else "")
    return words.cost(usd, cell.cost_source) + marks


def _judge_cost(cell: Cell) -> str:
    return words.cost(cell.judge_cost_usd_total, "computed") if cell.judge_calls else words.UNKNOWN


def _per_success(cell: Cell) -> str:
    return words.UNKNOWN if not cell.success.count else cost(cell.cost_usd_per_success, cell)


def _tokens(cell: Cell) -> str:
    if cell.tokens_prompt_mean is None and cell.tokens_completion_mean is None:
        return words.UNKNOWN
    return words.tokens(round(cell.tokens_prompt_mean or 0), round(cell.tokens_completion_mean or 0)) or words.UNKNOWN


def _score(name: str) -> Callable[[ConfigurationStats], str]:
    def show(config: ConfigurationStats) -> str:
        spread = config.overall.scores.get(name)
        return words.UNKNOWN if spread is None else words.number(spread.mean)

    return show


def score_names(summary: BenchSummary) -> list[str]:
    """Every score that some configuration has, in the order met."""
    return list(dict.fromkeys(name for config in summary.configs for name in config.overall.scores))


def check_names(summary: BenchSummary) -> list[str]:
    """Every check that some configuration has, in the order met."""
    return list(dict.fromkeys(name for config in summary.configs for name in config.overall.checks))


def _columns(summary: BenchSummary) -> list[Column]:
    cells = [config.overall for config in summary.configs]
    columns: list[Column] = [
        ("configuration", False, lambda config: config.name),
        ("model", False, lambda config: config.model or words.UNKNOWN),
        ("runs", True, lambda config: f"{config.overall.runs:,}"),
        ("success", True, lambda config: words.rate(config.overall.success)),
    ]
    if any(cell.measured.total != cell.success.total for cell in cells):
        columns.append(("success, measured runs", True, lambda config: words.rate(config.overall.measured)))
    if any(cell.passed.total for cell in cells):
        columns.append(("checks passed", True, lambda config: _fraction(config.overall.passed)))
    columns += [(name, True, _score(name)) for name in score_names(summary)[:MAX_SCORES]]
    columns += [
        ("p50", True, lambda config: _quantile(config.overall.duration_ms, "p50")),
        ("p95", True, lambda config: _quantile(config.overall.duration_ms, "p95")),
    ]
    if any(cell.first_token_ms for cell in cells):
        columns.append(("first token", True, lambda config: _quantile(config.overall.first_token_ms, "p50")))
    if any(cell.retries for cell in cells):
        columns.append(("retries", True, lambda config: f"{config.overall.retries:,}"))
    columns += [
        ("tokens/run", True, lambda config: _tokens(config.overall)),
        ("cost/run", True, lambda config: cost(config.overall.cost_usd_mean, config.overall)),
        ("cost/success", True, lambda config: _per_success(config.overall)),
    ]
    if any(cell.judge_calls for cell in cells):
        columns.append((JUDGE_COST, True, lambda config: _judge_cost(config.overall)))
    return columns


def _fraction(value: Rate) -> str:
    return f"{value.count:,}/{value.total:,}" if value.total else words.UNKNOWN


def comparison(summary: BenchSummary) -> Grid:
    """One row a configuration; a column only where some configuration has something in it."""
    columns = _columns(summary)
    rows = tuple(tuple(show(config) for _, _, show in columns) for config in summary.configs)
    return Grid(tuple(title for title, _, _ in columns), frozenset(title for title, right, _ in columns if right), rows, _legend(summary))


def _legend(summary: BenchSummary) -> tuple[str, ...]:
    cells = [config.overall for config in summary.configs]
    lines = ["success: share, 95 % interval, runs; times: of successful runs, without queueing and back-off"]
    if any(cell.measured.total != cell.success.total for cell in cells):
        lines.append("measured runs: those that did not fail for reasons of the provider, the network or the machine")
    if any(cell.cost_source == "computed" for cell in cells):
        table = f" of {summary.bench.price_table}" if summary.bench.price_table else ""
        lines.append(f"{words.COMPUTED_MARK} computed from tokens and the prices{table}")
    if any(cell.cost_source == "unpriced" for cell in cells):
        lines.append("unpriced: the model's price is not known; such a configuration is never called cheapest")
    if unknown := [f"{config.name} {config.overall.cost_unknown_runs:,}" for config in summary.configs if config.overall.cost_unknown_runs]:
        lines.append(
            f"{PARTLY_MARK} of the runs whose cost is known; unknown for runs that failed before they reported it: {', '.join(unknown)}"
        )
    if any(cell.judge_calls for cell in cells):
        lines.append("judge cost: what judges were paid; in no other cost figure, but part of the budget")
    if any(score_scale(spec) != (0.0, 1.0) for spec in _specs(summary)):
        lines.append("best score and chart: a judge's score counts by its place on the judge's scale, from 0 to 1")
    return tuple(lines)


def _specs(summary: BenchSummary) -> Iterator[CheckSpec]:
    definition = summary.bench.definition
    yield from definition.checks
    for case in definition.cases:
        yield from case.checks


def winners(summary: BenchSummary) -> list[Winner]:
    """Cheapest, fastest, most reliable, best score: those that are known."""
    respects: tuple[tuple[str, Lead | None, Callable[[float], str]], ...] = (
        ("Cheapest", summary.cheapest, lambda usd: f"{words.cost(usd, 'provider')} a success"),
        ("Fastest", summary.fastest, lambda milliseconds: f"{words.duration(milliseconds)} at the median"),
        ("Most reliable", summary.most_reliable, lambda share: f"{words.percent(share)} success"),
        ("Best score", summary.best_score, words.number),
    )
    return [_winner(title, lead, show) for title, lead, show in respects if lead is not None]


def _winner(title: str, lead: Lead, show: Callable[[float], str]) -> Winner:
    if not lead.runner_up:
        return Winner(title, lead.config, show(lead.value), "nothing to compare with", False)
    if lead.tied:
        names = ", ".join((lead.config, *lead.tied))
        return Winner(title, "tie", show(lead.value), names, significant=False, tie=True)
    chance = "" if lead.p_value is None else f", p = {lead.p_value:.2g}"
    sure = f"significant{chance}" if lead.significant else f"lead not significant{chance}"
    after = "" if lead.runner_up_value is None else f", {show(lead.runner_up_value)}"
    return Winner(title, lead.config, show(lead.value), f"next {lead.runner_up}{after}; {sure}", lead.significant)


def failures(source: Source, examples: Mapping[tuple[str, str], Trial]) -> Grid | None:
    """By configuration and category, each with one example; None where nothing failed."""
    rows = [
        (config.name, category, _whose(category), f"{count:,}", _example(examples.get((config.name, category))))
        for config in source.summary.configs
        for category, count in sorted(config.overall.failures.items(), key=lambda item: (-item[1], item[0]))
        if count
    ]
    columns = ("configuration", "failure", "of the target", "runs", "for example")
    return Grid(columns, frozenset({"runs"}), tuple(rows)) if rows else None


def _whose(category: str) -> str:
    return "no" if category in NOT_THE_TARGET else "yes"


def _example(trial: Trial | None) -> str:
    return "" if trial is None else words.one_line(why(trial), EXAMPLE_CHARS)


def cases(summary: BenchSummary) -> Grid | None:
    """Success and median time by case and configuration; None where there is one case, or too many to read."""
    names = list(dict.fromkeys(case for config in summary.configs for case in config.cases))
    if not 1 < len(names) <= FEW_CASES or len(summary.configs) > MANY_COLUMNS:
        return None
    columns = ("case", *(config.name for config in summary.configs))
    rows = tuple((name, *(_case_cell(config.cases.get(name)) for config in summary.configs)) for name in names)
    return Grid(columns, frozenset(columns[1:]), rows)


def _case_cell(cell: Cell | None) -> str:
    if cell is None:
        return words.UNKNOWN
    return f"{_fraction(cell.success)} · {_quantile(cell.duration_ms, 'p50')}"


def nodes(summary: BenchSummary) -> Grid | None:
    """Where the time goes; None for targets that have no nodes."""
    columns = ("configuration", "node", "runs", "success", "p50", "p95", "share of time", "retries", "tokens", "cost")
    rows = tuple((config.name, *_node_cells(node)) for config in summary.configs for node in config.nodes.values())
    return Grid(columns, frozenset(columns[2:]), rows) if rows else None


def _node_cells(node: NodeStats) -> tuple[str, ...]:
    return (
        node.node_id,
        f"{node.runs:,}",
        _fraction(node.success),
        _quantile(node.duration_ms, "p50"),
        _quantile(node.duration_ms, "p95"),
        words.percent(node.share),
        f"{node.retries:,}",
        words.tokens(node.tokens_prompt, node.tokens_completion),
        words.cost(node.cost_usd_total, node.cost_source) or words.UNKNOWN,
    )


def agreement(summary: BenchSummary) -> Grid | None:
    """Judges against human gold: a row for each configuration and check, a column for each measure."""
    judged = {(config, check): found for config, checks in summary.agreement.items() for check, found in checks.items()}
    names = [name for found in judged.values() for name in found if not name.endswith(_INTERVAL)]
    measures = [name for name in dict.fromkeys(names) if any(found.get(name) is not None for found in judged.values())]
    rows = tuple((*place, *(_measure(found, name) for name in measures)) for place, found in judged.items())
    columns = ("configuration", "check", *(name.replace("_", " ") for name in measures))
    return Grid(columns, frozenset(columns[2:]), rows) if rows else None


def _measure(found: Mapping[str, Json], name: str) -> str:
    value, interval = found.get(name), found.get(name + _INTERVAL)
    shown = words.number(value) if isinstance(value, int | float) else words.UNKNOWN if value is None else text_of(value)
    return f"{shown} ({words.number(interval['low'])} to {words.number(interval['high'])})" if interval else shown


def headline(summary: BenchSummary) -> str:
    """3 configurations × 2 cases, 30 of 30 runs, finished in 12.3 s."""
    bench = summary.bench
    shape = f"{words.plural(len(summary.configs), 'configuration')} × {words.plural(len(bench.definition.cases), 'case')}"
    done = f"{summary.trials:,} of {words.plural(bench.total, 'run')}"
    status = bench.status.replace("_", " ")
    took = f"{status} in {words.duration(bench.duration_ms)}" if bench.duration_ms else status
    return f"{shape}, {done}, {took}"


def facts(source: Source) -> Sequence[tuple[str, str]]:
    """What it takes to do it again."""
    bench = source.summary.bench
    pairs = (
        ("command", source.how_to_repeat),
        ("bench", bench.bench_id),
        ("target", f"{bench.definition.target.kind} {bench.definition.target.name} ({bench.definition.target.reference})"),
        ("definition", bench.definition_hash),
        ("commit", bench.commit),
        ("price table", bench.price_table),
        ("seed", str(bench.definition.seed)),
        ("runs of each case", str(bench.definition.runs)),
        ("at once", str(bench.definition.max_concurrent_runs)),
        ("answers kept", "yes: repeated runs may come from the cache" if bench.definition.cache else ""),
        ("machine", bench.machine),
        ("started", words.moment(bench.created_at)),
        ("interruptions", str(bench.interruptions or "")),
        ("trace", bench.trace_id),
    )
    return [(name, value) for name, value in pairs if value]
