"""What a bench must do, by the names under which it was asked for. (`test_bench_run_id_deterministic` is in tests/plan.)"""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import msgspec
import pytest
from tests.bench.program import EXAMPLES, Program, bench_file, config, variant

import flowgauge as fg
from flowgauge.report.bench_json import BenchReport, bench_report_json_schema

SHOOTOUT = {"small", "large", "large-sorts-small-writes"}


def test_bench_runs_all_combinations(flowgauge: Program) -> None:
    done = flowgauge("bench", EXAMPLES / "support.yaml", "--configs", EXAMPLES / "configs.yaml", "--json")
    assert done.code == 0
    ran = Counter((trial.config, trial.case, trial.repetition) for trial in done.report.trials)
    assert ran == Counter((name, case, number) for name in SHOOTOUT for case in ("short", "long") for number in range(5))
    assert len({trial.run_id for trial in done.report.trials}) == 30
    assert all(trial.ok for trial in done.report.trials)


def test_bench_respects_runs_per_config(flowgauge: Program, tmp_path: Path) -> None:
    file = bench_file(tmp_path, runs=3, state_variants=[variant("sky", "Is it blue?"), variant("once", "Is it?", runs=1)])
    by_file = Counter((trial.config, trial.case) for trial in flowgauge("bench", "ask.yaml", "--configs", file, "--json").report.trials)
    assert by_file == {("one", "sky"): 3, ("two", "sky"): 3, ("one", "once"): 1, ("two", "once"): 1}
    done = flowgauge("bench", "ask.yaml", "--configs", file, "--runs", "2", "--json")
    assert {config.name: config.overall.runs for config in done.report.summary.configs} == {"one": 3, "two": 3}


def test_bench_aggregates_cost_correctly(flowgauge: Program, tmp_path: Path) -> None:
    """Prices of the mock: 0.15 and 0.60, or 15 and 75, for a million tokens; one configuration has no price at all."""
    prices = {"cheap": (0.15, 0.60), "dear": (15.0, 75.0)}
    file = bench_file(tmp_path, runs=4, models={"cheap": "mock/fast", "dear": "mock/expensive"})
    report = flowgauge("bench", "ask.yaml", "--configs", file, "--json").report
    assert report.summary.cheapest is not None
    assert report.summary.cheapest.config == "cheap"
    for found in report.summary.configs:
        trials = [trial.answer for trial in report.trials if trial.config == found.name]
        prompt_per_1m, completion_per_1m = prices[found.name]
        expected = [(each.tokens_prompt * prompt_per_1m + each.tokens_completion * completion_per_1m) / 1e6 for each in trials]
        assert min(expected) > 0
        assert [each.cost_usd for each in trials] == pytest.approx(expected)
        assert found.overall.cost_usd_total == pytest.approx(sum(expected))
        assert found.overall.cost_usd_mean == pytest.approx(sum(expected) / 4)
        assert found.overall.cost_usd_per_success == pytest.approx(sum(expected) / 4)
        assert found.overall.cost_source == "computed"


def test_bench_aggregates_latency_percentiles(flowgauge: Program, tmp_path: Path) -> None:
    """Held against quantiles of the same trials that the standard library computes (its inclusive method)."""
    file = bench_file(tmp_path, runs=21, models={"fast": "mock/fast", "default": "mock/default"})
    report = flowgauge("bench", "ask.yaml", "--configs", file, "-j", "20", "--json").report
    for found in report.summary.configs:
        times = sorted(trial.answer.duration_ms for trial in report.trials if trial.config == found.name)
        spread = found.overall.duration_ms
        assert spread is not None
        cuts = statistics.quantiles(times, n=100, method="inclusive")
        assert (spread.n, spread.min, spread.max) == (21, times[0], times[-1])
        assert [spread.p50, spread.p90, spread.p95, spread.p99] == pytest.approx([cuts[49], cuts[89], cuts[94], cuts[98]])
        assert spread.mean == pytest.approx(statistics.fmean(times))
        assert spread.p50_interval is not None
        assert spread.p50_interval.low <= spread.p50 <= spread.p50_interval.high
    assert report.summary.fastest is not None
    assert report.summary.fastest.config == "fast"
    assert report.summary.fastest.significant


