"""A target that answers at once gives the loop no pause: the budget holds all the same."""

from __future__ import annotations

from pathlib import Path

import flowgauge as fg


async def paid() -> dict[str, object]:
    return {"output": "ok", "cost_usd": 0.01, "tokens_prompt": 1, "tokens_completion": 1}


def test_an_instant_target_stops_at_its_budget(tmp_path: Path) -> None:
    result = fg.bench(paid, name="paid", runs=1000, max_concurrency=2, budget_usd=0.05, db=str(tmp_path / "store.db"))
    assert result.outcome.ran.status == "budget_exceeded"
    assert 5 <= result.outcome.ran.recorded <= 7
