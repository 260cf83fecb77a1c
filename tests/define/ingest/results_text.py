"""Results files for tests: written as text or as values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def written(folder: Path, value: Any) -> Path:
    """A file with a value as JSON, or with text as it is."""
    path = folder / "results.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def plain(**changes: Any) -> dict[str, Any]:
    """A subject as the plain format has it, with one metric."""
    return {"subject": "search", "metrics": {"duration_ms": {"value": 12.5, "direction": "lower"}}, **changes}


def command(name: str = "sleep 1", **changes: Any) -> dict[str, Any]:
    """A result of hyperfine."""
    result = {"command": name, "mean": 0.2, "user": 0.01, "system": 0.02, "times": [0.1, 0.3], "exit_codes": [0, 0], **changes}
    return {key: value for key, value in result.items() if value is not ...}


def benchmark_file(**changes: Any) -> dict[str, Any]:
    """A file of pytest-benchmark with one benchmark; `changes` of its top."""
    benchmark = {"fullname": "test_a.py::test_one", "stats": {"mean": 0.002, "data": [0.001, 0.003], "rounds": 2, "iterations": 1}}
    return {"machine_info": {}, "commit_info": {}, "benchmarks": [benchmark], **changes}
