"""What is shown: the lines of the summary, and why a test fails. Numbers in, text out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from flowgauge.report import words

if TYPE_CHECKING:
    from flowgauge.compare.limits import Bound
    from flowgauge.model.benchmark import Cell, Rate

_COLUMNS = ("name", "success", "p50", "cost", "bench")
SHOWN_FAILURES = 5
LONGEST_LINE = 300


def rows_of(name: str, bench_id: str, cells: Mapping[str, Cell]) -> list[dict[str, str]]:
    """One row a configuration; a single one is not named."""
    return [
        {
            "name": f"{name} · {config}" if len(cells) > 1 else name,
            "success": rate(cell.success),
            "p50": words.UNKNOWN if cell.duration_ms is None else words.duration(cell.duration_ms.p50),
            "cost": words.UNKNOWN if cell.cost_usd_mean is None else words.cost(cell.cost_usd_mean, cell.cost_source) or words.UNKNOWN,
            "bench": bench_id,
        }
        for config, cell in cells.items()
    ]


def table(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Aligned, with a heading."""
    heading = {"name": "test", "success": "success (95 % interval)", "p50": "p50", "cost": "cost/run", "bench": "bench"}
    lines = [heading, *rows]
    widths = {column: max(len(line[column]) for line in lines) for column in _COLUMNS}
    return ["  ".join(line[column].ljust(widths[column]) for column in _COLUMNS).rstrip() for line in lines]


def rate(found: Rate, before: str = "") -> str:
    """80 % (4 of 5; 37.6 % to 96.4 %)."""
    low, high = words.percent(found.interval.low), words.percent(found.interval.high)
    return f"{words.percent(found.value)} ({found.count} of {found.total}; {before}{low} to {high})"


def _headline(error: BaseException) -> str:
    first = str(error).partition("\n")[0]
    return words.one_line(f"{type(error).__name__}: {first}".rstrip(": "), LONGEST_LINE)


def broken(cells: Mapping[str, Cell], bounds: Sequence[Bound]) -> list[str]:
    """Every bound that is not met, in words."""
    told = ((config, bound.broken_by(cell)) for config, cell in cells.items() for bound in bounds)
    return [f"{config}: {text}" if len(cells) > 1 else text for config, text in told if text]


def verdict(cells: Mapping[str, Cell], unmet: Sequence[str], failures: Sequence[BaseException], first: str, where: str) -> str:
    """Why the test fails, and where to look."""
    lines = [f"flowgauge: {'; '.join(unmet)}"]
    for config, cell in cells.items():
        lines.append(f"  {config}: {rate(cell.success, '95 % interval ')} succeeded")
    kinds = Counter(map(_headline, failures))
    for text, count in kinds.most_common(SHOWN_FAILURES):
        lines.append(f"  {count} × {text}")
    if len(kinds) > SHOWN_FAILURES:
        lines.append(f"  and {len(kinds) - SHOWN_FAILURES} other failures")
    lines.append(f"  {where}")
    return "\n".join([*lines, *(["", "The first failed run:", first] if first else [])])
