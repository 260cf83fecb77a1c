"""One stored benchmark as a short text: what came of it, at a glance.

A benchmark and the name of what was measured in, lines out. What is not known
is a dash, and a price that is not known is $0 with its mark.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowgauge.model.benchmark import Benchmark
from flowgauge.report import words

_RULE = "=" * 70


def benchmark_text(benchmark: Benchmark, what: str) -> str:
    """`what` is the workflow with its version, or the subject."""
    return "\n".join([_RULE, "BENCHMARK REPORT", _RULE, *_lines(benchmark, words.one_line(what)), _RULE, ""])


def _lines(benchmark: Benchmark, what: str) -> Iterator[str]:
    yield f"Benchmark: {benchmark.sid}"
    if benchmark.workflow_version_sid:
        yield f"Workflow:  {what} ({benchmark.workflow_sid}, version {benchmark.workflow_version_sid})"
    else:
        yield f"Subject:   {what}"
    if benchmark.bench_id:
        yield f"Bench:     {benchmark.bench_id}"
    yield ""
    yield f"Runs: {benchmark.num_runs:,}"
    yield f"Success rate: {benchmark.success_rate:.1f} %"
    durations = (benchmark.min_duration_ms, benchmark.avg_duration_ms, benchmark.max_duration_ms)
    yield f"Duration (min/avg/max): {' / '.join(map(_duration, durations))}"
    yield f"Total retries: {benchmark.total_retries:,}"
    tokens = (benchmark.avg_tokens_prompt, benchmark.avg_tokens_completion)
    yield f"Tokens per run (prompt/completion): {' / '.join(map(words.number, tokens))}"
    yield f"Cost per run: {_cost(benchmark)}"
    failures = benchmark.stats.overall.failures if benchmark.stats else {}
    if failures:
        yield f"Failures: {', '.join(f'{name} {count:,}' for name, count in sorted(failures.items()))}"


def _duration(milliseconds: float | None) -> str:
    return words.UNKNOWN if milliseconds is None else words.duration(milliseconds)


def _cost(benchmark: Benchmark) -> str:
    """Nothing was called that costs money: $0."""
    told = words.cost(benchmark.estimated_cost_usd, benchmark.cost_source) or "$0"
    return f"{told} (computed)" if benchmark.cost_source == "computed" and benchmark.estimated_cost_usd is not None else told
