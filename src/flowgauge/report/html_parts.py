"""Parts of an HTML page that needs nothing else: no request leaves it, by its own policy.

Text in, HTML out; everything is escaped here. Only styles and scripts whose
digests stand in the policy are let in.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files

from flowgauge.errors import MissingExtra
from flowgauge.model.benchmark import Rate
from flowgauge.report import words
from flowgauge.report.charts import Spec
from flowgauge.report.grid import Grid
from flowgauge.report.painting import painter, svg_of

BROAD, NARROW = 470, 250
"""Widths of a chart's plot: one for a screen, one for a telephone."""
LONG = frozenset({"for example", "what that means", "in words", "judged"})
"""Columns of sentences."""


def page_part(name: str) -> str:
    """A file of the page's own."""
    return files(__package__).joinpath("page", name).read_text("utf-8")


def head(title: str, style: str, script: str = "") -> str:
    """Up to the beginning of the page's main part."""
    scripts = f"script-src 'sha256-{_digest(script)}'; " if script else ""
    policy = f"default-src 'none'; {scripts}style-src 'sha256-{_digest(style)}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="generator" content="flowgauge">\n'
        f"<title>{safe(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def safe(text: str) -> str:
    """Text that is only ever text."""
    return escape(words.printable(text))


def section(title: str, body: str) -> str:
    """One card of the page."""
    return f"<section><h2>{safe(title)}</h2>{body}</section>\n"


def bullets(lines: Sequence[str], kind: str = "") -> str:
    """A list; nothing where there is none."""
    attribute = f' class="{kind}"' if kind else ""
    return f"<ul{attribute}>{''.join(f'<li>{safe(line)}</li>' for line in lines)}</ul>" if lines else ""


def facts(pairs: Sequence[tuple[str, str]]) -> str:
    """Names and values below each other."""
    return f"<dl>{''.join(f'<dt>{safe(name)}</dt><dd>{safe(value)}</dd>' for name, value in pairs)}</dl>"


def rate_cell(rate: Rate, title: str) -> str:
    """A share as a number, as a bar with its interval, and by its counts."""
    start = f'<td class="r" data-title="{safe(title)}">'
    if rate.value is None:
        return f"{start}{words.UNKNOWN}</td>"
    low, high, share = (round(value * 120, 1) for value in (rate.interval.low, rate.interval.high, rate.value))
    band = f'<rect class="band" x="{low}" width="{max(high - low, 1):.1f}" height="6" rx="3"/>'
    point = f'<rect x="{min(max(share - 1.5, 0), 117):.1f}" width="3" height="6"/>'
    bar = f'<svg class="bar" viewBox="0 0 120 6" aria-hidden="true"><rect width="120" height="6" rx="3"/>{band}{point}</svg>'
    bounds = "–".join(f"{round(value * 100, 1):g}" for value in (rate.interval.low, rate.interval.high))
    text = f'<span class="share">{words.percent(rate.value)}</span> <span class="range">{rate.count:,}/{rate.total:,}</span>'
    return f'{start}<div>{text}{bar}<span class="range">{bounds} %</span></div></td>'


def grid_section(title: str, grid: Grid | None, legend: str = "") -> str:
    """A card with a table; nothing where there is none."""
    return "" if grid is None else section(title, grid_table(grid) + (f'<p class="under">{safe(legend)}</p>' if legend else ""))


def grid_table(grid: Grid, marked: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """A table of text. `marked` gives, by column and text, the class of a cell."""
    lines = []
    for row in grid.rows:
        marks = [(marked or {}).get(title, {}).get(text, "") for title, text in zip(grid.columns, row, strict=True)]
        cells = [cell(grid, *each) for each in zip(grid.columns[1:], row[1:], marks[1:], strict=True)]
        lines.append(f'<tr><td class="{f"name {marks[0]}".rstrip()}">{safe(row[0])}</td>{"".join(cells)}</tr>')
    return table(grid, lines)


def cell(grid: Grid, title: str, text: str, mark: str = "") -> str:
    """One cell, to the right where its column stands there."""
    kind = " ".join(filter(None, ("r" if title in grid.right else "long" if title in LONG else "", mark)))
    attribute = f' class="{kind}"' if kind else ""
    return f'<td{attribute} data-title="{safe(title)}">{safe(text)}</td>'


def table(grid: Grid, lines: Sequence[str]) -> str:
    """Rows that are HTML already, below the grid's titles."""
    titles = "".join(f'<th scope="col"{" class=r" if title in grid.right else ""}>{safe(title)}</th>' for title in grid.columns)
    body = f'<table class="first"><thead><tr>{titles}</tr></thead><tbody>{"".join(lines)}</tbody></table>'
    return f'<div class="wide">{body}</div>{bullets(grid.legend, "legend")}'


def figures(charts: Callable[[int], Mapping[str, Spec]], kind: str = "charts", broad_width: int = BROAD) -> Iterator[str]:
    """Charts of a given width, in two widths: the page shows the one that fits. Says how to get them where the extra is missing."""
    try:
        painter()
    except MissingExtra as missing:
        yield section("Charts", f"<p>{safe(str(missing))}</p>")
        return
    broad, narrow = charts(broad_width), charts(NARROW)
    if not broad:
        return
    yield f'<div class="{kind}">'
    for name, spec in broad.items():
        title, subtitle = spec["title"]["text"], spec["title"]["subtitle"]
        caption = " ".join(subtitle) if isinstance(subtitle, list) else subtitle
        yield f"<figure><figcaption><b>{safe(title)}</b>{safe(caption)}</figcaption>"
        for width, one in (("broad", spec), ("narrow", narrow[name])):
            plain = {**one, "config": {**one["config"], "background": None}}
            del plain["title"]
            yield f'<div class="{width}" role="img" aria-label="{safe(f"{title}. {caption}")}">{svg_of(plain)}</div>'
        yield "</figure>"
    yield "</div>\n"
