"""A bench as one HTML file that needs nothing else: no request leaves the page, by its own policy.

Tables and charts are plain HTML and SVG, made here; the list of trials is data
that the page's script shows, page by page. Everything that a model or a user
wrote is escaped here, or goes through textContent there.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from typing import BinaryIO

import msgspec

from flowgauge.errors import MissingExtra
from flowgauge.model.benchmark import BenchSummary, Rate
from flowgauge.report import bench_tables, words
from flowgauge.report.bench_html_trials import Rows, write_rows
from flowgauge.report.bench_images import painter, svg_of
from flowgauge.report.bench_source import Source, durations_ms, first_errors
from flowgauge.report.bench_tables import Grid
from flowgauge.report.charts import bench_charts

BROAD, NARROW = 470, 250
"""Widths of a chart's plot: one for a screen, one for a telephone."""
_LONG = frozenset({"for example"})


def write_html(source: Source, out: BinaryIO) -> None:
    """The whole page; trials are streamed into it."""
    style, script = _page_part("bench.css"), _page_part("bench.js")
    rows = Rows(source)
    out.writelines(part.encode("utf-8", "replace") for part in _before_trials(source, style, script))
    out.write(b'<script type="application/json" id="data">')
    write_rows(rows, out)
    out.write(b"</script>\n")
    out.writelines(part.encode("utf-8", "replace") for part in _after_trials(source, rows, script))


def _before_trials(source: Source, style: str, script: str) -> Iterator[str]:
    summary = source.summary
    hashes = f"script-src 'sha256-{_digest(script)}'; style-src 'sha256-{_digest(style)}'"
    policy = f"default-src 'none'; {hashes}; base-uri 'none'; form-action 'none'"
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="generator" content="flowgauge">\n'
    yield f"<title>{_safe(summary.bench.bench_id)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
    yield from _header(summary)
    yield _section("Comparison", _comparison(summary))
    yield from _charts(source)
    yield _grid("Failures", bench_tables.failures(source, first_errors(source)))
    yield _grid("By case", bench_tables.cases(summary), "Successful of all runs · median time.")
    yield _grid("By node", bench_tables.nodes(summary))
    yield _grid("Agreement with human labels", bench_tables.agreement(summary))
    if summary.notes:
        yield _section("Notes", "<ul>" + "".join(f"<li>{_safe(note)}</li>" for note in summary.notes) + "</ul>")
    yield _page_part("trials.html")


def _after_trials(source: Source, rows: Rows, script: str) -> Iterator[str]:
    yield f'<ul class="legend">{"".join(f"<li>{_safe(line)}</li>" for line in _left_out(source, rows))}</ul></section>\n'
    facts = "".join(f"<dt>{_safe(name)}</dt><dd>{_safe(value)}</dd>" for name, value in bench_tables.facts(source))
    yield _section("How to repeat it", f"<dl>{facts}</dl>")
    yield f"</main>\n<script>{script}</script>\n</body>\n</html>\n"


def _left_out(source: Source, rows: Rows) -> Iterator[str]:
    if rows.stride > 1:
        yield (
            f"{rows.written:,} of {source.summary.trials:,} trials are on this page: failures, and one in {rows.stride} successes. "
            "A .jsonl or .csv report has them all."
        )
    if rows.cut:
        yield f"Texts are cut here after {rows.text_chars:,} characters ({rows.cut:,} were). flowgauge trial show RUN_ID shows one whole."


