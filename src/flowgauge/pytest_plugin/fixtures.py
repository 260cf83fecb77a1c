"""What the fixtures hand to tests."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from flowgauge.errors import UsageError

if TYPE_CHECKING:
    import pytest

    from flowgauge.app.bench_api import BenchResult
    from flowgauge.pytest_plugin.session import Session

NOTES: ContextVar[dict[str, Any] | None] = ContextVar("flowgauge_notes", default=None)
"""Of the run that is under way; None outside of one."""


class TrialNotes:
    """What a run says about itself; the bench cannot see it from outside."""

    def report(self, **fields: Any) -> None:
        """Any of output, tokens_prompt, tokens_completion, cost_usd, model, first_token_ms, retries, scores. The last word counts."""
        from flowgauge.run.targets.reported import KEYS

        strange = fields.keys() - KEYS
        if strange:
            raise UsageError(f"A run cannot report '{min(strange)}'.", remedy=f"It can report {', '.join(sorted(KEYS))}.")
        notes = NOTES.get()
        if notes is not None:
            notes.update(fields)


class BenchFixture:
    """`fg.bench` and `fg.abench` for tests."""

    def __init__(self, item: pytest.Item, session: Session) -> None:
        self._item = item
        self._session = session

    def __call__(self, target: Any, configs: Any = None, **options: Any) -> BenchResult:
        """The same arguments as `fg.bench`."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.abench(target, configs, **options))
        raise UsageError("An event loop is running here.", remedy="Write: await flowgauge_bench.abench(…)")

    async def abench(self, target: Any, configs: Any = None, **options: Any) -> BenchResult:
        """The same arguments as `fg.abench`. A new bench, unless one is named."""
        from flowgauge.app.bench_api import abench
        from flowgauge.pytest_plugin import add_rows
        from flowgauge.pytest_plugin.summary import rows_of

        options.setdefault("db", self._session.db)
        if not options.keys() & {"bench_id", "resume", "retry_errors", "extend"}:
            options.setdefault("new", True)
        if self._session.runs is not None:
            options["runs"] = self._session.runs
        result = await abench(target, configs, **options)
        overall = {config.name: config.stats.overall for config in result.configs.values()}
        add_rows(self._item, rows_of(self._item.nodeid, result.bench_id, overall))
        self._item.user_properties.append(("flowgauge_bench", result.bench_id))
        return result