class Tables(HTMLParser):
    """The text of every table cell, and what the page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.fetched: list[str] = []
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href") and not (value or "").startswith(("#", "data:"))]
        if tag in ("td", "th"):
            self._in_cell = True
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = self._in_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.cells[-1] += data.strip()


def test_bench_html_report_renders_table(flowgauge: Program, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = flowgauge("bench", EXAMPLES / "support.yaml", "--configs", EXAMPLES / "configs.yaml", "--report", "html", "--out", page)
    assert (done.code, done.out) == (0, "")
    assert "report.html" in done.err
    tables = Tables()
    tables.feed(page.read_text(encoding="utf-8"))
    assert set(tables.cells) >= SHOOTOUT
    assert {"configuration", "success", "p50", "p95"} <= {cell.lower() for cell in tables.cells}
    assert tables.fetched == []


def test_bench_json_report_machine_readable(flowgauge: Program, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    done = flowgauge("bench", EXAMPLES / "support.yaml", "--configs", EXAMPLES / "configs.yaml", "--report", "json", "--out", file)
    assert done.code == 0
    value = json.loads(file.read_bytes())
    jsonschema.validate(value, bench_report_json_schema(), cls=jsonschema.Draft202012Validator)
    assert {found["name"] for found in value["summary"]["configs"]} == SHOOTOUT
    assert len(value["trials"]) == value["summary"]["trials"] == 30
    report = msgspec.json.decode(file.read_bytes(), type=BenchReport)
    assert json.loads(msgspec.json.encode(report)) == value
    assert flowgauge("report", "latest", "--json").report.trials == report.trials


def test_bench_markdown_stdout_default(flowgauge: Program) -> None:
    done = flowgauge("bench", EXAMPLES / "support.yaml", "--configs", EXAMPLES / "configs.yaml")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("# Bench support-shootout-")
    rows = re.findall(r"^\| (\S+) +\| (mock\S+(?:, mock\S+)*) +\| +(\d+) \|", done.out, flags=re.MULTILINE)
    assert {(name, runs) for name, _, runs in rows} == {(name, "10") for name in SHOOTOUT}
    assert "**Cheapest**: small" in done.out
    assert "30 of 30 runs" in done.out


def fail_on_odd(number: int) -> int:
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number


def test_bench_handles_run_failures_gracefully(flowgauge: Program, tmp_path: Path) -> None:
    file = bench_file(tmp_path, runs=3, models={"broken": "mock/broken", "fine": "mock/fast", "missing": "mock/no-such-profile"})
    done = flowgauge("bench", "ask.yaml", "--configs", file, "--json")
    assert done.code == 0
    cells = {found.name: found.overall for found in done.report.summary.configs}
    assert {name: (cell.runs, cell.success.count) for name, cell in cells.items()} == {"broken": (3, 0), "fine": (3, 3), "missing": (3, 0)}
    assert cells["broken"].failures == {"provider_error": 3}
    assert cells["missing"].failures == {"provider_rejected": 3}
    assert cells["broken"].duration_ms is None
    assert cells["broken"].measured.value is None
    rows = [{"number": number} for number in range(10)]
    configs = {"configs": [config("default")], "cases": [{"name": f"n{row['number']}", "inputs": row} for row in rows]}
    result = fg.bench(fail_on_odd, configs, db=str(tmp_path / "python.db"))
    assert [trial.answer.error.message[-8:] for trial in result.trials() if trial.answer.error] != []
    assert result.configs["default"].success.count == 5
    assert result.outcome.summary.configs[0].overall.failures == {"code_error": 5}
