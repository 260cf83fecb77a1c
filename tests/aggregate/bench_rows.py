"""Rows and records to aggregate."""

from __future__ import annotations

from typing import Any

import msgspec

from flowgauge.aggregate.rows import TrialRow
from flowgauge.model.bench import Bench, BenchRecord, Case, Configuration, Target


def row(config: str = "a", case: str = "one", **columns: Any) -> TrialRow:
    """A successful, unchecked trial that took 100 ms and cost a tenth of a cent, but for what is said."""
    scores = columns.pop("scores", None)
    checks = columns.pop("checks", None)
    usual: dict[str, Any] = {
        "status": "success", "passed": None, "failure_category": "", "duration_ms": 100.0, "queue_ms": 0.0, "backoff_ms": 0.0,
        "score_ms": 0.0, "first_token_ms": None, "retries": 0, "tokens_prompt": 10, "tokens_completion": 5, "cost_usd": 0.001,
        "cost_source": "computed", "model": "m", "repeated": 0, "cached": 0,
        "scores_json": msgspec.json.encode(scores) if scores else None,
        "checks_json": msgspec.json.encode(checks) if checks else None,
    }  # fmt: skip
    return TrialRow(config=config, case=case, **{**usual, **columns})


def failed(category: str, **columns: Any) -> TrialRow:
    """A trial whose target did not succeed."""
    return row(status="failed", failure_category=category, **columns)


def record(*configs: str, total: int = 0, **definition: Any) -> BenchRecord:
    """A finished bench of these configurations."""
    usual: dict[str, Any] = {
        "configs": tuple(Configuration(name=name) for name in configs or ("a",)),
        "cases": (Case(name="one"),),
    }
    bench = Bench(name="shootout", target=Target(kind="python", reference="pkg:fn", name="fn"), **{**usual, **definition})
    return BenchRecord(
        uid="bn_1",
        bench_id="shootout-abc-1",
        name="shootout",
        definition_hash="abc",
        counter=1,
        status="finished",
        definition=bench,
        total=total,
        created_at=1000,
        finished_at=2000,
        commit="c0ffee",
        machine="2 cores",
        price_table="prices 1",
    )
