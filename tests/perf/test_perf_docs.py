"""docs/perf.md names every key, field, end and threshold; the evidence beside it is whole."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import jsonschema
import msgspec
import pytest

from flowgauge.perf import files, model, thresholds
from flowgauge.perf.recorder import Run

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "perf.md").read_text(encoding="utf-8")
PROSE = re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
WORDS = set(re.findall(r"[a-z0-9_]+", " ".join(re.findall(r"`([^`]+)`", PROSE))))


def fields(struct: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(struct)}


def long_names(names: set[str]) -> set[str]:
    """Those that the text writes as `steps_p50`, `_p95`, `_ceiling`."""
    short = {word for word in WORDS if word.startswith("_")}
    return {name for name in names if name not in WORDS and not any(name.endswith(ending) for ending in short)}


@pytest.mark.parametrize(
    "struct",
    [
        model.Scenario,
        model.Row,
        model.Budgets,
        model.Allowed,
        model.RunArtifact,
        model.TraceStep,
        model.IoEvent,
        model.LlmEntry,
        files.Manifest,
        files.ScenarioFacts,
        files.RowFacts,
        files.Host,
        files.Counts,
        files.RunArtifacts,
        files.SystemSummary,
        files.Verbosity,
        files.StartUp,
        files.MetricsRow,
        files.SeriesRow,
        files.Sample,
    ],
)
def test_every_field_is_in_the_text(struct: type[msgspec.Struct]) -> None:
    assert long_names(fields(struct)) == set()


def test_every_field_of_the_summary_is_in_the_text() -> None:
    assert fields(files.Summary) - {"format", "stamp"} - WORDS == set()


def test_every_end_stands_with_its_type_of_failure() -> None:
    for end, kind in model.FAILURE_TYPES.items():
        (line,) = [line for line in TEXT.splitlines() if line.startswith("| `") and f"`{end}`" in line.split("|")[1]]
        assert kind is None or f"`{kind}`" in line.split("|")[2]


@pytest.mark.parametrize("line", sorted({*thresholds.SLICE_LINES, *thresholds.LONG_LINES}))
def test_every_default_threshold_is_in_the_text(line: str) -> None:
    assert f"\n{line}\n" in TEXT


def test_what_an_agent_finds_on_its_run_is_in_the_text() -> None:
    assert {name for name in vars(Run) if not name.startswith("_")} - {"aoutside"} - WORDS == set()


@pytest.mark.parametrize("word", ["manifest", "summary", "metrics"])
def test_the_published_evidence_fits_its_schema(word: str) -> None:
    jsonschema.Draft202012Validator(files.file_json_schema(word)).validate(json.loads((DOCS / "perf" / f"{word}.json").read_bytes()))


def test_the_published_evidence_is_of_a_thousand_episodes_flat_and_linear() -> None:
    series = json.loads(gzip.decompress((DOCS / "perf" / "series.json.gz").read_bytes()))
    jsonschema.Draft202012Validator(files.file_json_schema("series")).validate(series)
    summary = json.loads((DOCS / "perf" / "summary.json").read_bytes())
    assert [row["episode"] for row in series["rows"]] == list(range(1, 1001))
    assert summary["failure_count"] == 0
    assert {finding["name"]: finding["state"] for finding in summary["drift"]}["artifact_growth"] == "steady"
    assert {finding["name"]: finding["state"] for finding in summary["drift"]}["memory"] == "steady"
    assert not any(judgement["broken"] for judgement in summary["thresholds"])
    assert {file.name for file in (DOCS / "perf").glob("*.svg")} == {"latency.svg", "distribution.svg", "machine.svg", "growth.svg"}