def _page_part(name: str) -> str:
    return files(__package__).joinpath("page", name).read_text("utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _safe(text: str) -> str:
    return escape(words.printable(text))


def _section(title: str, body: str) -> str:
    return f"<section><h2>{_safe(title)}</h2>{body}</section>\n"


def _header(summary: BenchSummary) -> Iterator[str]:
    bench = summary.bench
    under = " · ".join(filter(None, (bench.bench_id, bench_tables.headline(summary), words.moment(bench.created_at))))
    yield f'<header><h1>{_safe(bench.name)}</h1><p class="under">{_safe(under)}</p>'
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
    head = f'<span class="title">{winner.title}</span>{mark}<b>{_safe(winner.config)}</b>'
    return f'<div>{head}<span class="value">{_safe(winner.value)}</span><small>{_safe(winner.rest)}</small></div>'


def _comparison(summary: BenchSummary) -> str:
    grid = bench_tables.comparison(summary)
    lines = []
    for config, row in zip(summary.configs, grid.rows, strict=True):
        rates = {"success": config.overall.success, "success, measured runs": config.overall.measured}
        cells = [
            _rate_cell(rates[title]) if title in rates else _cell(grid, title, value)
            for title, value in zip(grid.columns[2:], row[2:], strict=True)
        ]
        front = ' <span class="front">Pareto</span>' if config.name in summary.pareto else ""
        model = f'<span class="model">{_safe(row[1])}</span>'
        lines.append(f'<tr><td class="name">{_safe(row[0])}{front}{model}</td>{"".join(cells)}</tr>')
    # The model stands below its configuration's name: one column less on a narrow screen.
    return _table(msgspec.structs.replace(grid, columns=("configuration, model", *grid.columns[2:])), lines)


def _rate_cell(rate: Rate) -> str:
    if rate.value is None:
        return f'<td class="r">{words.UNKNOWN}</td>'
    low, high, share = (round(value * 120, 1) for value in (rate.interval.low, rate.interval.high, rate.value))
    band = f'<rect class="band" x="{low}" width="{max(high - low, 1):.1f}" height="6" rx="3"/>'
    point = f'<rect x="{min(max(share - 1.5, 0), 117):.1f}" width="3" height="6"/>'
    bar = f'<svg class="bar" viewBox="0 0 120 6" aria-hidden="true"><rect width="120" height="6" rx="3"/>{band}{point}</svg>'
    bounds = "–".join(f"{round(value * 100, 1):g}" for value in (rate.interval.low, rate.interval.high))
    text = f'<span class="share">{words.percent(rate.value)}</span> <span class="range">{rate.count:,}/{rate.total:,}</span>'
    return f'<td class="r">{text}{bar}<span class="range">{bounds} %</span></td>'


def _grid(title: str, grid: Grid | None, legend: str = "") -> str:
    if grid is None:
        return ""
    lines = [
        f'<tr><td class="name">{_safe(row[0])}</td>'
        + "".join(_cell(grid, name, value) for name, value in zip(grid.columns[1:], row[1:], strict=True))
        + "</tr>"
        for row in grid.rows
    ]
    return _section(title, _table(grid, lines) + (f'<p class="under">{legend}</p>' if legend else ""))


def _cell(grid: Grid, title: str, value: str) -> str:
    kind = ' class="r"' if title in grid.right else ' class="long"' if title in _LONG else ""
    return f"<td{kind}>{_safe(value)}</td>"


def _table(grid: Grid, lines: list[str]) -> str:
    head = "".join(f"<th{' class=r' if title in grid.right else ''}>{_safe(title)}</th>" for title in grid.columns)
    legend = f'<ul class="legend">{"".join(f"<li>{_safe(line)}</li>" for line in grid.legend)}</ul>' if grid.legend else ""
    return f'<div class="wide"><table class="first"><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>{legend}'


def _charts(source: Source) -> Iterator[str]:
    try:
        painter()
    except MissingExtra as missing:
        yield _section("Charts", f"<p>{_safe(str(missing))}</p>")
        return
    durations = durations_ms(source)
    broad, narrow = (bench_charts(source.summary, durations, width=width) for width in (BROAD, NARROW))
    yield '<div class="charts">'
    for name, spec in broad.items():
        title, subtitle = spec["title"]["text"], spec["title"]["subtitle"]
        caption = " ".join(subtitle) if isinstance(subtitle, list) else subtitle
        yield f"<figure><figcaption><b>{_safe(title)}</b>{_safe(caption)}</figcaption>"
        for kind, one in (("broad", spec), ("narrow", narrow[name])):
            plain = {**one, "config": {**one["config"], "background": None}}
            del plain["title"]
            yield f'<div class="{kind}">{svg_of(plain)}</div>'
        yield "</figure>"
    yield "</div>\n"
