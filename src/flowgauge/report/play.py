"""A play as a table of its nodes, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from flowgauge.model.play import NodeRun, Play
from flowgauge.model.workflow import Json
from flowgauge.report import words

WIDE = 200
"""Columns where the output is no terminal: nothing is folded for the next program."""


class Row:
    """One node's line: the sum over its attempts, and over what runs inside it."""

    def __init__(self, node_id: str) -> None:
        self.node_id = node_id
        self.status = "pending"
        self.attempts = 0
        self.duration_ms = 0.0
        self.prompt = self.completion = 0
        self.cost_usd: float | None = 0.0
        self.cost_source: str = "none"
        self.models: dict[str, None] = {}
        self.error = ""

    def add(self, run: NodeRun) -> None:
        """Count an attempt of this node or of one inside it."""
        if run.node_id == self.node_id:
            self.status = run.status
            self.attempts = max(self.attempts, run.attempt)
            self.duration_ms += run.duration_ms
            self.error = run.error.message if run.error else ""
        self.prompt += run.tokens_prompt
        self.completion += run.tokens_completion
        if run.cost_source != "none":
            known = self.cost_usd is not None and run.cost_usd is not None
            self.cost_usd = (self.cost_usd or 0.0) + (run.cost_usd or 0.0) if known else None
            self.cost_source = run.cost_source
        if run.model:
            self.models[run.model] = None


def rows_of(runs: Sequence[NodeRun], order: Sequence[str] = ()) -> list[Row]:
    """One row a top-level node, in the workflow's order; inner runs are summed into theirs."""
    rows = {node_id: Row(node_id) for node_id in order}
    for run in runs:
        top = top_node(run.node_id)
        rows.setdefault(top, Row(top)).add(run)
    return list(rows.values())


def top_node(path: str) -> str:
    """`each[3]/a` → `each`."""
    return path.split("/", 1)[0].split("[", 1)[0]


def node_table(rows: Sequence[Row]) -> Table:
    """The table itself."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("node")
    table.add_column("status")
    for name in ("time", "tokens", "cost"):
        table.add_column(name, justify="right")
    table.add_column("model")
    for row in rows:
        mark, style = words.STATUS_MARKS[row.status]
        tries = f" ×{row.attempts}" if row.attempts > 1 else ""
        table.add_row(
            escape(row.node_id),
            Text(f"{mark} {row.status}{tries}", style=style),
            words.duration(row.duration_ms) if row.status not in ("skipped", "pending") else "",
            words.tokens(row.prompt, row.completion),
            words.cost(row.cost_usd, row.cost_source),  # type: ignore[arg-type]
            escape(", ".join(row.models)),
        )
    return table


def summary_line(play: Play) -> Text:
    """One line: how it ended and what it took."""
    mark, style = words.STATUS_MARKS[play.status]
    parts = [f"{mark} {play.status}", words.duration(play.duration_ms)]
    if play.tokens_prompt or play.tokens_completion:
        parts.append(f"{words.tokens(play.tokens_prompt, play.tokens_completion)} tokens")
    if play.cost_source != "none":
        source = ", ".join(filter(None, (play.cost_source, play.price_table)))
        parts.append(f"{words.cost(play.cost_usd, 'computed')} ({source})" if play.cost_usd is not None else f"$0 ({source})")
    if play.retries:
        parts.append(f"{play.retries} {'retry' if play.retries == 1 else 'retries'}")
    if play.isolation:
        parts.append(f"python in {play.isolation}")
    return Text(" · ".join(parts), style=style)


def output_text(output: Json) -> str:
    """A string as it is, anything else as indented JSON."""
    return output if isinstance(output, str) else msgspec.json.format(msgspec.json.encode(output), indent=2).decode()


def _output_parts(output: Json) -> Iterator[Text]:
    """Texts of several lines in an object are easier to read below it than between its quotes."""
    long = {key: text for key, text in output.items() if isinstance(text, str) and "\n" in text.strip()} if isinstance(output, dict) else {}
    rest = {key: value for key, value in output.items() if key not in long} if long else output
    if rest or not long:
        yield Text(output_text(rest))
    for key, text in long.items():
        yield Text(f"{key}:", style="bold")
        yield Text(text.rstrip())


def play_view(play: Play, runs: Sequence[NodeRun], *, title: str, order: Sequence[str] = ()) -> Group:
    """Everything about one play: nodes, output, errors, warnings, the summary."""
    parts: list[Any] = [Text(title, style="bold"), node_table(rows_of(runs, order)), ""]
    if play.error is not None:
        where = f"{play.error.node_id}: " if play.error.node_id else ""
        parts.append(Text(f"{where}{play.error.message} [{play.error.kind}]", style="red"))
        if play.error.detail:
            parts.append(Text(play.error.detail.rstrip(), style="dim"))
        parts.append("")
    elif play.status == "success":
        parts += [*_output_parts(play.output), ""]
    parts += [Text(f"warning: {warning}", style="yellow") for warning in play.warnings]
    parts.append(summary_line(play))
    return Group(*parts)


def show(renderable: Any, *, err: bool = False) -> None:
    """Print for people; plain where the output is no terminal."""
    console = Console(stderr=err, highlight=False)
    if not console.is_terminal:
        console = Console(stderr=err, highlight=False, width=WIDE)
    console.print(renderable)
