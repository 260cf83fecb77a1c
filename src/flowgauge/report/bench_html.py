"""A bench as one HTML file that needs nothing else: no request leaves the page, by its own policy.

Tables and charts are plain HTML and SVG, made here; the list of trials is data
that the page's script shows, page by page. Everything that a model or a user
wrote is escaped here, or goes through textContent there.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import BinaryIO

import msgspec

from flowgauge.model.benchmark import BenchSummary
from flowgauge.report import bench_tables, words
from flowgauge.report import html_parts as html
from flowgauge.report.bench_html_trials import Rows, write_rows
from flowgauge.report.bench_source import Source, durations_ms, first_errors
from flowgauge.report.charts import bench_charts


def write_html(source: Source, out: BinaryIO) -> None:
    """The whole page; trials are streamed into it."""
    script = html.page_part("bench.js")
    rows = Rows(source)
    out.writelines(part.encode("utf-8", "replace") for part in _before_trials(source, script))
    out.write(b'<script type="application/json" id="data">')
    write_rows(rows, out)
    out.write(b"</script>\n")
    out.writelines(part.encode("utf-8", "replace") for part in _after_trials(source, rows, script))


def _before_trials(source: Source, script: str) -> Iterator[str]:
    summary = source.summary
    yield html.head(summary.bench.bench_id, html.page_part("bench.css"), script)
    yield from _header(summary)
    yield html.section("Comparison", _comparison(summary))
    yield from _charts(source)
    yield html.grid_section("Failures", bench_tables.failures(source, first_errors(source)))
    yield html.grid_section("By case", bench_tables.cases(summary), "Successful of all runs · median time.")
    yield html.grid_section("By node", bench_tables.nodes(summary))
    yield html.grid_section("Agreement with human labels", bench_tables.agreement(summary))
    if summary.notes:
        yield html.section("Notes", html.bullets(summary.notes))
    yield html.page_part("trials.html")


def _after_trials(source: Source, rows: Rows, script: str) -> Iterator[str]:
    yield f"{html.bullets(tuple(_left_out(source, rows)), 'legend')}</section>\n"
    yield html.section("How to repeat it", html.facts(bench_tables.facts(source)))
    yield f"</main>\n<script>{script}</script>\n</body>\n</html>\n"


def _left_out(source: Source, rows: Rows) -> Iterator[str]:
    if rows.stride > 1:
        yield (
            f"{rows.written:,} of {source.summary.trials:,} trials are on this page: failures, and one in {rows.stride} successes. "
            "A .jsonl or .csv report has them all."
        )
    if rows.cut:
        yield f"Texts are cut here after {rows.text_chars:,} characters ({rows.cut:,} were). flowgauge trial show RUN_ID shows one whole."


def _header(summary: BenchSummary) -> Iterator[str]:
    bench = summary.bench
    under = " · ".join(filter(None, (bench.bench_id, bench_tables.headline(summary), words.moment(bench.created_at))))
    yield f'<header><h1>{html.safe(bench.name)}</h1><p class="under">{html.safe(under)}</p>'
    if summary.trials < bench.total:
        missing = f"{bench.total - summary.trials:,} of {bench.total:,} runs are missing"
        yield f'<p class="alert">{missing}: these are figures of an unfinished bench.</p>'
    yield "</header>\n"
    winners = bench_tables.winners(summary)
    if winners:
        yield '<div class="cards">' + "".join(_card(winner) for winner in winners) + "</div>\n"


def _card(winner: bench_tables.Winner) -> str:
    mark = '<span class="sure">significant</span>' if winner.significant else '<span class="unsure">not significant</span>'
    mark = "" if winner.tie else mark
    head = f'<span class="title">{winner.title}</span>{mark}<b>{html.safe(winner.config)}</b>'
    return f'<div>{head}<span class="value">{html.safe(winner.value)}</span><small>{html.safe(winner.rest)}</small></div>'


def _comparison(summary: BenchSummary) -> str:
    grid = bench_tables.comparison(summary)
    lines = []
    for config, row in zip(summary.configs, grid.rows, strict=True):
        rates = {"success": config.overall.success, "success, measured runs": config.overall.measured}
        cells = [
            html.rate_cell(rates[title], title) if title in rates else html.cell(grid, title, value)
            for title, value in zip(grid.columns[2:], row[2:], strict=True)
        ]
        front = ' <span class="front">Pareto</span>' if config.name in summary.pareto else ""
        model = f'<span class="model">{html.safe(row[1])}</span>'
        lines.append(f'<tr><td class="name">{html.safe(row[0])}{front}{model}</td>{"".join(cells)}</tr>')
    # The model stands below its configuration's name: one column less on a narrow screen.
    return html.table(msgspec.structs.replace(grid, columns=("configuration, model", *grid.columns[2:])), lines)


def _charts(source: Source) -> Iterator[str]:
    durations = cache(lambda: durations_ms(source))
    return html.figures(lambda width: bench_charts(source.summary, durations(), width=width))
