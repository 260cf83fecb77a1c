"""hyperfine's JSON: one subject a command (and set of parameters), with the time of every run.

Times of runs that failed say nothing about the command: they are counted in
`success_rate` and left out of `duration_ms`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from flowgauge.define.ingest.format import Format, Found, fitted, line_is_fit
from flowgauge.define.ingest.ingested import DURATION, MS, Ingested, Seconds, sampled, tag
from flowgauge.documents.document import Way
from flowgauge.documents.findings import Findings
from flowgauge.model.metric import Metric

NAME = "hyperfine"


class _Result(msgspec.Struct, frozen=True, kw_only=True):
    command: str
    mean: Seconds
    user: Seconds | None = None
    """User time: a mean over all runs."""
    system: Seconds | None = None
    times: tuple[Seconds, ...] | None = None
    exit_codes: tuple[int | None, ...] | None = None
    """None: killed by a signal. Older versions write none at all."""
    memory_usage_byte: tuple[int, ...] | None = None
    """Newer versions."""
    parameters: dict[str, str] = {}

    @property
    def failed(self) -> tuple[int | None, ...]:
        return tuple(code for code in self.exit_codes or () if code != 0)


def _looks_like(value: Any) -> bool:
    results = value.get("results") if isinstance(value, Mapping) else None
    return isinstance(results, list) and all(isinstance(each, Mapping) and "command" in each for each in results)


def _read(value: Any, findings: Findings) -> Iterator[Found]:
    results = value.get("results") if isinstance(value, Mapping) else None
    if not isinstance(results, list):
        findings.add((), "There is no list of `results`.", "hyperfine --export-json FILE makes one.")
        return
    for number, entry in enumerate(results):
        way: Way = ("results", number)
        result = fitted(_Result, entry, way, findings)
        if result is not None and _is_whole(result, way, findings):
            yield way, _ingested(result)


def _is_whole(result: _Result, way: Way, findings: Findings) -> bool:
    lists = {"times": result.times, "exit_codes": result.exit_codes, "memory_usage_byte": result.memory_usage_byte}
    runs = {name: len(figures) for name, figures in lists.items() if figures is not None}
    if len(set(runs.values())) > 1:
        told = ", ".join(f"{count} {name}" for name, count in runs.items())
        findings.add(way, f"The lists are not of the same runs: {told}.", "Take the file as hyperfine wrote it.")
        return False
    return line_is_fit(_subject(result), (*way, "command"), findings, "Name the command: hyperfine -n NAME.")


def _ingested(result: _Result) -> Ingested:
    tags = {tag(f"param.{name}"): tag(value) for name, value in result.parameters.items()}
    return Ingested(subject=_subject(result), metrics=_metrics(result), source=NAME, tags=tags, notes=tuple(_notes(result)))


def _subject(result: _Result) -> str:
    """The command on one line. Its parameters are always told, since a name given with -n need not hold them."""
    command = " ".join(result.command.split())
    told = ", ".join(f"{name}={value}" for name, value in result.parameters.items())
    return f"{command} [{told}]" if told else command


def _metrics(result: _Result) -> dict[str, Metric]:
    metrics = {DURATION: _duration(result)}
    # Means over all runs, failed ones too: what the others took cannot be told.
    for name, mean in (("user_ms", result.user), ("system_ms", result.system)):
        if mean is not None:
            metrics[name] = Metric(value=None if result.failed else mean * 1000, direction="lower", unit=MS)
    if result.memory_usage_byte:
        metrics["memory_bytes"] = sampled({"": _of_good_runs(result, result.memory_usage_byte)}, "lower", "B")
    if result.exit_codes:
        metrics["success_rate"] = sampled({"": [float(code == 0) for code in result.exit_codes]}, "higher", "")
    return metrics


def _duration(result: _Result) -> Metric:
    if result.times:
        return sampled({"": [time * 1000 for time in _of_good_runs(result, result.times)]}, "lower", MS)
    return Metric(value=None if result.failed else result.mean * 1000, direction="lower", unit=MS)


def _of_good_runs(result: _Result, figures: tuple[float, ...]) -> list[float]:
    codes = result.exit_codes or (0,) * len(figures)
    return [figure for figure, code in zip(figures, codes, strict=True) if code == 0]


def _notes(result: _Result) -> Iterator[str]:
    if result.failed:
        codes = Counter("killed by a signal" if code is None else f"exit code {code}" for code in result.failed)
        told = ", ".join(f"{words}: {count}" for words, count in codes.items())
        runs = len(result.exit_codes or ())
        yield f"{len(result.failed)} of {runs} runs failed ({told}); their times are in no metric."
        if len(result.failed) == runs:
            yield "No run succeeded, so how long it takes is not known. Where that exit code is right, measure `COMMAND || true`."
    if result.times is None:
        yield "The file holds no single times, so that only bare thresholds can be held against it."
    elif zeros := sum(time == 0 for time in result.times):
        yield f"{zeros} of {len(result.times)} times are 0: it is faster than the shell that starts it. hyperfine -N starts it without."


FORMAT = Format(NAME, "hyperfine --export-json FILE", _looks_like, _read)
